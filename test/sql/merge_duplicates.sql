-- Rows of groups become one row each, and what they were.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA merge_test;
SET search_path = merge_test, public;

-- Keeps copies of tables, and shows the rows in which they differ from them.
CREATE TABLE kept (name text);
CREATE FUNCTION keep(VARIADIC tables text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t text;
BEGIN
  DELETE FROM kept;
  FOREACH t IN ARRAY tables LOOP
    EXECUTE format('DROP TABLE IF EXISTS %I', 'was ' || t);
    EXECUTE format('CREATE TABLE %I AS TABLE %I', 'was ' || t, t);
    INSERT INTO kept VALUES (t);
  END LOOP;
END $$;
CREATE FUNCTION differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE t text;
BEGIN
  FOR t IN SELECT name FROM kept LOOP
    RETURN QUERY EXECUTE format('SELECT %1$L || '': '' || r FROM ((SELECT x::text FROM %1$I x EXCEPT ALL SELECT x::text FROM %2$I x)
      UNION ALL (SELECT x::text FROM %2$I x EXCEPT ALL SELECT x::text FROM %1$I x)) d (r)', t, 'was ' || t);
  END LOOP;
END $$;

-- All rules, a reference of the table to itself, two foreign keys in a table, one in a unique index, one without a key.
CREATE TABLE companies (gone int, id int PRIMARY KEY, name text, email text UNIQUE, updated date, parent int REFERENCES companies,
  tags text[], amount numeric, note text, low int, code bigint GENERATED ALWAYS AS IDENTITY, label text GENERATED ALWAYS AS (name || '!') STORED);
ALTER TABLE companies DROP COLUMN gone;
INSERT INTO companies VALUES
  (1, 'Northwind', NULL, '2024-01-01', NULL, '{a}', 1.0, 'x', 3), (2, 'Northwind Ltd', 'n@x', '2024-03-01', NULL, '{b,c}', 1.00, 'y', 2),
  (3, 'Northwnd', 'm@x', '2023-01-01', 2, NULL, 2, 'z', NULL), (4, 'Contoso', 'c@x', '2023-01-01', 3, NULL, 5, NULL, NULL),
  (5, 'CONTOSO', NULL, '2023-05-01', 1, '{q}', 5.0, 'k', 7), (6, 'Fabrikam', NULL, '2020-01-01', 5, NULL, 1, NULL, 1);
CREATE TABLE orders (id int PRIMARY KEY, buyer int REFERENCES companies, seller int REFERENCES companies DEFERRABLE INITIALLY DEFERRED, what text);
INSERT INTO orders VALUES (1, 2, 5, 'a'), (2, 3, 6, 'b'), (3, 1, 4, 'c'), (4, 6, 6, 'd'), (5, NULL, 5, 'e');
CREATE TABLE tags (company int REFERENCES companies ON DELETE CASCADE, tag text, weight float8, PRIMARY KEY (company, tag));
INSERT INTO tags VALUES (1, 'a', 1), (2, 'a', 2), (2, 'b', 3), (3, 'b', 4), (3, 'c', 5), (6, 'a', 6);
CREATE UNIQUE INDEX ON tags (company, lower(tag)) WHERE weight > 100;
CREATE TABLE log (company int REFERENCES companies, what json);
INSERT INTO log VALUES (2, '"x"'), (2, '"x"'), (3, '"x"'), (1, '"x"'), (6, '"y"');
CREATE TABLE events (day date, company int REFERENCES companies, what text) PARTITION BY RANGE (day);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO events VALUES ('2024-05-05', 2, 'p'), ('2025-05-05', 3, 'q'), ('2025-05-05', 6, 'r');
CREATE TABLE unconcerned (company int REFERENCES companies);
INSERT INTO unconcerned VALUES (6);
CREATE TABLE groups (id bigint, group_id bigint, is_representative bool);
INSERT INTO groups VALUES (1, 1, true), (2, 1, false), (3, 1, false), (4, 4, true), (5, 4, false), (6, 6, true), (7, 1, false), (8, 9, false);
SELECT keep('companies', 'orders', 'tags', 'log', 'events', 'unconcerned');
\set rules '''{"name": "longest", "email": "first_not_null", "updated": "max", "tags": "newest", "amount": "most_frequent", "low": "min", "note": "string_agg(companies.note, ''''; '''' ORDER BY updated)"}'''

CREATE TABLE preview AS SELECT * FROM merge_preview('groups', NULL::companies, :rules, 'updated');
SELECT id, name, email, updated, parent, tags, amount, note, low, label FROM preview ORDER BY id;
\set VERBOSITY terse
SELECT * FROM merge_counts('groups', 'companies');
CREATE TABLE counts AS SELECT * FROM merge_counts('groups', 'companies', :rules, 'updated', 'delete');
\set VERBOSITY terse
SELECT count(*) FROM merge_duplicates('groups', 'companies', :rules, 'updated');
SELECT * FROM differences();
SELECT * FROM merge_duplicates('groups', 'companies', :rules, 'updated', on_conflict => 'delete');
-- The preview has shown the rows, and the counts.
SELECT count(*) FROM (TABLE preview EXCEPT ALL TABLE companies) d;
(SELECT * FROM counts EXCEPT ALL SELECT relation, deleted, updated FROM companies_merge)
UNION ALL (SELECT relation, deleted, updated FROM companies_merge EXCEPT ALL SELECT * FROM counts);
SELECT id, name, parent FROM companies ORDER BY id;
SELECT * FROM orders ORDER BY id;
SELECT * FROM tags ORDER BY company, tag;
SELECT company, what::text, count(*) FROM log GROUP BY 1, 2 ORDER BY 1, 2;
SELECT tableoid::regclass, * FROM events ORDER BY what;
-- A row that came meanwhile stays with the survivor.
INSERT INTO orders VALUES (6, 1, 4, 'new');
SELECT * FROM undo_merge('companies_merge');
DELETE FROM orders WHERE id = 6;
SELECT * FROM differences();
SELECT * FROM undo_merge('companies_merge');
SELECT drop_merge_journal('companies_merge');
SELECT relname FROM pg_class WHERE relnamespace = 'merge_test'::regnamespace AND relname LIKE 'companies\_merge%';

-- Nothing to merge makes no journal. A query for the groups, a journal of a chosen name, a setting by which types are printed otherwise.
SELECT * FROM merge_duplicates('SELECT 1, 1', 'companies', '{"name": "longest"}');
SELECT * FROM merge_duplicates('VALUES (70, 1)', 'companies', journal => 'j');
SELECT relname FROM pg_class WHERE relnamespace = 'merge_test'::regnamespace AND (relname LIKE 'companies\_merge%' OR relname LIKE 'j%');
SET quote_all_identifiers = on;
SELECT * FROM merge_duplicates('SELECT 5, 4', 'companies', journal => 'merge_test."the ""journal"""');
SELECT * FROM undo_merge('"the ""journal"""');
SELECT drop_merge_journal('"the ""journal"""');
RESET quote_all_identifiers;

-- What was written since is not overwritten.
SELECT FROM merge_duplicates('SELECT id, group_id FROM groups;', 'companies', '{"name": "longest"}', on_conflict => 'delete', journal => 'j');
UPDATE companies SET name = 'another' WHERE id = 4;
SELECT * FROM undo_merge('j');
-- The hint has the statement that leaves the row as it is.
BEGIN;
DO $$
DECLARE hint text;
BEGIN
  PERFORM undo_merge('j');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RAISE WARNING '%', hint;
  EXECUTE substring(hint FROM 'DELETE FROM [^.]*[.].*''');
END $$;
SELECT * FROM undo_merge('j');
SELECT id, name FROM companies WHERE id IN (4, 5) ORDER BY id;
ROLLBACK;
UPDATE companies SET name = 'Contoso', note = 'kept' WHERE id = 4;
UPDATE orders SET seller = 6 WHERE id = 1;
SELECT * FROM undo_merge('j');
UPDATE orders SET seller = 4 WHERE id = 1;
DELETE FROM log WHERE company = 1;
SELECT * FROM undo_merge('j');
INSERT INTO log SELECT 1, '"x"' FROM generate_series(1, 4);
INSERT INTO companies (id, email) VALUES (9, 'n@x');
SELECT * FROM undo_merge('j');
DELETE FROM companies WHERE id = 9;
-- A table that has another shape.
ALTER TABLE companies RENAME note TO remark;
SELECT * FROM undo_merge('j');
ALTER TABLE companies RENAME remark TO note;
ALTER TABLE companies ALTER low TYPE bigint;
SELECT * FROM undo_merge('j');
ALTER TABLE companies ALTER low TYPE int;
ALTER TABLE companies ADD COLUMN added text DEFAULT 'new';
SELECT count(*) FROM undo_merge('j');
SELECT id, note, added FROM companies WHERE id IN (3, 4) ORDER BY id;
ALTER TABLE companies DROP COLUMN added;
UPDATE companies SET note = NULL WHERE id = 4;
SELECT * FROM differences();
SELECT drop_merge_journal('j');

-- Hostile names. A composite key, a foreign key to it that shares a column with another one, and one to another unique index.
CREATE TABLE "a""b; drop" ("t 1" numeric, "merge_'x" text COLLATE "C", "%s" text UNIQUE, "a""b; drop" int[], "it's" text UNIQUE, PRIMARY KEY ("t 1", "merge_'x"));
CREATE TYPE item AS (t numeric, x text);
INSERT INTO "a""b; drop" VALUES (1.0, 'a', 'p', '{1}'), (1, 'b', 'q', '{2,3}'), (2.50, 'c', NULL, NULL), (2.5, 'd', 'r', '{}');
CREATE TABLE "refs; --" (tenant numeric, one text, "two"" " text, FOREIGN KEY (tenant, one) REFERENCES "a""b; drop",
  FOREIGN KEY (tenant, "two"" ") REFERENCES "a""b; drop" MATCH SIMPLE);
INSERT INTO "refs; --" VALUES (1.000, 'b', 'a'), (1.0, 'a', 'b'), (2.5, 'd', NULL), (2.50, 'c', 'd'), (NULL, 'b', 'b');
SELECT keep('a"b; drop', 'refs; --');
\set groups '''SELECT ROW(1, ''''b'''')::item, ROW(1.00, ''''a'''')::item UNION ALL SELECT ROW(2.5, ''''d'''')::item, ROW(2.500, ''''c'''')::item'''
SELECT "t 1", "merge_'x", "%s", "a""b; drop" FROM merge_preview(:groups, NULL::"a""b; drop", '{"a\"b; drop": "longest"}');
SELECT * FROM merge_counts(:groups, '"a""b; drop"');
SELECT * FROM merge_duplicates(:groups, '"a""b; drop"', '{"a\"b; drop": "longest"}');
SELECT "t 1", "merge_'x", "%s", "a""b; drop" FROM "a""b; drop" ORDER BY 1, 2;
SELECT * FROM "refs; --" ORDER BY 1, 2, 3;
SELECT * FROM undo_merge('"a""b; drop_merge"');
SELECT * FROM differences();
CREATE TABLE codes (code text REFERENCES "a""b; drop" ("%s"));
INSERT INTO codes VALUES ('q'), ('p');
SELECT * FROM merge_duplicates('SELECT ''q'', ''p''', '"a""b; drop"', id => '%s');
UPDATE "a""b; drop" SET "it's" = "merge_'x";
ALTER TABLE "a""b; drop" ALTER "it's" SET NOT NULL;
SELECT * FROM merge_duplicates('SELECT ''b'', ''a''', '"a""b; drop"', id => 'it''s');
SELECT * FROM undo_merge('"a""b; drop_merge1"');
SELECT * FROM merge_duplicates('SELECT 1, 2', '"a""b; drop"', id => 'it''s');
INSERT INTO codes VALUES ('r');
SELECT * FROM merge_duplicates(:groups, '"a""b; drop"');
DROP TABLE codes, "refs; --", "a""b; drop";

-- Triggers and settings of the caller: a trigger finds its function's names by the caller's search_path.
CREATE TABLE authors (id int PRIMARY KEY, name text);
CREATE TABLE books (id int PRIMARY KEY, author int NOT NULL REFERENCES authors);
CREATE TABLE written (what text);
CREATE FUNCTION note_book() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO written VALUES (TG_OP || ' ' || NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note AFTER UPDATE ON books FOR EACH ROW EXECUTE FUNCTION note_book();
INSERT INTO authors VALUES (1, 'a'), (2, 'b');
INSERT INTO books VALUES (10, 1), (11, 2);
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors', '{"name": "min"}');
TABLE written;
SELECT * FROM undo_merge('authors_merge');
TABLE written;
-- A trigger that leaves rows out.
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER skip BEFORE DELETE ON authors FOR EACH ROW EXECUTE FUNCTION skip();
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors');
DROP TRIGGER skip ON authors;
-- One that takes the survivor with the duplicate.
CREATE TABLE twins (id int PRIMARY KEY);
INSERT INTO twins VALUES (1), (2);
CREATE FUNCTION delete_one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM twins WHERE id = 1; RETURN OLD; END';
CREATE TRIGGER delete_one BEFORE DELETE ON twins FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION delete_one();
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'twins');

-- What a trigger does while a merge is undone: it changes the journal, or leaves rows out.
CREATE TABLE makers (id int PRIMARY KEY, name text);
CREATE TABLE brands (maker int REFERENCES makers, name text, PRIMARY KEY (maker, name));
INSERT INTO makers VALUES (1, 'a'), (2, 'b');
INSERT INTO brands VALUES (1, 'x'), (2, 'x'), (2, 'y');
SELECT keep('makers', 'brands');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'makers', '{"name": "max"}', on_conflict => 'delete');
CREATE TRIGGER skip BEFORE INSERT ON makers FOR EACH ROW EXECUTE FUNCTION skip();
SELECT * FROM undo_merge('makers_merge');
DROP TRIGGER skip ON makers;
CREATE TRIGGER skip BEFORE UPDATE ON brands FOR EACH ROW EXECUTE FUNCTION skip();
SELECT * FROM undo_merge('makers_merge');
DROP TRIGGER skip ON brands;
CREATE FUNCTION widen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ALTER TABLE makers_merge_brands_refs ADD COLUMN extra int; RETURN NEW; END';
CREATE TRIGGER widen BEFORE UPDATE ON makers FOR EACH ROW EXECUTE FUNCTION widen();
SELECT * FROM undo_merge('makers_merge');
SELECT * FROM differences();

