-- What triggers, cascades, indexes and other roles would take from a merge unseen is an error, or comes to the same.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA merge_refusals;
SET search_path = merge_refusals, public;
\set VERBOSITY terse
\set ON_ERROR_ROLLBACK on
CREATE TABLE firms (id int PRIMARY KEY, name text, slug text UNIQUE);
INSERT INTO firms VALUES (1, 'a', 'a'), (2, 'bb', 'bb'), (3, 'c', 'c');
CREATE TABLE orders (id int PRIMARY KEY, firm int UNIQUE REFERENCES firms, tag text UNIQUE);
INSERT INTO orders VALUES (1, 2, 't');
\set merge '''VALUES (2, 1)'', ''firms'''

-- A redirection that cascades to a table, and from there sets others to NULL.
BEGIN;
SELECT count(*) FROM merge_duplicates(:merge, journal => 'j');
CREATE TABLE bills (firm int UNIQUE REFERENCES orders (firm) ON UPDATE CASCADE);
CREATE TABLE notes (firm int REFERENCES bills (firm) ON UPDATE SET NULL);
INSERT INTO bills VALUES (1);
INSERT INTO notes VALUES (1);
SAVEPOINT s;
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
SELECT * FROM merge_duplicates('VALUES (1, 3)', 'firms');
ROLLBACK TO s;
DROP TABLE notes, bills;
SELECT count(*) FROM undo_merge('j');
ROLLBACK;

-- Triggers that write to referenced columns, of the survivor and of a row that is redirected.
BEGIN;
CREATE TABLE links (slug text UNIQUE REFERENCES firms (slug) ON UPDATE SET NULL);
INSERT INTO links VALUES ('a');
CREATE FUNCTION write_slug() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.slug := NEW.name; RETURN NEW; END';
CREATE TRIGGER write_slug BEFORE UPDATE ON firms FOR EACH ROW EXECUTE FUNCTION write_slug();
SAVEPOINT s;
SELECT * FROM merge_duplicates(:merge, '{"name": "longest"}');
ROLLBACK TO s;
ALTER TABLE links DROP CONSTRAINT links_slug_fkey, ADD FOREIGN KEY (slug) REFERENCES firms (slug) ON UPDATE CASCADE;
SELECT count(*) FROM merge_duplicates(:merge, '{"name": "longest"}', journal => 'j');
TABLE links;
SELECT count(*) FROM undo_merge('j');
TABLE links;
CREATE TABLE clicks (slug text REFERENCES links (slug) ON UPDATE SET NULL);
SELECT * FROM merge_duplicates(:merge, '{"name": "longest"}');
ROLLBACK;
BEGIN;
CREATE TABLE labels (tag text REFERENCES orders (tag) ON UPDATE SET NULL);
INSERT INTO labels VALUES ('t');
CREATE FUNCTION write_tag() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.tag := NEW.firm; RETURN NEW; END';
CREATE TRIGGER write_tag BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION write_tag();
SELECT * FROM merge_duplicates(:merge);
TABLE labels;
ROLLBACK;
-- The cascade goes on through a generated column, or through a trigger of its table.
BEGIN;
CREATE FUNCTION write_tag() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.tag := NEW.firm; RETURN NEW; END';
CREATE TRIGGER write_tag BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION write_tag();
CREATE TABLE parcels (tag text REFERENCES orders (tag) ON UPDATE CASCADE, code text GENERATED ALWAYS AS (upper(tag)) STORED UNIQUE);
CREATE TABLE labels (code text REFERENCES parcels (code) ON UPDATE SET NULL);
SAVEPOINT s;
SELECT * FROM merge_duplicates(:merge);
ROLLBACK TO s;
ALTER TABLE parcels ALTER code DROP EXPRESSION;
SAVEPOINT s;
SELECT count(*) FROM merge_duplicates(:merge);
ROLLBACK TO s;
CREATE FUNCTION write_code() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.code := NEW.tag; RETURN NEW; END';
CREATE TRIGGER write_code BEFORE UPDATE ON parcels FOR EACH ROW EXECUTE FUNCTION write_code();
SELECT * FROM merge_duplicates(:merge);
ROLLBACK;

-- A foreign key that has a column twice cannot follow a survivor with two values.
BEGIN;
CREATE TABLE points (id int PRIMARY KEY, x int, y int, UNIQUE (x, y));
INSERT INTO points VALUES (1, 1, 1), (2, 2, 3), (3, 2, 2);
CREATE TABLE marks (at int, FOREIGN KEY (at, at) REFERENCES points (x, y));
INSERT INTO marks VALUES (1);
SAVEPOINT s;
SELECT * FROM merge_duplicates('VALUES (1, 2)', 'points');
ROLLBACK TO s;
SELECT count(*) FROM merge_duplicates('VALUES (1, 3)', 'points');
TABLE marks;
ROLLBACK;

