-- An index on sets is checked against its table.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;

-- Sound indexes: entries of thousands of rows and of one, lists of pending rows, versions of rows on one page, rows without
-- a set, expressions, conditions, several columns, partitions.
CREATE TABLE checked (id int PRIMARY KEY, tokens int4[], big int8[], words text[], grp int, note text) WITH (fillfactor = 60);
INSERT INTO checked
SELECT i, t, t, t::text[], i % 3
FROM generate_series(1, 6000) i, LATERAL (SELECT CASE WHEN i % 2 = 0 THEN ARRAY[1] WHEN i % 5 > 0 THEN ARRAY[i % 7, i % 11 + 10, i % 13 + 30] || i END AS t) s;
INSERT INTO checked VALUES (0, '{}', '{}', '{}', 0), (-1, ARRAY(SELECT generate_series(1, 100000)), NULL, NULL, 1);
CREATE INDEX checked_tokens ON checked USING gin (tokens int4_similarity_ops (threshold = 0.4));
CREATE INDEX checked_columns ON checked USING gin (big, big int8_similarity_ops (measure = 'overlap', threshold = 2), words text_similarity_ops);
CREATE INDEX checked_some ON checked USING gin ((tokens || grp) int4_similarity_ops (threshold = 0.6)) WITH (fastupdate = off) WHERE grp > 0;
SELECT create_similarity_index('checked', 'words', 0.3, 'cosine');
SELECT i, similarity_index_check(i) FROM unnest('{checked_tokens, checked_columns, checked_some, checked_similarity_idx}'::regclass[]) i;
UPDATE checked SET grp = grp + 10 WHERE id % 10 = 1;
UPDATE checked SET note = 'new' WHERE id % 10 = 5;
UPDATE checked SET tokens = tokens || 5, words = words || 'x'::text WHERE id % 10 = 2;
DELETE FROM checked WHERE id % 10 = 3;
INSERT INTO checked SELECT id + 10000, tokens, big, words, 1 FROM checked WHERE id % 10 = 4;
SELECT i, similarity_index_check(i) FROM unnest('{checked_tokens, checked_columns, checked_some, checked_similarity_idx}'::regclass[]) i;
SELECT gin_clean_pending_list('checked_tokens') > 0 AS moved;
VACUUM checked;
SELECT i, similarity_index_check(i) FROM unnest('{checked_tokens, checked_columns, checked_some, checked_similarity_idx}'::regclass[]) i;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO checked (id, tokens) VALUES (20000, '{1,2,3}');
SELECT similarity_index_check('checked_tokens');
ROLLBACK;
SELECT similarity_index_check('checked_tokens');
CREATE TABLE divided (id int, tokens int4[]) PARTITION BY RANGE (id);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES FROM (-10) TO (2000);
CREATE UNLOGGED TABLE divided_2 PARTITION OF divided FOR VALUES FROM (2000) TO (20000);
INSERT INTO divided SELECT id, tokens FROM checked;
SELECT create_similarity_index('divided', 'tokens', 0.5);
SELECT similarity_index_check('divided_similarity_idx') = count(*) AS all_rows FROM divided;
CREATE TEMP TABLE of_session AS SELECT tokens FROM checked LIMIT 0;
SELECT similarity_index_check(create_similarity_index('of_session', 'tokens', 0.5));