-- A table of one's own that looks like a journal.
CREATE TABLE pretended (relation regclass, part regclass, number int, merged bool, key_columns text[], changed_columns text[],
  deleted bigint, updated bigint, merged_at timestamptz, undone_at timestamptz);
CREATE TABLE pretended_part (entry bigint, action text, its_table oid, its_row tid);
SELECT * FROM undo_merge('pretended');
INSERT INTO pretended DEFAULT VALUES;
SELECT * FROM undo_merge('pretended');
SELECT drop_merge_journal('pretended');
UPDATE pretended SET relation = 'makers', number = 0, merged = true, key_columns = '{NULL}', changed_columns = '{NULL}';
SELECT * FROM undo_merge('pretended');
UPDATE pretended SET part = 'makers';
SELECT * FROM undo_merge('pretended');
UPDATE pretended SET part = 'pretended_part';
SELECT * FROM undo_merge('pretended');
UPDATE pretended SET relation = 'pg_class';
SELECT * FROM undo_merge('pretended');
UPDATE pretended SET relation = NULL;
SELECT * FROM undo_merge('pretended');

-- Foreign keys that act on an UPDATE of what is redirected or merged.
CREATE TABLE places (id int PRIMARY KEY, name text, label text GENERATED ALWAYS AS (name || '!') STORED UNIQUE);
CREATE TABLE shops (place int UNIQUE REFERENCES places);
CREATE TABLE signs (label text REFERENCES places (label) ON UPDATE SET NULL);
INSERT INTO places VALUES (1, 'a'), (2, 'b');
INSERT INTO shops VALUES (2);
INSERT INTO signs VALUES ('a!');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'places', '{"name": "max"}');
DROP TABLE signs;
CREATE TABLE tills (place int DEFAULT 1 REFERENCES shops (place) ON UPDATE SET DEFAULT);
SELECT * FROM merge_counts('VALUES (2, 1)', 'places');
DROP TABLE tills;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'places', '{"name": "max"}');
CREATE TABLE tills (place int REFERENCES shops (place) ON UPDATE SET NULL);
SELECT * FROM undo_merge('places_merge');
DROP TABLE tills;
SELECT * FROM undo_merge('places_merge');

