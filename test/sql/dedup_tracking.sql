-- Dedup views that track changes: all kinds of changes, refreshes from changes and full ones, and refusals.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA tracking_test;
SET search_path = tracking_test, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 <> 0 THEN ARRAY(SELECT n / 3 + j FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;
-- The number of rows that only one of a view and a new view has, and the same for its pairs.
CREATE FUNCTION differences(view regclass, query text, threshold float8, measure text DEFAULT 'jaccard', method text DEFAULT 'components',
                            keep text DEFAULT 'smallest_id') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH new_view AS (SELECT * FROM duplicate_groups(%L, %L, %L, %L, %L, 1)), new_pairs AS (SELECT * FROM similarity_self_join(%L, %L, %L))
    SELECT (SELECT count(*) FROM ((SELECT id, group_id, is_representative, similarity FROM %s EXCEPT ALL TABLE new_view) UNION ALL (TABLE new_view EXCEPT ALL SELECT id, group_id, is_representative, similarity FROM %s)) d)
      + (SELECT count(*) FROM ((TABLE %s_pairs EXCEPT ALL TABLE new_pairs) UNION ALL (TABLE new_pairs EXCEPT ALL TABLE %s_pairs)) d)',
    query, threshold, measure, method, keep, query, threshold, measure, view, view, view, view) INTO result;
  RETURN result;
END $$;

CREATE TABLE docs (id int PRIMARY KEY, priority int, tokens int[]);
INSERT INTO docs SELECT i * 3, draw(100, i, 1), tokens_of(draw(200, i, 2)) FROM generate_series(1, 120) i;
SELECT create_dedup_view('unique_docs', 'SELECT id, tokens FROM docs WHERE priority >= 0', 0.7, track_changes => true);

-- The parts of the view.
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'tracking_test'::regnamespace AND relname LIKE 'unique%' ORDER BY relname COLLATE "C";
SELECT tgname, tgenabled, tgtype & 1 = 1 AS for_rows FROM pg_trigger WHERE tgrelid = 'docs'::regclass ORDER BY tgname COLLATE "C";

-- Only changed rows are read.
SELECT * FROM refresh_dedup_view('unique_docs');
INSERT INTO docs VALUES (1, 0, '{1000,1001}'), (2, 0, '{1001,1000}');
TABLE unique_docs_changes;
SELECT * FROM refresh_dedup_view('unique_docs');
TABLE unique_docs_changes;
SELECT * FROM unique_docs WHERE id < 3 ORDER BY id;
UPDATE docs SET tokens = '{1000,1001,1002}' WHERE id = 2;
UPDATE docs SET priority = 1 WHERE id = 1;
SELECT * FROM refresh_dedup_view('unique_docs', concurrently => false);
SELECT * FROM unique_docs WHERE id < 3 ORDER BY id;
UPDATE docs SET priority = -1 WHERE id = 1;
UPDATE docs SET id = 4 WHERE id = 2;
SELECT * FROM refresh_dedup_view('unique_docs');
SELECT * FROM unique_docs WHERE id < 5 ORDER BY id;
UPDATE docs SET priority = 0 WHERE id = 1;
INSERT INTO docs VALUES (5, 0, '{1000,1001,1002,1002}');
DELETE FROM docs WHERE id = 4;
SELECT * FROM refresh_dedup_view('unique_docs');
SELECT differences('unique_docs', 'SELECT id, tokens FROM docs WHERE priority >= 0', 0.7);

-- Every way in which rows change.
CREATE TABLE ways (way text, noted boolean);
CREATE FUNCTION noted(way text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ways SELECT way, count(*) > 0 FROM unique_docs_changes WHERE first_id IS NOT NULL;
  PERFORM refresh_dedup_view('unique_docs');
  INSERT INTO ways SELECT 'wrong after ' || way, true
  WHERE differences('unique_docs', 'SELECT id, tokens FROM docs WHERE priority >= 0', 0.7) <> 0;
END $$;
COPY docs FROM stdin;
7	0	{1000,1001}
8	0	{2000,2001}
\.
SELECT noted('COPY');
INSERT INTO docs VALUES (7, 0, NULL), (10, 0, '{2000,2001}') ON CONFLICT (id) DO UPDATE SET tokens = '{2000}';
SELECT noted('ON CONFLICT DO UPDATE');
WITH moved AS (DELETE FROM docs WHERE id = 10 RETURNING *) INSERT INTO docs SELECT 11, priority, tokens FROM moved;
SELECT noted('WITH');
DO $$
BEGIN
  -- MERGE is of PostgreSQL 15.
  IF current_setting('server_version_num')::int >= 150000 THEN
    EXECUTE 'MERGE INTO docs USING (VALUES (11), (13)) v (id) ON docs.id = v.id
      WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, 0, ''{2000,2001}'')';
  ELSE
    DELETE FROM docs WHERE id = 11;
    INSERT INTO docs VALUES (13, 0, '{2000,2001}');
  END IF;
