-- Rows that are marked, and refused only if they are not.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA near_duplicates_marks_test;
SET search_path = near_duplicates_marks_test, public;

CREATE TABLE notes (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED, duplicate_of int);
CREATE TRIGGER mark BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens', 0.8, 'duplicate_of');
CREATE CONSTRAINT TRIGGER no_near_duplicates AFTER INSERT OR UPDATE OF tokens, duplicate_of ON notes DEFERRABLE
FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.8, 'jaccard', 'duplicate_of');
-- Loads that have duplicates: one statement of several rows, COPY, and several statements before a check at the end.
INSERT INTO notes VALUES (1, 'Pack my box with five dozen liquor jugs, please.'), (2, 'pack  my box with five dozen LIQUOR jugs, please'),
  (3, 'Waltz, bad nymph, for quick jigs vex.');
COPY notes (id, body) FROM stdin;
4	Sphinx of black quartz, judge my vow.
5	Sphinx of black quartz, judge my vow!
6	Waltz, bad nymph, for quick jigs vex!
\.
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO notes VALUES (7, 'How vexingly quick daft zebras jump!');
INSERT INTO notes VALUES (8, 'How vexingly quick daft zebras jump?');
COMMIT;
SELECT id, body, duplicate_of FROM notes ORDER BY id;

-- What is not marked is similar to no other row that is not: not after it was stored, nor when its mark is removed.
UPDATE notes SET duplicate_of = NULL WHERE id = 2;
UPDATE notes SET body = 'Pack my box with five dozen liquor jugs, please!' WHERE id = 3;
UPDATE notes SET body = 'Pack my box with five dozen liquor jugs, please!', duplicate_of = 1 WHERE id = 3;
UPDATE notes SET duplicate_of = NULL WHERE id = 3;
UPDATE notes SET duplicate_of = 1 WHERE id = 2;
-- One row takes the place of another one, in one statement or in two, in whatever order with a check at the end.
UPDATE notes SET duplicate_of = CASE id WHEN 1 THEN 2 END WHERE id IN (1, 2);
UPDATE notes SET duplicate_of = NULL WHERE id = 1;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
UPDATE notes SET duplicate_of = NULL WHERE id = 1;
UPDATE notes SET duplicate_of = 1 WHERE id = 2;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
UPDATE notes SET duplicate_of = NULL WHERE id = 2;
UPDATE notes SET body = body WHERE id = 2;
COMMIT;
-- The original is deleted.
DELETE FROM notes WHERE id = 1;
UPDATE notes SET duplicate_of = NULL WHERE id = 2;
UPDATE notes SET duplicate_of = NULL WHERE id = 3;
SELECT id, body, duplicate_of FROM notes ORDER BY id;

-- A column of booleans, and partitions whose columns are in different orders.
CREATE TABLE flagged (id int PRIMARY KEY, s text[], dup bool) PARTITION BY RANGE (id);
CREATE TABLE flagged_low PARTITION OF flagged FOR VALUES FROM (0) TO (10);
CREATE TABLE flagged_high (dup bool, gone int, s text[], id int NOT NULL);
ALTER TABLE flagged_high DROP gone;
ALTER TABLE flagged ATTACH PARTITION flagged_high FOR VALUES FROM (10) TO (20);
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON flagged FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 2, 'overlap', 'dup');
INSERT INTO flagged VALUES (1, '{a,b,c}', false), (2, '{a,b,d}', true), (11, '{a,b,e}', true), (12, '{a}', NULL);
INSERT INTO flagged VALUES (13, '{a,b}', NULL);
INSERT INTO flagged VALUES (13, '{a,b}', false);
UPDATE flagged SET dup = NOT dup WHERE id IN (1, 11);
INSERT INTO flagged VALUES (3, '{a,b}', NULL);
UPDATE flagged SET id = 4 WHERE id = 11;
UPDATE flagged SET dup = false WHERE id = 2;
SELECT tableoid::regclass, * FROM flagged ORDER BY id;
-- The original moves to another partition.
CREATE TRIGGER mark BEFORE INSERT ON flagged FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 2, 'dup', 'overlap');
UPDATE flagged SET id = 14 WHERE id = 4;
SELECT tableoid::regclass, * FROM flagged ORDER BY id;

-- With an index.
CREATE TABLE many (id int PRIMARY KEY, s int[], dup int);
CREATE INDEX ON many USING gin (s int4_similarity_ops (threshold = 0.5));
CREATE TRIGGER mark BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 0.5, 'dup');
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON many FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.5, 'jaccard', 'dup');
INSERT INTO many SELECT i, ARRAY[i % 100, i % 100 + 1000, i % 100 + 2000, i] FROM generate_series(1, 300) i;
SELECT count(*), count(dup), count(*) FILTER (WHERE dup = id % 100) FROM many;
UPDATE many SET dup = NULL WHERE id = 207;

-- Columns that cannot hold marks.
CREATE FUNCTION try(arguments text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE message text; hint text;
BEGIN
  CREATE TABLE wrong (id int PRIMARY KEY, s int[], t text, m bool, g bool GENERATED ALWAYS AS (true) STORED);
  EXECUTE format('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(%s)', arguments);
  INSERT INTO wrong VALUES (1, '{1}');
  RAISE WARNING 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RAISE WARNING '% %
HINT:  %', SQLSTATE, message, hint;
END $$;
SELECT try($$'s', 0.5, 'm'$$);
SELECT try($$'s', 0.5, 'dice', 'z'$$);
SELECT try($$'s', 0.5, 'dice', 't'$$);
SELECT try($$'s', 0.5, 'dice', 'g'$$);
SELECT try($$'s', 0.5, 'dice', 'm', 'm'$$);

DROP SCHEMA near_duplicates_marks_test CASCADE;