-- A publication of all tables.
BEGIN;
SET LOCAL client_min_messages = error;
CREATE PUBLICATION regress_merged FOR ALL TABLES;
SELECT count(*) FROM merge_duplicates(:merge, journal => 'j');
SELECT count(*) FROM undo_merge('j');
ROLLBACK;

-- A trigger on one referencing table changes what another one references: its rows follow nevertheless.
BEGIN;
CREATE TABLE coded (id int PRIMARY KEY, code text REFERENCES firms (slug) ON UPDATE CASCADE ON DELETE CASCADE);
UPDATE firms SET slug = id || '-' || (SELECT count(*) FROM orders WHERE firm = firms.id);
INSERT INTO coded VALUES (20, '2-1');
CREATE FUNCTION count_firm() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE firms SET slug = id || '-' || (SELECT count(*) FROM orders WHERE firm = firms.id) WHERE id IN (OLD.firm, NEW.firm);
  RETURN NULL;
END $$;
CREATE TRIGGER count_firm AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION count_firm();
SELECT count(*) FROM merge_duplicates(:merge, journal => 'j');
TABLE coded;
SELECT count(*) FROM undo_merge('j');
TABLE coded;
SELECT id, slug FROM firms ORDER BY id;
ROLLBACK;

-- Unique indexes that forbid nothing: one that could not be built, one without its partitions, a deferred constraint.
BEGIN;
CREATE TABLE mails (id int PRIMARY KEY, firm int REFERENCES firms, mail text);
CREATE UNIQUE INDEX failed ON mails (mail);
UPDATE pg_index SET indisready = false, indisvalid = false WHERE indexrelid = 'failed'::regclass;
INSERT INTO mails VALUES (1, 2, 'x'), (2, 2, 'x');
CREATE TABLE visits (id int, firm int REFERENCES firms) PARTITION BY LIST (id);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1);
CREATE UNIQUE INDEX ON ONLY visits (id, firm);
INSERT INTO visits VALUES (1, 2), (1, 2);
CREATE TABLE places (id int PRIMARY KEY, firm int REFERENCES firms, place int UNIQUE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO places VALUES (1, 2, 1), (2, 2, 2);
UPDATE places SET place = 2 WHERE id = 1;
SELECT relation, deleted, updated FROM merge_duplicates(:merge, on_conflict => 'delete', journal => 'j');
UPDATE places SET place = 1 WHERE id = 2;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT count(*) FROM undo_merge('j');
ROLLBACK;

-- A row that would go for one that goes, too, in another unique index.
BEGIN;
CREATE TABLE cells (id int PRIMARY KEY, firm int REFERENCES firms, x int, y int, UNIQUE (firm, x), UNIQUE (firm, y));
INSERT INTO cells VALUES (10, 1, 0, 5), (11, 2, 7, 5), (13, 3, 7, 9);
SELECT * FROM merge_counts('VALUES (2, 1), (3, 1)', 'firms', on_conflict => 'delete');
SAVEPOINT s;
SELECT * FROM merge_duplicates('VALUES (2, 1), (3, 1)', 'firms', on_conflict => 'delete');
ROLLBACK TO s;
UPDATE cells SET y = 5 WHERE id = 13;
SELECT * FROM merge_counts('VALUES (2, 1), (3, 1)', 'firms', on_conflict => 'delete');
ROLLBACK;

-- A reference of the table to itself that is part of its key.
BEGIN;
CREATE TABLE shops (tenant int, id int, code int NOT NULL UNIQUE, parent int, PRIMARY KEY (tenant, id), FOREIGN KEY (tenant, parent) REFERENCES shops);
CREATE TYPE shop AS (tenant int, id int);
INSERT INTO shops VALUES (1, 10, 1, NULL), (2, 20, 2, NULL), (2, 30, 3, 20), (2, 31, 4, 20);
SAVEPOINT s;
SELECT * FROM merge_duplicates('SELECT ROW(2, 20)::shop, ROW(1, 10)::shop', 'shops');
ROLLBACK TO s;
SELECT * FROM merge_counts('SELECT ROW(2, 20)::shop, ROW(1, 10)::shop', 'shops');
SELECT * FROM merge_counts('SELECT ROW(2, 20)::shop, ROW(2, 30)::shop', 'shops');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'shops', id => 'code');
ROLLBACK;