END $$;
SELECT noted('MERGE');
CREATE TABLE owners (id int PRIMARY KEY);
INSERT INTO owners VALUES (8), (14);
ALTER TABLE docs ADD COLUMN owner int REFERENCES owners ON DELETE CASCADE ON UPDATE CASCADE;
UPDATE docs SET owner = id WHERE id = 8;
SELECT noted('UPDATE of another column');
DELETE FROM owners WHERE id = 8;
SELECT noted('ON DELETE CASCADE');
SET session_replication_role = replica;
INSERT INTO docs VALUES (14, 0, '{2000,2001}'), (17, 0, '{2000,2001}');
SELECT noted('a replicated INSERT');
UPDATE docs SET tokens = '{2001}' WHERE id = 14;
SELECT noted('a replicated UPDATE');
DELETE FROM docs WHERE id = 14;
SELECT noted('a replicated DELETE');
RESET session_replication_role;
SELECT string_agg(way, ', ') AS ways, bool_and(noted) AS noted FROM ways;
UPDATE docs SET tokens = tokens WHERE false;
SELECT count(*) AS nothing_noted FROM unique_docs_changes;

-- A refresh that reads everything because anything may have changed gives the same, and so does PostgreSQL's command.
BEGIN;
TRUNCATE docs;
INSERT INTO docs SELECT i, 0, tokens_of(i) FROM generate_series(1, 100) i;
SELECT rows, new_rows + changed_rows > 0 AS joined, read_rows FROM refresh_dedup_view('unique_docs');
SELECT differences('unique_docs', 'SELECT id, tokens FROM docs WHERE priority >= 0', 0.7);
ROLLBACK;
SELECT new_rows, changed_rows, removed_rows, read_rows FROM refresh_dedup_view('unique_docs');
INSERT INTO docs VALUES (1016, 0, '{2000,2001}');
REFRESH MATERIALIZED VIEW CONCURRENTLY unique_docs;
SELECT new_rows, read_rows FROM refresh_dedup_view('unique_docs');
DELETE FROM docs WHERE id = 1016;
REFRESH MATERIALIZED VIEW unique_docs WITH NO DATA;
SELECT removed_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
SELECT differences('unique_docs', 'SELECT id, tokens FROM docs WHERE priority >= 0', 0.7);

-- After changes that triggers cannot see, the first refresh also reads all rows.
SET client_min_messages = notice;
ALTER TABLE docs DISABLE TRIGGER simjoin_insert;
INSERT INTO docs VALUES (1016, 0, '{2000,2001}');
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
INSERT INTO docs VALUES (1017, 0, '{2000,2001}');
ALTER TABLE docs ENABLE TRIGGER simjoin_insert;
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
SELECT new_rows, read_rows FROM refresh_dedup_view('unique_docs');
CREATE TABLE more_docs () INHERITS (docs);
INSERT INTO more_docs VALUES (1018, 0, '{2000,2001}');
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
DROP TABLE more_docs;
SELECT removed_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_docs');
ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
CREATE TABLE whole (LIKE docs) PARTITION BY RANGE (id);
-- The trigger that PostgreSQL names depends on its version.
DO $$ BEGIN
  ALTER TABLE whole ATTACH PARTITION docs DEFAULT;
EXCEPTION WHEN others THEN
  RAISE EXCEPTION '%', regexp_replace(SQLERRM, '"simjoin_\w+"', '"simjoin_..."');
END $$;
DROP TABLE whole;
SET client_min_messages = warning;