-- Triggers by which rows reference a duplicate again, and would be deleted with it.
CREATE TABLE firms (id int PRIMARY KEY);
CREATE TABLE bill_history (firm int REFERENCES firms ON DELETE CASCADE);
CREATE TABLE bills (id int PRIMARY KEY, firm int REFERENCES firms ON DELETE CASCADE);
INSERT INTO firms VALUES (1), (2);
INSERT INTO bills VALUES (1, 2);
CREATE FUNCTION keep_firm() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.firm := OLD.firm; RETURN NEW; END';
CREATE FUNCTION note_firm() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO bill_history VALUES (OLD.firm); RETURN NEW; END';
CREATE TRIGGER note BEFORE UPDATE ON bills FOR EACH ROW EXECUTE FUNCTION keep_firm();
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'firms');
DROP TRIGGER note ON bills;
CREATE TRIGGER note AFTER UPDATE ON bills FOR EACH ROW EXECUTE FUNCTION note_firm();
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'firms');
DROP TRIGGER note ON bills;
TABLE bills;
-- A foreign key to a partition of a table whose rows go.
CREATE TABLE visits (firm int REFERENCES firms, day int, PRIMARY KEY (firm, day)) PARTITION BY LIST (day);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1);
CREATE TABLE visit_notes (firm int, day int, FOREIGN KEY (firm, day) REFERENCES visits_1 ON DELETE CASCADE);
INSERT INTO visits VALUES (1, 1), (2, 1);
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'firms', on_conflict => 'delete');
DROP TABLE visit_notes, visits;
-- A foreign key that cannot be written to, and an id that is NULL.
CREATE TABLE computed (base int, firm int GENERATED ALWAYS AS (base) STORED REFERENCES firms);
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'firms');
DROP TABLE computed;
SELECT * FROM merge_duplicates('VALUES (2, 1), (NULL, NULL)', 'firms');
-- A foreign key of a partition to its table.
CREATE TABLE tree (id int PRIMARY KEY, up int) PARTITION BY RANGE (id);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (1) TO (10);
ALTER TABLE tree_1 ADD FOREIGN KEY (up) REFERENCES tree;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'tree');