-- Triggers that give rows the values of the merge again when it is undone: before, after, and from another table.
BEGIN;
CREATE TABLE log (firm int REFERENCES firms, what text);
INSERT INTO log VALUES (2, 'x'), (1, 'y');
SELECT count(*) FROM merge_duplicates(:merge, '{"name": "longest"}', journal => 'j');
CREATE FUNCTION keep_old() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
CREATE FUNCTION forward() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE orders SET firm = 1; RETURN NULL; END';
SAVEPOINT s;
CREATE TRIGGER t BEFORE UPDATE ON firms FOR EACH ROW EXECUTE FUNCTION keep_old();
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
CREATE TRIGGER t BEFORE UPDATE ON log FOR EACH ROW EXECUTE FUNCTION keep_old();
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
CREATE TRIGGER t AFTER UPDATE ON orders FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION forward();
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
UPDATE j SET number = 3 - number WHERE NOT merged;
CREATE TRIGGER t AFTER UPDATE ON log FOR EACH ROW EXECUTE FUNCTION forward();
SELECT * FROM undo_merge('j');
ROLLBACK;

-- Of two keys of a table, the one of the journal is found by its columns.
BEGIN;
CREATE TABLE pairs (a int NOT NULL, b int NOT NULL, firm int NOT NULL REFERENCES firms);
CREATE UNIQUE INDEX first ON pairs (b, firm);
CREATE UNIQUE INDEX second ON pairs (firm, a);
INSERT INTO pairs VALUES (1, 2, 2);
SELECT count(*) FROM merge_duplicates(:merge, journal => 'j');
DROP INDEX first;
SELECT * FROM undo_merge('j');
CREATE UNIQUE INDEX ON pairs (firm, b);
SELECT count(*) FROM undo_merge('j');
TABLE pairs;
ROLLBACK;

-- Groups with another column named id, ids that no smallint can have, keys of one composite column.
BEGIN;
SELECT * FROM merge_counts('SELECT 2, 1, 7 AS id', 'firms');
CREATE TABLE small (id smallint PRIMARY KEY);
INSERT INTO small VALUES (1), (2);
SELECT * FROM merge_counts('VALUES (2, 1), (70000, 1)', 'small');
SELECT * FROM merge_counts('VALUES (2, 70000)', 'small');
CREATE TYPE shop AS (tenant int, id int);
CREATE TABLE composite (id shop PRIMARY KEY);
SELECT * FROM merge_counts('SELECT ROW(1, 2)::shop, ROW(3, 4)::shop', 'composite');
ROLLBACK;

-- Columns that cannot be written to, and too many.
BEGIN;
CREATE TABLE wide (firm int GENERATED ALWAYS AS IDENTITY REFERENCES firms);
SELECT * FROM merge_counts(:merge);
DROP TABLE wide;
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide (firm int REFERENCES firms, ' || string_agg('c' || i || ' bool', ',') || ')' FROM generate_series(1, 900) i); END $$;
SELECT * FROM merge_counts(:merge);
ROLLBACK;