-- Ids that are NULL or occur twice give an error in the refresh, not in the write.
CREATE TABLE notes (id smallint, tokens text[]);
INSERT INTO notes VALUES (1, '{a,b,c}'), (-2, '{c,b,a}');
SELECT create_dedup_view('unique_notes', 'SELECT id AS key, tokens FROM notes', 0.7, keep => 'smallest_id', track_changes => true);
INSERT INTO notes VALUES (NULL, '{a}');
SELECT * FROM refresh_dedup_view('unique_notes');
DELETE FROM notes WHERE id IS NULL;
SELECT * FROM refresh_dedup_view('unique_notes');
INSERT INTO notes VALUES (1, '{a}');
SELECT * FROM refresh_dedup_view('unique_notes');
UPDATE notes SET id = 32767 WHERE tokens = '{a}';
INSERT INTO notes VALUES (-32768, '{a}'), (3, NULL), (4, '{}');
SELECT * FROM refresh_dedup_view('unique_notes');
SELECT * FROM unique_notes ORDER BY id;
-- Two views over one table. The triggers stay until the last view is dropped.
SELECT create_dedup_view('other_notes', 'SELECT id, tokens FROM notes WHERE id > 0 ORDER BY id DESC', 0.3, keep => 'first_row', track_changes => true);
SELECT drop_dedup_view('unique_notes');
DELETE FROM notes WHERE id = -2;
INSERT INTO notes VALUES (5, '{a,b}');
SELECT * FROM refresh_dedup_view('other_notes');
SELECT * FROM other_notes ORDER BY id;
SELECT drop_dedup_view('other_notes');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'notes'::regclass;

-- Random changes, all measures, sets of texts with a low threshold.
CREATE TABLE texts (id bigint, body text[]);
CREATE INDEX ON texts (id);
CREATE TABLE refreshes (measure text, step int, joined bigint, removed bigint, new_pairs bigint, read_rows bigint, rows bigint, differences bigint);
SELECT count(create_dedup_view('by_' || measure, 'SELECT id, body FROM texts', CASE measure WHEN 'overlap' THEN 3 ELSE 0.4 END, measure,
                               track_changes => true))
FROM unnest('{jaccard,cosine,dice,overlap,overlap_coefficient}'::text[]) measure;
DO $$
DECLARE m text; f record;
BEGIN
  FOR step IN 1 .. 9 LOOP
    DELETE FROM texts WHERE draw(60, id::int, step, 1) = 0;
    UPDATE texts SET body = tokens_of(draw(400, id::int, step, 3))::text[] WHERE draw(60, id::int, step, 2) = 0;
    INSERT INTO texts SELECT 10000 * step + i, tokens_of(draw(400, i, step, 7))::text[] FROM generate_series(1, CASE step WHEN 1 THEN 1200 ELSE 10 END) i;
    FOREACH m IN ARRAY '{jaccard,cosine,dice,overlap,overlap_coefficient}'::text[] LOOP
      SELECT * INTO f FROM refresh_dedup_view(('by_' || m)::regclass);
      INSERT INTO refreshes VALUES (m, step, f.new_rows + f.changed_rows, f.removed_rows, f.new_pairs, f.read_rows, f.rows,
        CASE WHEN step % 4 = 1 THEN differences(('by_' || m)::regclass, 'SELECT id, body FROM texts', CASE m WHEN 'overlap' THEN 3 ELSE 0.4 END, m) END);
    END LOOP;
  END LOOP;
END $$;
SELECT measure, count(*) AS refreshes, sum(differences) AS differences, count(*) FILTER (WHERE read_rows = rows) AS full_ones,
       sum(removed) > 100 AS removed, min(new_pairs) > 50 AS new_pairs
FROM refreshes GROUP BY measure ORDER BY measure;
SELECT count(drop_dedup_view(('by_' || measure)::regclass)) FROM unnest('{jaccard,cosine,dice,overlap,overlap_coefficient}'::text[]) measure;