-- Broken ones. The index has not got rows of a time when it was not ready.
\set VERBOSITY default
UPDATE pg_index SET indisready = false WHERE indexrelid = 'checked_tokens'::regclass;
INSERT INTO checked (id, tokens) VALUES (20001, '{1,2,3,4,5,6,7,8}'), (20002, '{}'), (20003, NULL);
UPDATE pg_index SET indisready = true WHERE indexrelid = 'checked_tokens'::regclass;
CREATE FUNCTION complaint(index regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
  RETURN similarity_index_check(index);
EXCEPTION WHEN index_corrupted THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  -- The row's id instead of its place.
  message := coalesce(regexp_replace(message, '\(.*\)', (SELECT format('(%s)', id) FROM checked WHERE format('row %s of', ctid) = substring(message from 'row .* of'))), message);
  RETURN concat_ws(E'\n', message, detail, hint);
END $$;
SELECT complaint('checked_tokens');
-- The row is named by the version that can be seen.
UPDATE checked SET note = 'newer' WHERE id = 20001;
SELECT complaint('checked_tokens');
REINDEX INDEX checked_tokens;
SELECT similarity_index_check('checked_tokens') = count(*) AS all_rows FROM checked;
-- A function has changed what it returns.
CREATE FUNCTION pieces(words text[]) RETURNS text[] IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN words || 'a'::text; END $$;
CREATE FUNCTION counts(grp int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN grp = 1; END $$;
CREATE INDEX checked_pieces ON checked USING gin (pieces(words) text_similarity_ops) WHERE counts(grp);
SELECT similarity_index_check('checked_pieces') > 1000 AS sound;
UPDATE checked SET grp = 7 WHERE id = 20001;
CREATE OR REPLACE FUNCTION counts(grp int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN grp = 7; END $$;
SELECT complaint('checked_pieces');
CREATE OR REPLACE FUNCTION counts(grp int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN false; END $$;
SELECT similarity_index_check('checked_pieces');
CREATE OR REPLACE FUNCTION counts(grp int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN grp = 1; END $$;
CREATE OR REPLACE FUNCTION pieces(words text[]) RETURNS text[] IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN words || words[1] || 'b'::text; END $$;
SELECT substring(complaint('checked_pieces') from 'The index lacks \d of the \d entries of its set.') AS detail;
CREATE OR REPLACE FUNCTION pieces(words text[]) RETURNS text[] IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN words || NULL::text; END $$;
SELECT substring(complaint('checked_pieces') from 'Its array is no set.*taken it.') AS detail;
-- Parameters.
UPDATE pg_attribute SET attoptions = '{frequent=abc}' WHERE attrelid = 'checked_tokens'::regclass;
SELECT complaint('checked_tokens');
UPDATE pg_attribute SET attoptions = '{threshold=1e9}' WHERE attrelid = 'checked_tokens'::regclass;
SELECT complaint('checked_tokens');
UPDATE pg_attribute SET attoptions = '{threshold=0.1}' WHERE attrelid = 'checked_tokens'::regclass;
SELECT substring(complaint('checked_tokens') from 'The index lacks .* of its set.') AS detail;
UPDATE pg_attribute SET attoptions = '{threshold=0.4}' WHERE attrelid = 'checked_tokens'::regclass;

-- What is not checked.
SELECT similarity_index_check('checked_pkey');
CREATE INDEX checked_big ON checked USING gin (big);
SELECT similarity_index_check('checked_big');
SELECT similarity_index_check('checked');
SELECT similarity_index_check(0);
SELECT similarity_index_check(NULL);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'checked_tokens'::regclass;
SELECT similarity_index_check('checked_tokens');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'checked_tokens'::regclass;

-- Only the owner of the table checks its index, and functions of the index have the owner's rights.
CREATE FUNCTION whose(tokens int[]) RETURNS int[] IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_user <> 'regress_checker' THEN RAISE EXCEPTION 'rights of another'; END IF;
  RETURN tokens;
END $$;
CREATE ROLE regress_checker;
GRANT CREATE ON SCHEMA public TO regress_checker;
SET ROLE regress_checker;
SELECT create_similarity_index('checked', 'tokens', 0.5);
SELECT similarity_index_check('checked_tokens');
SELECT similarity_index_check('divided_similarity_idx');
CREATE TABLE owned (tokens int[]);
INSERT INTO owned VALUES ('{1,2}');
CREATE INDEX owned_tokens ON owned USING gin (whose(tokens) int4_similarity_ops);
RESET ROLE;
SELECT similarity_index_check('owned_tokens');
DROP TABLE checked, divided, owned;
DROP FUNCTION complaint, pieces, counts, whose;
REVOKE CREATE ON SCHEMA public FROM regress_checker;
DROP ROLE regress_checker;