-- A column that two foreign keys share.
CREATE TABLE tenants (id int PRIMARY KEY);
CREATE TABLE clients (tenant int, id int, PRIMARY KEY (tenant, id));
CREATE TYPE client_key AS (tenant int, id int);
CREATE TABLE deals (id int PRIMARY KEY, tenant int REFERENCES tenants, client int, FOREIGN KEY (tenant, client) REFERENCES clients);
INSERT INTO tenants VALUES (1), (2);
INSERT INTO clients VALUES (1, 1), (1, 2), (2, 1);
INSERT INTO deals VALUES (1, 1, 2), (2, 2, 1), (3, NULL, 1);
SELECT * FROM merge_duplicates('SELECT ROW(2, 1)::client_key, ROW(1, 1)::client_key', 'clients');
SELECT * FROM merge_counts('SELECT ROW(2, 1)::client_key, ROW(1, 1)::client_key', 'clients');
SELECT * FROM merge_duplicates('SELECT ROW(1, 2)::client_key, ROW(1, 1)::client_key', 'clients');
SELECT * FROM deals ORDER BY id;
-- A foreign key of another type, which does not take the survivor's value.
CREATE TABLE sizes (size numeric PRIMARY KEY);
CREATE TABLE shoes (size int REFERENCES sizes);
INSERT INTO sizes VALUES (1.5), (2), (3), (1e20);
INSERT INTO shoes VALUES (2);
SELECT * FROM merge_duplicates('VALUES (2.0, 1.5)', 'sizes');
SELECT * FROM merge_duplicates('VALUES (2.0, 1e20)', 'sizes');
SELECT * FROM merge_duplicates('VALUES (2.0, 3.0)', 'sizes');
-- Of another collation.
CREATE TABLE letters (letter text COLLATE "C" PRIMARY KEY);
CREATE TABLE words (letter text COLLATE "POSIX" REFERENCES letters, word text);
INSERT INTO letters VALUES ('a'), ('b');
INSERT INTO words VALUES ('b', 'bee');
SELECT * FROM merge_duplicates('VALUES (''b'', ''a'')', 'letters');
TABLE words;