-- Rights. A domain of another role, with the name of a type, in the caller's path.
CREATE ROLE regress_refusals_owner;
CREATE ROLE regress_refusals_spy;
GRANT CREATE, USAGE ON SCHEMA merge_refusals TO regress_refusals_owner, regress_refusals_spy;
SET ROLE regress_refusals_owner;
CREATE TABLE devices (id uuid PRIMARY KEY);
CREATE TABLE parts (id int PRIMARY KEY, device uuid UNIQUE REFERENCES devices);
INSERT INTO devices VALUES ('00000000-0000-0000-0000-000000000001'), ('00000000-0000-0000-0000-000000000002');
INSERT INTO parts VALUES (1, '00000000-0000-0000-0000-000000000002');
GRANT ALL ON devices, parts TO regress_refusals_spy;
CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
RESET ROLE;
\set devices '''SELECT ''''00000000-0000-0000-0000-000000000002''''::pg_catalog.uuid, ''''00000000-0000-0000-0000-000000000001''''::pg_catalog.uuid'', ''devices'''
BEGIN;
CREATE SCHEMA regress_refusals_trap AUTHORIZATION regress_refusals_spy;
GRANT USAGE ON SCHEMA regress_refusals_trap TO regress_refusals_owner;
SET ROLE regress_refusals_spy;
CREATE FUNCTION regress_refusals_trap.spring() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'sprung as %', current_user; END $$;
CREATE DOMAIN regress_refusals_trap.uuid AS pg_catalog.uuid CHECK (regress_refusals_trap.spring());
SET ROLE regress_refusals_owner;
SET search_path = regress_refusals_trap, pg_catalog, merge_refusals, public;
SELECT relation, deleted, updated FROM merge_duplicates(:devices, journal => 'merge_refusals.j');
SELECT count(*) FROM undo_merge('j');
ROLLBACK;
-- A cascade to a table of another role, whose triggers would run with the caller's rights.
BEGIN;
SET ROLE regress_refusals_spy;
CREATE TABLE trap (device uuid REFERENCES parts (device) ON UPDATE CASCADE, part int REFERENCES parts ON UPDATE CASCADE);
SET ROLE regress_refusals_owner;
SAVEPOINT s;
SELECT * FROM merge_duplicates(:devices);
ROLLBACK TO s;
-- By another column, since a trigger may write to it.
RESET ROLE;
ALTER TABLE trap DROP device;
SET ROLE regress_refusals_owner;
CREATE TRIGGER same BEFORE UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION same();
SAVEPOINT s;
SELECT * FROM merge_duplicates(:devices);
ROLLBACK TO s;
SELECT count(*) FROM merge_duplicates(:devices, trusted => '{trap}', journal => 'j');
SAVEPOINT s;
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
SELECT count(*) FROM undo_merge('j', trusted => '{trap}');
ROLLBACK;
-- A partition of another role.
BEGIN;
CREATE TABLE reports (id int, device uuid REFERENCES devices) PARTITION BY LIST (id);
CREATE TABLE reports_1 PARTITION OF reports FOR VALUES IN (1);
ALTER TABLE reports_1 OWNER TO regress_refusals_spy;
GRANT SELECT ON reports TO regress_refusals_owner;
SET ROLE regress_refusals_owner;
SELECT * FROM merge_counts(:devices, trusted => '{reports}');
SELECT * FROM merge_counts(:devices, trusted => '{reports,reports_1}');
ROLLBACK;
-- A trigger that another role has left on the journal, or on a part.
BEGIN;
SET ROLE regress_refusals_owner;
SELECT count(*) FROM merge_duplicates(:devices, journal => 'j');
GRANT TRIGGER ON j, j_parts_refs TO regress_refusals_spy;
SET ROLE regress_refusals_spy;
CREATE TRIGGER spring BEFORE UPDATE ON j FOR EACH ROW EXECUTE FUNCTION same();
CREATE TRIGGER spring BEFORE UPDATE ON j_parts_refs FOR EACH ROW EXECUTE FUNCTION same();
SET ROLE regress_refusals_owner;
REVOKE TRIGGER ON j, j_parts_refs FROM regress_refusals_spy;
SAVEPOINT s;
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
DROP TRIGGER spring ON j;
SAVEPOINT s;
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
DROP TRIGGER spring ON j_parts_refs;
SELECT count(*) FROM undo_merge('j');
ROLLBACK;
-- The hint names all tables to trust, with those that the call names already. A journal needs a schema to make tables in.
BEGIN;
SET ROLE regress_refusals_spy;
CREATE TABLE "odd, ""table" (device uuid REFERENCES devices);
CREATE TABLE other (device uuid REFERENCES devices);
CREATE TABLE third (device uuid REFERENCES devices);
GRANT ALL ON "odd, ""table", other, third TO regress_refusals_owner;
SET ROLE regress_refusals_owner;
\set trusted 'ARRAY[''merge_refusals."odd, ""table"'', ''merge_refusals.other'', ''merge_refusals.third'']::regclass[]'
SAVEPOINT s;
\set VERBOSITY default
SELECT * FROM merge_duplicates(:devices, trusted => '{other}');
ROLLBACK TO s;
SELECT count(*) FROM merge_duplicates(:devices, trusted => :trusted, journal => 'j');
RESET ROLE;
CREATE SCHEMA regress_closed;
GRANT USAGE ON SCHEMA regress_closed TO regress_refusals_owner;
SET ROLE regress_refusals_owner;
SELECT * FROM merge_duplicates('VALUES (gen_random_uuid(), gen_random_uuid()) LIMIT 0', 'devices', trusted => :trusted, journal => 'regress_closed.j');
\set VERBOSITY terse
ROLLBACK;
-- Who undoes a merge has named no table: the owner of the merged one is trusted for the merge alone.
BEGIN;
SET ROLE regress_refusals_spy;
SELECT count(*) FROM merge_duplicates(:devices, journal => 'j');
SAVEPOINT s;
SELECT * FROM undo_merge('j');
ROLLBACK TO s;
SELECT count(*) FROM undo_merge('j', trusted => '{devices,parts}');
ROLLBACK;

DROP SCHEMA merge_refusals CASCADE;
DROP ROLE regress_refusals_owner, regress_refusals_spy;