-- Work is in proportion to the change: rows read, joined and written.
CREATE TABLE many (id int PRIMARY KEY, tokens int[]);
INSERT INTO many SELECT i, ARRAY(SELECT draw(20000, i / 2, j) FROM generate_series(1, 12) j) FROM generate_series(1, 5000) i;
SELECT create_dedup_view('unique_many', 'SELECT id, tokens FROM many', 0.8, track_changes => true);
INSERT INTO many SELECT 5000 + i, tokens || 7 FROM many, generate_series(1, 1) i WHERE id = 500;
UPDATE many SET tokens = tokens[2:] WHERE id BETWEEN 1000 AND 1039 AND id % 2 = 0;
DELETE FROM many WHERE id BETWEEN 2000 AND 2009;
SELECT new_rows, changed_rows, removed_rows, read_rows BETWEEN 41 AND 60 AS few_read FROM refresh_dedup_view('unique_many');
SELECT count(*) BETWEEN 21 AND 40 AS few_written FROM unique_many
WHERE xmin <> (SELECT xmin FROM unique_many GROUP BY xmin ORDER BY count(*) DESC LIMIT 1);
SELECT differences('unique_many', 'SELECT id, tokens FROM many', 0.8);
SELECT rows, (SELECT count(*) FROM many) AS counted FROM unique_many_order;
-- A set of thousands of tokens is compared with all rows of about its size.
INSERT INTO many SELECT 6000 + i, ARRAY(SELECT generate_series(i * 100, i * 100 + 3000)) FROM generate_series(1, 3) i;
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('unique_many');
INSERT INTO many SELECT 6000 + i, ARRAY(SELECT generate_series(i * 100, i * 100 + 3000)) FROM generate_series(4, 6) i;
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('unique_many');
SELECT differences('unique_many', 'SELECT id, tokens FROM many', 0.8);
-- Ids are looked up in parts of 65,536. The changes are few for the number of rows in the table of the order.
CREATE TABLE lots (id int PRIMARY KEY, tokens int[]);
INSERT INTO lots SELECT i, ARRAY[i] FROM generate_series(1, 66000) i;
SELECT create_dedup_view('unique_lots', 'SELECT id, tokens FROM lots', 0.8, track_changes => true);
UPDATE unique_lots_order SET rows = 20000000, ordered_rows = 20000000;
UPDATE lots SET tokens = tokens || 1 WHERE id % 1000 = 0;
UPDATE lots SET tokens = tokens;
DELETE FROM lots WHERE id = 1;
INSERT INTO lots VALUES (66001, '{66000,1}');
SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('unique_lots');
SELECT differences('unique_lots', 'SELECT id, tokens FROM lots', 0.8);
SELECT drop_dedup_view('unique_lots');
DROP TABLE lots;
-- After many changes, all rows are read.
UPDATE many SET tokens = tokens || 8 WHERE id <= 1000;
SELECT changed_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_many');
SELECT differences('unique_many', 'SELECT id, tokens FROM many', 0.8);
-- A group that has grown large is reported.
SET client_min_messages = notice;
INSERT INTO many SELECT 30000 + i, '{5,6,7}' FROM generate_series(1, 200) i;
SELECT drop_dedup_view('unique_many');
SELECT create_dedup_view('unique_many', 'SELECT id, tokens FROM many', 0.8, max_group_share => 0.05, track_changes => true);
INSERT INTO many SELECT 40000 + i, '{5,6,7}' FROM generate_series(1, 90) i;
SELECT new_pairs FROM refresh_dedup_view('unique_many');
SET client_min_messages = warning;
SELECT drop_dedup_view('unique_many');

-- Renamed and moved parts do no harm, nor does an empty search path.
CREATE SCHEMA elsewhere;
ALTER TABLE unique_docs_rows RENAME TO some_rows;
ALTER TABLE unique_docs_changes RENAME TO some_changes;
ALTER TABLE some_changes SET SCHEMA elsewhere;
ALTER VIEW unique_docs_source RENAME TO what_counts;
ALTER VIEW what_counts RENAME COLUMN id TO "The id";
ALTER MATERIALIZED VIEW unique_docs RENAME TO "Renamed";
ALTER MATERIALIZED VIEW "Renamed" RENAME COLUMN id TO "Doc";
ALTER TABLE docs RENAME COLUMN id TO "Key";
ALTER TABLE docs RENAME TO "Documents";
SET search_path = pg_catalog;
SELECT read_rows = rows AS all_read FROM public.refresh_dedup_view('tracking_test."Renamed"');
INSERT INTO tracking_test."Documents" VALUES (1020, 0, '{2000,2001}');
SELECT new_rows, read_rows < 20 AS few_read FROM public.refresh_dedup_view('tracking_test."Renamed"');
SET search_path = tracking_test, public;
SELECT * FROM "Renamed" WHERE "Doc" = 1020;
ALTER TABLE "Documents" RENAME TO docs;
ALTER TABLE docs RENAME COLUMN "Key" TO id;