-- Domains that are NOT NULL.
CREATE DOMAIN given AS varchar(9) NOT NULL;
CREATE TABLE houses (id int PRIMARY KEY, name given);
CREATE TABLE rooms (id int PRIMARY KEY, house int REFERENCES houses, name given);
INSERT INTO houses VALUES (1, 'a'), (2, 'b');
INSERT INTO rooms VALUES (1, 2, 'x'), (2, 1, 'y');
SELECT keep('houses', 'rooms');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'houses', '{"name": "max"}');
TABLE houses;
SELECT * FROM undo_merge('houses_merge');
SELECT * FROM differences();

-- Ids and survivors of different types; keys of a domain over an enum.
SELECT * FROM merge_counts('SELECT 2::bigint, 1::smallint', 'houses');
CREATE TYPE grade AS ENUM ('low', 'high');
CREATE DOMAIN given_grade AS grade NOT NULL;
CREATE TABLE grades (grade given_grade PRIMARY KEY);
INSERT INTO grades VALUES ('low'), ('high');
SELECT keep('grades');
SELECT * FROM merge_duplicates('SELECT ''high''::grade, ''low''::grade', 'grades');
TABLE grades;
SELECT * FROM undo_merge('grades_merge');
SELECT * FROM differences();

-- Triggers that count references change the rows of groups during the merge, and when it is undone.
CREATE TABLE clubs (id int PRIMARY KEY, members int NOT NULL DEFAULT 0, name text);
CREATE TABLE people (id int PRIMARY KEY, club int REFERENCES clubs);
CREATE FUNCTION count_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN UPDATE clubs SET members = members - 1 WHERE id = OLD.club; END IF;
  IF TG_OP <> 'DELETE' THEN UPDATE clubs SET members = members + 1 WHERE id = NEW.club; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_members AFTER INSERT OR UPDATE OR DELETE ON people FOR EACH ROW EXECUTE FUNCTION count_members();