-- Triggers that were disabled and enabled again, as a restore of data alone does, are mended by the next refresh.
SET client_min_messages = notice;
CREATE TABLE letters (id int PRIMARY KEY, tokens int[]);
INSERT INTO letters SELECT i, ARRAY[i / 2, i / 2 + 1, i / 2 + 2] FROM generate_series(1, 50) i;
SELECT create_dedup_view('unique_letters', 'SELECT id, tokens FROM letters', 0.9, track_changes => true);
SELECT create_dedup_view('unique_letters2', 'SELECT id, tokens FROM letters', 0.5, track_changes => true);
CREATE VIEW modes AS SELECT string_agg(replace(tgname, 'simjoin_', '') || ' ' || tgenabled::text, ', ' ORDER BY tgname COLLATE "C") AS modes
FROM pg_trigger WHERE tgrelid = 'letters'::regclass AND NOT tgisinternal;
ALTER TABLE letters DISABLE TRIGGER USER;
INSERT INTO letters VALUES (101, '{1,2,3}');
ALTER TABLE letters ENABLE TRIGGER USER;
TABLE modes;
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
TABLE modes;
SELECT new_rows, read_rows FROM refresh_dedup_view('unique_letters');
SET session_replication_role = replica;
INSERT INTO letters VALUES (102, '{1,2,3}');
RESET session_replication_role;
SELECT new_rows, read_rows < rows AS few_read FROM refresh_dedup_view('unique_letters');
-- So does each other view of the table, which has a note.
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters2');
SELECT new_rows, read_rows FROM refresh_dedup_view('unique_letters2');
SELECT differences('unique_letters', 'SELECT id, tokens FROM letters', 0.9), differences('unique_letters2', 'SELECT id, tokens FROM letters', 0.5);
-- Not while the statement uses the table, or a trigger is disabled or missing. The message says what to do.
ALTER TABLE letters DISABLE TRIGGER ALL;
ALTER TABLE letters ENABLE TRIGGER ALL;
SELECT (SELECT read_rows = rows FROM refresh_dedup_view('unique_letters')) AS all_read FROM letters WHERE id = 1;
ALTER TABLE letters DISABLE TRIGGER simjoin_insert;
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
TABLE modes;
ALTER TABLE letters ENABLE TRIGGER simjoin_insert;
ALTER TABLE letters ENABLE ALWAYS TRIGGER simjoin_truncate, ENABLE REPLICA TRIGGER simjoin_replicated_insert, ENABLE REPLICA TRIGGER simjoin_replicated_change;
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
SELECT read_rows FROM refresh_dedup_view('unique_letters');
-- A trigger that fires in more sessions is no obstacle.
ALTER TABLE letters ENABLE ALWAYS TRIGGER simjoin_insert;
SELECT read_rows FROM refresh_dedup_view('unique_letters');
TABLE modes;
-- Who may make triggers on the table can replace them by others of the same names. Those count for nothing and are left alone.
CREATE ROLE regress_tracking_maker;
GRANT USAGE, CREATE ON SCHEMA tracking_test TO regress_tracking_maker;
GRANT TRIGGER, INSERT ON letters TO regress_tracking_maker;
SET ROLE regress_tracking_maker;
CREATE FUNCTION simjoin_track_changes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE OR REPLACE TRIGGER simjoin_truncate AFTER TRUNCATE ON letters EXECUTE FUNCTION simjoin_track_changes();
RESET ROLE;
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
TABLE modes;
SELECT create_dedup_view('unique_letters3', 'SELECT id, tokens FROM letters', 0.5, track_changes => true);
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
SELECT read_rows FROM refresh_dedup_view('unique_letters');
SET ROLE regress_tracking_maker;
CREATE OR REPLACE TRIGGER simjoin_insert AFTER INSERT ON letters REFERENCING NEW TABLE AS simjoin_new
FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION dedup_view_changes();
INSERT INTO letters VALUES (103, '{1,2,3}');
RESET ROLE;
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
DROP TRIGGER simjoin_insert ON letters;
CREATE TRIGGER simjoin_insert AFTER INSERT ON letters FOR EACH STATEMENT EXECUTE FUNCTION dedup_view_changes();
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
DROP TRIGGER simjoin_update ON letters;
CREATE TRIGGER simjoin_update AFTER UPDATE OF id ON letters EXECUTE FUNCTION dedup_view_changes();
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('unique_letters');
DROP OWNED BY regress_tracking_maker;
DROP ROLE regress_tracking_maker;
SET client_min_messages = warning;
DROP MATERIALIZED VIEW unique_letters, unique_letters2, unique_letters3;
DROP VIEW modes;
DROP TABLE letters;