INSERT INTO clubs VALUES (1, 0, 'a'), (2, 0, 'b');
INSERT INTO people VALUES (1, 1), (2, 2), (3, 2);
SELECT keep('clubs', 'people');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'clubs', '{"members": "sum(members)", "name": "max"}');
TABLE clubs;
SELECT * FROM undo_merge('clubs_merge');
SELECT * FROM differences();
-- One that gives a row that returns another key.
SELECT FROM merge_duplicates('VALUES (2, 1)', 'clubs', journal => 'j');
CREATE FUNCTION number() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 7; RETURN NEW; END';
CREATE TRIGGER number BEFORE INSERT ON clubs FOR EACH ROW EXECUTE FUNCTION number();
SELECT * FROM undo_merge('j');
DROP TABLE people, clubs;

-- Rules of tables would write elsewhere.
CREATE RULE elsewhere AS ON INSERT TO houses DO INSTEAD INSERT INTO grades VALUES ('low');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'houses');
DROP RULE elsewhere ON houses;
CREATE RULE elsewhere AS ON UPDATE TO rooms DO ALSO NOTHING;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'houses');
ALTER TABLE rooms DISABLE RULE elsewhere;
SELECT * FROM merge_counts('VALUES (2, 1)', 'houses');
-- A rule of a merge gives one value.
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'houses', '{"name": "unnest(array_agg(name))"}');