-- Rights: writers need no rights to the parts of the view. The view's owner must own the parts and the table.
CREATE ROLE regress_tracking_owner;
CREATE ROLE regress_tracking_writer;
GRANT USAGE, CREATE ON SCHEMA tracking_test TO regress_tracking_owner;
GRANT USAGE ON SCHEMA tracking_test TO regress_tracking_writer;
GRANT INSERT, SELECT ON docs TO regress_tracking_owner, regress_tracking_writer;
SET ROLE regress_tracking_writer;
INSERT INTO docs VALUES (1021, 0, '{2000,2001}');
\set VERBOSITY sqlstate
SELECT new_rows FROM refresh_dedup_view('"Renamed"');
\set VERBOSITY default
RESET ROLE;
SELECT new_rows FROM refresh_dedup_view('"Renamed"');
SET ROLE regress_tracking_owner;
SELECT create_dedup_view('owned', 'SELECT id, tokens FROM docs', 0.7, track_changes => true);
CREATE TABLE own_docs (LIKE docs INCLUDING ALL);
SELECT create_dedup_view('owned', 'SELECT id, tokens FROM own_docs', 0.7, track_changes => true);
GRANT INSERT ON own_docs TO regress_tracking_writer;
RESET ROLE;
SET ROLE regress_tracking_writer;
INSERT INTO own_docs VALUES (1, 0, '{1,2}'), (2, 0, '{1,2}');
RESET ROLE;
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('owned');
-- A view made by hand does not let its owner write to others' tables, or see or block the writes of others.
CREATE TABLE precious (a bigint, b bigint);
SET ROLE regress_tracking_owner;
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('owned_source', 'owned_rows', 'owned_pairs', 'precious', 'owned_order',
  '0.7', 'jaccard', 'components', 'smallest_id', '1') WITH NO DATA;
INSERT INTO own_docs VALUES (3, 0, '{1,2}');
REFRESH MATERIALIZED VIEW forged;
SELECT refresh_dedup_view('forged');
RESET ROLE;
ALTER TABLE precious ADD CHECK (a > 3);
GRANT ALL ON precious TO regress_tracking_owner;
SET ROLE regress_tracking_owner;
INSERT INTO own_docs VALUES (3, 0, '{1,2}');
DROP MATERIALIZED VIEW forged;
RESET ROLE;
REVOKE ALL ON precious FROM regress_tracking_owner;
SELECT count(*) FROM precious;
GRANT CREATE ON SCHEMA tracking_test TO regress_tracking_writer;
SET ROLE regress_tracking_writer;
CREATE TABLE spied (a bigint, b bigint);
CREATE MATERIALIZED VIEW spy AS SELECT * FROM dedup_view_groups('owned_source', 'owned_rows', 'owned_pairs', 'spied', 'owned_order',
  '0.7', 'jaccard', 'components', 'smallest_id', '1') WITH NO DATA;
CREATE MATERIALIZED VIEW hindrance AS SELECT * FROM dedup_view_groups('owned_source', 'owned_rows', 'owned_pairs', 'precious', 'owned_order',
  '0.7', 'jaccard', 'components', 'smallest_id', '1') WITH NO DATA;
CREATE VIEW erring AS SELECT 1 / 0 AS id, '{1}'::int[] AS tokens;
-- No table is locked while a query of another owner runs.
SELECT dedup_view_groups('erring', 'precious', 'precious', '0.7', 'jaccard', 'components', 'smallest_id', '1');
CREATE MATERIALIZED VIEW locking AS SELECT * FROM dedup_view_groups('erring', 'precious', 'precious', '0.7', 'jaccard', 'components', 'smallest_id', '1');
SET ROLE regress_tracking_owner;
INSERT INTO own_docs VALUES (3, 0, '{1,2}');
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('owned');
RESET ROLE;
SELECT count(*) FROM spied;
-- Changes that cannot be recorded are not lost: the write fails, or the next refresh reads everything.
ALTER TABLE owned_changes ADD COLUMN noted_at timestamptz DEFAULT now();
INSERT INTO own_docs VALUES (4, 0, '{1,2}');
ALTER TABLE owned_changes DROP COLUMN noted_at;
INSERT INTO own_docs VALUES (4, 0, '{1,2}');
DROP MATERIALIZED VIEW spy, hindrance;
SET client_min_messages = notice;
SELECT drop_dedup_view('owned');
SET ROLE regress_tracking_owner;
SELECT create_dedup_view('owned', 'SELECT id, tokens FROM own_docs', 0.7, track_changes => true);
RESET ROLE;
ALTER MATERIALIZED VIEW owned OWNER TO regress_tracking_writer;
INSERT INTO own_docs VALUES (4, 0, '{1,2}');
SELECT new_rows, new_pairs FROM refresh_dedup_view('owned');
ALTER VIEW owned_source OWNER TO regress_tracking_writer;
ALTER TABLE owned_rows OWNER TO regress_tracking_writer;
ALTER TABLE owned_pairs OWNER TO regress_tracking_writer;
ALTER TABLE owned_changes OWNER TO regress_tracking_writer;
ALTER TABLE owned_order OWNER TO regress_tracking_writer;
ALTER TABLE owned_entities OWNER TO regress_tracking_writer;
ALTER TABLE owned_history OWNER TO regress_tracking_writer;
GRANT SELECT ON own_docs TO regress_tracking_writer;
SELECT new_rows, new_pairs FROM refresh_dedup_view('owned');
SET client_min_messages = warning;
DROP OWNED BY regress_tracking_owner, regress_tracking_writer CASCADE;
DROP ROLE regress_tracking_owner, regress_tracking_writer;

-- Dropping the table drops its triggers and the view, and so its parts.
SET client_min_messages = error;
DROP TABLE docs CASCADE;
SET client_min_messages = warning;
SELECT relname FROM pg_class WHERE relnamespace IN ('tracking_test'::regnamespace, 'elsewhere'::regnamespace) AND relkind IN ('r', 'v', 'm')
ORDER BY relname COLLATE "C";

-- Triggers that remain after DROP MATERIALIZED VIEW do nothing.
CREATE TABLE docs (id int PRIMARY KEY, tokens int[]);
SELECT create_dedup_view('unique_docs2', 'SELECT id, tokens FROM docs', 0.7, track_changes => true);
DROP MATERIALIZED VIEW unique_docs2;
INSERT INTO docs VALUES (1, '{1}');
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'unique_docs2%';

-- The triggers of a view are made again with those of another one. Changes without triggers are not forgotten.
SELECT create_dedup_view('unique_docs3', 'SELECT id, tokens FROM docs', 0.7, track_changes => true);
ALTER TABLE docs DISABLE TRIGGER ALL;
INSERT INTO docs VALUES (2, '{1}');
SELECT create_dedup_view('unique_docs4', 'SELECT id, tokens FROM docs', 0.7, track_changes => true);
SELECT new_rows, new_pairs FROM refresh_dedup_view('unique_docs3');
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('unique_docs3');

-- Publications for all tables do not keep a view from being refreshed.
SET client_min_messages = error;
CREATE PUBLICATION regress_tracking FOR ALL TABLES;
SET client_min_messages = warning;
INSERT INTO docs VALUES (3, '{1}');
SELECT new_rows, new_pairs FROM refresh_dedup_view('unique_docs3');
REFRESH MATERIALIZED VIEW unique_docs4;
DROP PUBLICATION regress_tracking;