-- Floats that differ in their last bit, in a table without a key.
CREATE TABLE spots (id int PRIMARY KEY);
CREATE TABLE heights (spot int REFERENCES spots, height float8);
INSERT INTO spots VALUES (1), (2), (3);
INSERT INTO heights VALUES (1, 0.1), (2, 0.1), (3, 0.10000000000000002);
SELECT keep('heights');
SELECT FROM merge_duplicates('VALUES (2, 1), (3, 1)', 'spots');
SET extra_float_digits = 0;
SELECT FROM undo_merge('spots_merge');
RESET extra_float_digits;
SELECT * FROM differences();

-- A conflict of the table's references to itself.
CREATE TABLE chain (id int PRIMARY KEY, previous int UNIQUE REFERENCES chain);
INSERT INTO chain VALUES (1, NULL), (2, NULL), (3, 1), (4, 2);
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'chain', on_conflict => 'delete');
\set VERBOSITY terse

-- Rights: the caller's, for each table.
CREATE ROLE regress_merge_clerk;
CREATE ROLE regress_merge_spy;
GRANT USAGE, CREATE ON SCHEMA merge_test TO regress_merge_clerk, regress_merge_spy;
SET ROLE regress_merge_clerk;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors');
RESET ROLE;
GRANT SELECT, UPDATE, DELETE, INSERT ON authors TO regress_merge_clerk;
SET ROLE regress_merge_clerk;
SELECT * FROM merge_counts('VALUES (2, 1)', 'authors');
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors');
RESET ROLE;
GRANT SELECT, UPDATE ON books TO regress_merge_clerk;
GRANT INSERT ON written TO regress_merge_clerk;
SET ROLE regress_merge_clerk;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors', journal => 'clerks');
RESET ROLE;
SELECT * FROM undo_merge('clerks');
SELECT drop_merge_journal('clerks');
SET ROLE regress_merge_clerk;
SELECT * FROM undo_merge('clerks');
RESET ROLE;
-- Row-level security.
ALTER TABLE books ENABLE ROW LEVEL SECURITY;
CREATE POLICY a_few ON books USING (id > 10);
SET ROLE regress_merge_clerk;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors');
SELECT * FROM merge_preview('VALUES (2, 1)', NULL::authors);
RESET ROLE;
ALTER TABLE books DISABLE ROW LEVEL SECURITY;
-- A table of another role: its triggers would run with the caller's rights.
GRANT REFERENCES ON authors TO regress_merge_spy;
SET ROLE regress_merge_spy;
CREATE TABLE trap (author int REFERENCES authors);
RESET ROLE;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors');
INSERT INTO trap VALUES (2);
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'authors', trusted => '{trap}');
SELECT * FROM undo_merge('authors_merge1');
SELECT * FROM undo_merge('authors_merge1', trusted => '{trap}');
-- Default privileges give nothing of a journal to others, who must not write into it.
ALTER DEFAULT PRIVILEGES IN SCHEMA merge_test GRANT ALL ON TABLES TO regress_merge_spy, PUBLIC;
SELECT * FROM merge_duplicates('VALUES (2, 1)', 'firms');
SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE c.relname LIKE 'firms\_merge%' AND a.grantee <> c.relowner;
GRANT INSERT ON firms_merge TO PUBLIC;
SELECT * FROM undo_merge('firms_merge');
REVOKE ALL ON firms_merge FROM PUBLIC;
GRANT SELECT, UPDATE (merge_row) ON firms_merge_firms_rows TO regress_merge_spy;
SELECT * FROM undo_merge('firms_merge');
REVOKE UPDATE (merge_row) ON firms_merge_firms_rows FROM regress_merge_spy;
SELECT * FROM undo_merge('firms_merge');

DROP SCHEMA merge_test CASCADE;
DROP ROLE regress_merge_clerk, regress_merge_spy;