-- A view that only has the text of the function is not a dedup view.
SET check_function_bodies = off;
CREATE FUNCTION forged(regclass, regclass, regclass, int, int, int, int, int) RETURNS TABLE (id bigint) LANGUAGE sql
AS 'simjoin_dedup_view_groups';
RESET check_function_bodies;
CREATE VIEW no_source AS SELECT * FROM docs;
CREATE MATERIALIZED VIEW no_dedup_view AS SELECT * FROM forged('no_source', 'docs', 'docs', 1, 2, 3, 4, 5) WITH NO DATA;
SELECT refresh_dedup_view('no_dedup_view');
SELECT drop_dedup_view('no_dedup_view');
INSERT INTO docs VALUES (4, '{1}');

-- Queries that cannot be tracked.
CREATE FUNCTION tracked(query text, keep text DEFAULT 'smallest_id') RETURNS void LANGUAGE sql AS
$$ SELECT create_dedup_view('tracking_test.refused', query, 0.7, keep => keep, track_changes => true) $$;
CREATE TEMP TABLE temporary_docs (id int, tokens int[]);
CREATE UNLOGGED TABLE unlogged_docs (id int, tokens int[]);
CREATE TABLE partitioned_docs (id int, tokens int[]) PARTITION BY RANGE (id);
CREATE TABLE a_partition PARTITION OF partitioned_docs DEFAULT;
CREATE VIEW doc_view AS SELECT * FROM docs;
SELECT tracked('SELECT d.id, d.tokens FROM docs d JOIN notes n USING (id)');
SELECT tracked('SELECT d.id, d.tokens FROM docs d, notes n');
SELECT tracked('SELECT id, tokens FROM docs WHERE id IN (SELECT id FROM notes)');
SELECT tracked('WITH d AS (SELECT * FROM docs) SELECT id, tokens FROM d');
SELECT tracked('SELECT id, tokens FROM (SELECT * FROM docs) d');
SELECT tracked('SELECT id, tokens FROM docs UNION SELECT id, tokens FROM docs');
SELECT tracked('SELECT id, min(tokens) FROM docs GROUP BY id');
SELECT tracked('SELECT DISTINCT id, tokens FROM docs');
SELECT tracked('SELECT id, lag(tokens) OVER (ORDER BY id) FROM docs');
SELECT tracked('SELECT id, tokens FROM docs LIMIT 10');
SELECT tracked('SELECT id, ARRAY[unnest(tokens)] FROM docs');
SELECT tracked('SELECT id, tokens FROM docs TABLESAMPLE SYSTEM (10)');
SELECT tracked('SELECT id, tokens || (random() * 9)::int FROM docs');
SELECT tracked('SELECT id, tokens FROM docs WHERE now() > ''2000-01-01''');
SELECT tracked('SELECT id, tokens FROM docs ORDER BY ctid', 'first_row');
SELECT tracked('SELECT id + 1, tokens FROM docs');
SELECT tracked('SELECT id, tokens FROM docs', 'first_row');
SELECT tracked('SELECT i, ARRAY[i] FROM generate_series(1, 3) i');
SELECT tracked('SELECT id, tokens FROM temporary_docs');
SELECT tracked('SELECT id, tokens FROM unlogged_docs');
SELECT tracked('SELECT id, tokens FROM partitioned_docs');
-- Without tracking, partitions are read like any table.
INSERT INTO partitioned_docs VALUES (1, '{1,2}'), (2, '{1,2}');
SELECT create_dedup_view('of_partitions', 'SELECT id, tokens FROM partitioned_docs', 0.7);
INSERT INTO a_partition VALUES (3, '{1,2}');
SELECT rows, new_rows, new_pairs FROM refresh_dedup_view('of_partitions');
SELECT drop_dedup_view('of_partitions');
SELECT tracked('SELECT id, tokens FROM a_partition');
SELECT tracked('SELECT id, tokens FROM doc_view');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT tracked('SELECT id, tokens FROM docs');
ROLLBACK;
SELECT dedup_view_changes();
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'refused%';
DROP SCHEMA elsewhere CASCADE;
DROP SCHEMA tracking_test CASCADE;
