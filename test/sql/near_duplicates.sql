-- Triggers that keep near-duplicates out of a table.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA near_duplicates_test;
GRANT USAGE ON SCHEMA near_duplicates_test TO PUBLIC;
SET search_path = near_duplicates_test, public;

-- Rows that are refused.
CREATE TABLE notes (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED);
CREATE CONSTRAINT TRIGGER no_near_duplicates AFTER INSERT OR UPDATE OF tokens ON notes
FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.8);
INSERT INTO notes VALUES (1, 'The quick brown fox jumps over the lazy dog near the river bank.'), (2, 'Sphinx of black quartz, judge my vow.');
INSERT INTO notes VALUES (3, 'The quick brown fox jumps over the lazy dog near a river bank.');
-- Of the same statement, and of the same transaction.
INSERT INTO notes VALUES (3, 'Pack my box with five dozen liquor jugs, please.'), (4, 'pack  my box with five dozen LIQUOR jugs, please');
BEGIN;
INSERT INTO notes VALUES (3, 'Pack my box with five dozen liquor jugs, please.');
INSERT INTO notes VALUES (4, 'pack  my box with five dozen LIQUOR jugs, please');
ROLLBACK;
BEGIN;
DELETE FROM notes WHERE id = 2;
INSERT INTO notes VALUES (3, 'Sphinx of black quartz: judge my vow!');
COMMIT;
-- Updates: a row is not compared with itself, and not at all where its set stays as it is.
UPDATE notes SET body = body || '..';
UPDATE notes SET body = 'The quick brown fox jumps over the lazy dog near the river bank.' WHERE id = 3;
UPDATE notes SET id = id + 10;
INSERT INTO notes SELECT id + 10, body FROM notes;
ALTER TABLE notes DISABLE TRIGGER no_near_duplicates;
INSERT INTO notes SELECT id + 10, body FROM notes;
ALTER TABLE notes ENABLE TRIGGER no_near_duplicates;
UPDATE notes SET body = body WHERE id = 21;
UPDATE notes SET body = body || '.' WHERE id = 21;
DELETE FROM notes WHERE id > 20;
-- Rows of COPY, and of ON CONFLICT.
COPY notes (id, body) FROM stdin;
3	Pack my box with five dozen liquor jugs, please.
4	pack  my box with five dozen LIQUOR jugs, please
\.
INSERT INTO notes VALUES (11, 'Sphinx of black quartz: judge my vow!..') ON CONFLICT DO NOTHING;
INSERT INTO notes VALUES (11, 'Sphinx of black quartz: judge my vow!..') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body;
SELECT id, body FROM notes ORDER BY id;
-- What clients get to know.
DO $$
DECLARE state text; relation text; violated text;
BEGIN
  INSERT INTO notes VALUES (3, 'Sphinx of black quartz: judge my vow!');
EXCEPTION WHEN exclusion_violation THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, relation = TABLE_NAME, violated = CONSTRAINT_NAME;
  RAISE WARNING '% % %', state, relation, violated;
END $$;

-- Rows that come by replication are checked by triggers that are enabled for them.
SET session_replication_role = replica;
INSERT INTO notes VALUES (20, 'Sphinx of black quartz: judge my vow!..');
DELETE FROM notes WHERE id = 20;
ALTER TABLE notes ENABLE ALWAYS TRIGGER no_near_duplicates;
INSERT INTO notes VALUES (20, 'Sphinx of black quartz: judge my vow!..');
RESET session_replication_role;

-- Rows that take each other's sets. A row of the same command is like its new version.
CREATE TABLE swapped (id int, s int[]);
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT OR UPDATE ON swapped FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.5);
INSERT INTO swapped VALUES (1, '{1,2,3}'), (2, '{11,12,13}'), (3, '{21,22,23}');
UPDATE swapped SET s = ARRAY[(id % 3) * 10 + 1, (id % 3) * 10 + 2];
BEGIN;
DELETE FROM swapped WHERE id = 3;
UPDATE swapped SET s = s || 4, id = 3 WHERE id = 2;
UPDATE swapped SET s = '{1,2}' WHERE id = 1;
COMMIT;
SELECT * FROM swapped ORDER BY id;

-- Of a row that is gone, VACUUM can have removed the set already, and not the rest.
CREATE TABLE large (s int[]);
ALTER TABLE large ALTER s SET STORAGE external;
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT ON large FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.9);
INSERT INTO large SELECT array_agg(i) FROM generate_series(1, 3000) i;
INSERT INTO large SELECT array_agg(i) FROM generate_series(1, 3001) i;
DELETE FROM large;
SELECT format('VACUUM %s', reltoastrelid::regclass) AS vacuum FROM pg_class WHERE oid = 'large'::regclass \gset
:vacuum;
INSERT INTO large SELECT array_agg(i) FROM generate_series(1, 3001) i;

-- Types, measures, and pairs exactly on the threshold.
CREATE DOMAIN words AS text[];
CREATE TABLE baskets (id int, few int[], many bigint[], named words);
CREATE CONSTRAINT TRIGGER few AFTER INSERT ON baskets FOR EACH ROW EXECUTE FUNCTION refuse_similar('few', 0.75);
CREATE CONSTRAINT TRIGGER many AFTER INSERT ON baskets FOR EACH ROW EXECUTE FUNCTION refuse_similar('many', 2, 'overlap');
CREATE CONSTRAINT TRIGGER named AFTER INSERT ON baskets FOR EACH ROW EXECUTE FUNCTION refuse_similar('named', '0.8', 'dice');
INSERT INTO baskets VALUES (1, '{1,2,3,4}', '{1,2,3,4}', '{a,b,c}');
INSERT INTO baskets (few) VALUES ('{4,3,2,2}');
INSERT INTO baskets (few) VALUES ('{4,3,2,5}');
INSERT INTO baskets (many) VALUES ('{4,4,5}');
INSERT INTO baskets (many) VALUES ('{9,4,8,1}');
INSERT INTO baskets (named) VALUES ('{c,d,a,b}');
INSERT INTO baskets (named) VALUES ('{c,b}');
INSERT INTO baskets (named) VALUES ('{c,d,a}');
-- NULL and empty sets are similar to none. Sets that are none are errors, but not where they are stored already.
INSERT INTO baskets SELECT i FROM generate_series(10, 12) i;
INSERT INTO baskets SELECT i, '{}', '{}', '{}' FROM generate_series(10, 12) i;
INSERT INTO baskets (few) VALUES ('{1,NULL}');
INSERT INTO baskets (few) VALUES ('{{1,2},{3,4}}');
ALTER TABLE baskets DISABLE TRIGGER few;
INSERT INTO baskets (few) VALUES ('{7,8,NULL}'), ('{{7},{8}}');
ALTER TABLE baskets ENABLE TRIGGER few;
INSERT INTO baskets (few) VALUES ('{7,8,9}');
SELECT count(*) FROM baskets;

-- Checks that wait for the end of the transaction look at the rows as they are then.
CREATE TABLE deferred (id int PRIMARY KEY, s int[], note text);
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT OR UPDATE OF s ON deferred DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.5, 'cosine');
BEGIN;
INSERT INTO deferred VALUES (1, '{1,2}'), (2, '{1,2}'), (3, '{1,2}'), (4, '{1,2}');
UPDATE deferred SET s = ARRAY[id * 10] WHERE id IN (2, 3);
UPDATE deferred SET note = 'unlike the others';
DELETE FROM deferred WHERE id = 4;
COMMIT;
SELECT * FROM deferred ORDER BY id;
BEGIN;
UPDATE deferred SET s = '{1,2,3}' WHERE id = 2;
UPDATE deferred SET note = 'like another one' WHERE id = 2;
COMMIT;
BEGIN;
UPDATE deferred SET s = ARRAY[(SELECT s[1] FROM deferred d WHERE d.id = 5 - deferred.id)] WHERE id > 1;
SET CONSTRAINTS dissimilar IMMEDIATE;
SAVEPOINT s;
INSERT INTO deferred VALUES (5, '{1,2}');
ROLLBACK TO s;
UPDATE deferred SET s = '{40}' WHERE id = 3;
COMMIT;
SELECT * FROM deferred ORDER BY id;

-- Rows that are left out.
CREATE TABLE articles (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED);
CREATE TRIGGER only_new BEFORE INSERT OR UPDATE OF body ON articles FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.8);
INSERT INTO articles SELECT * FROM (VALUES (1, 'Pack my box with five dozen liquor jugs, please.'),
  (2, 'pack  my box with five dozen LIQUOR jugs, please'), (3, 'Waltz, bad nymph, for quick jigs vex.')) v RETURNING id;
COPY articles (id, body) FROM stdin;
4	Waltz, bad nymph, for quick jigs vex!
5	Sphinx of black quartz, judge my vow.
6	Sphinx of black quartz, judge my vow!
\.
-- PostgreSQL 14 has no MERGE.
CREATE TABLE incoming AS SELECT id, body || '...' AS body FROM articles UNION ALL VALUES (7, 'How vexingly quick daft zebras jump!');
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 150000 THEN
    EXECUTE 'MERGE INTO articles a USING incoming i ON a.id = i.id + 100 WHEN NOT MATCHED THEN INSERT (id, body) VALUES (i.id, i.body)';
  ELSE
    INSERT INTO articles SELECT * FROM incoming;
  END IF;
END $$;
INSERT INTO articles VALUES (8, 'Sphinx of black quartz, judge my vow?') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body RETURNING id;
UPDATE articles SET body = 'Sphinx of black quartz, judge my vow!!' RETURNING id;
UPDATE articles SET body = NULL WHERE id = 7;
INSERT INTO articles VALUES (9, NULL), (10, NULL), (11, ''), (12, '');
SELECT id, body FROM articles ORDER BY id;

-- Of rows that come one by one, those are kept that are similar to none before them, with and without an index, also one that
-- does not serve the threshold or the measure. The constraint refuses the others.
CREATE TABLE coming (id int PRIMARY KEY, s int[]);
INSERT INTO coming SELECT i, ARRAY(SELECT (i / 7 * 3 + j * j % 23 + CASE WHEN hashint4(i * 100 + j) % 4 = 0 THEN hashint4(i + j) % 9 ELSE 0 END) % 60
  FROM generate_series(1, 1 + i % 13) j) FROM generate_series(1, 80) i;
CREATE FUNCTION try_kept(type text, measure text, threshold float8, index text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE function text := CASE measure WHEN 'overlap' THEN 'overlap_count' ELSE measure || '_similarity' END; coming record; wanted int[];
BEGIN
  EXECUTE format('CREATE TEMP TABLE expected (id int PRIMARY KEY, s %1$s); CREATE TEMP TABLE kept (id int PRIMARY KEY, s %1$s, other int[]);
    CREATE TEMP TABLE not_refused (id int PRIMARY KEY, s %1$s)', type);
  IF index <> '' THEN
    EXECUTE format('CREATE INDEX ON kept USING gin (other, s %1$s_similarity_ops (%2$s)); CREATE INDEX ON not_refused USING gin (s %1$s_similarity_ops (%2$s)) WITH (fastupdate = off)', CASE type WHEN 'text[]' THEN 'text' WHEN 'int8[]' THEN 'int8' ELSE 'int4' END, index);
  END IF;
  EXECUTE format('CREATE TRIGGER t BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION skip_similar(''s'', %1$s, %2$L);
    CREATE TRIGGER t AFTER INSERT ON not_refused FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', %1$s, %2$L)', threshold, measure);
  EXECUTE format('INSERT INTO kept SELECT id, s::%s FROM coming ORDER BY id', type);
  FOR coming IN SELECT * FROM coming ORDER BY id LOOP
    EXECUTE format('INSERT INTO expected SELECT $1, $2::%s WHERE NOT EXISTS (SELECT FROM expected WHERE %s(s, $2::%1$s) + 0 >= $3)', type, function) USING coming.id, coming.s, threshold;
    BEGIN
      EXECUTE format('INSERT INTO not_refused SELECT $1, $2::%s', type) USING coming.id, coming.s;
    EXCEPTION WHEN exclusion_violation THEN
    END;
  END LOOP;
  wanted := ARRAY(SELECT id FROM expected ORDER BY id);
  IF cardinality(wanted) NOT BETWEEN 5 AND 75 OR wanted <> ARRAY(SELECT id FROM kept ORDER BY id)
    OR wanted <> ARRAY(SELECT id FROM not_refused ORDER BY id) THEN
    RAISE WARNING '% % % %: %', type, measure, threshold, index, wanted;
  END IF;
  DROP TABLE expected, kept, not_refused;
END $$;
SELECT count(try_kept(type, measure, threshold::float8, index)::text)
FROM unnest('{int4[],int8[],text[]}'::text[]) type, (VALUES ('jaccard', 0.8), ('jaccard', 0.5), ('dice', 0.75), ('cosine', 0.7), ('overlap', 4)) m (measure, threshold),
  (VALUES (''), ('threshold = 0.5'), ('threshold = 0.7'), ('threshold = 3, measure = overlap')) i (index);

-- Rows that are marked, by the key of the most similar row: of several, of the one with the smallest key.
CREATE TABLE marked (id text COLLATE "C" PRIMARY KEY, s int[], duplicate_of text);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE OF s ON marked FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 0.5, 'duplicate_of');
INSERT INTO marked VALUES ('b', '{1,2,3,4}', NULL), ('a', '{1,2,5,6}', NULL), ('x', '{7}', 'mine'), ('y', NULL, 'mine') RETURNING *;
INSERT INTO marked VALUES ('c', '{1,2}'), ('d', '{1,2,3,5,6}'), ('e', '{4,1,2,2,3}') RETURNING *;
UPDATE marked SET s = '{7,8}' WHERE id = 'e' RETURNING *;
UPDATE marked SET s = '{9}' WHERE id = 'e' RETURNING *;
UPDATE marked SET duplicate_of = 'mine', s = s WHERE id = 'e' RETURNING *;
ALTER TABLE marked ADD is_duplicate bool;
CREATE TRIGGER mark_too BEFORE INSERT ON marked FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 2, 'is_duplicate', 'overlap');
INSERT INTO marked VALUES ('f', '{1,2}', NULL, NULL), ('g', '{1,100}', NULL, NULL), ('h', NULL, NULL, true) RETURNING *;
-- What is not marked is then not similar to another row.
CREATE CONSTRAINT TRIGGER unmarked AFTER INSERT ON marked FOR EACH ROW WHEN (NEW.duplicate_of IS NULL) EXECUTE FUNCTION refuse_similar('s', 0.5);
INSERT INTO marked VALUES ('i', '{1,2,3}'), ('j', '{200}');
ALTER TABLE marked DISABLE TRIGGER mark;
INSERT INTO marked VALUES ('k', '{1,2,3}');
INSERT INTO marked VALUES ('k', '{1,2,3}', 'a');

-- Partitions: all rows of the table on which the trigger was made count.
CREATE TABLE parted (id int PRIMARY KEY, s int[]) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_high (gone int, s int[], id int NOT NULL);
ALTER TABLE parted_high DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES FROM (10) TO (30);
CREATE TABLE parted_more PARTITION OF parted FOR VALUES FROM (30) TO (50) PARTITION BY RANGE (id);
CREATE TABLE parted_more_low PARTITION OF parted_more FOR VALUES FROM (30) TO (40);
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.7);
CREATE TABLE parted_more_high PARTITION OF parted_more FOR VALUES FROM (40) TO (50);
INSERT INTO parted VALUES (1, '{1,2}'), (11, '{1,2,3}'), (31, '{3,4}'), (41, '{5,6}');
INSERT INTO parted VALUES (12, '{1,2}');
INSERT INTO parted_low VALUES (2, '{5,6}');
INSERT INTO parted_more_high VALUES (42, '{1,2,3}');
UPDATE parted SET s = '{3,4}' WHERE id = 11;
UPDATE parted SET id = 45 WHERE id = 1;
UPDATE parted SET id = 1, s = '{1,2,3}' WHERE id = 45;
SELECT tableoid::regclass, * FROM parted ORDER BY id;
DROP TRIGGER dissimilar ON parted;
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT OR UPDATE ON parted_more FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.7);
INSERT INTO parted VALUES (2, '{1,2}'), (32, '{7,8}');
INSERT INTO parted VALUES (3, '{7,8}');
INSERT INTO parted VALUES (46, '{7,8}');
CREATE FOREIGN DATA WRAPPER regress_nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER regress_nowhere;
ALTER TABLE parted_more DETACH PARTITION parted_more_high;
CREATE FOREIGN TABLE parted_far (id int NOT NULL, s int[]) SERVER nowhere;
DROP TRIGGER dissimilar ON parted_more;
ALTER TABLE parted DROP CONSTRAINT parted_pkey;
ALTER TABLE parted_more ATTACH PARTITION parted_far FOR VALUES FROM (40) TO (50);
CREATE TRIGGER skip BEFORE INSERT ON parted_more FOR EACH ROW EXECUTE FUNCTION skip_similar('s', 0.7);
INSERT INTO parted VALUES (33, '{70}');
DROP FOREIGN DATA WRAPPER regress_nowhere CASCADE;
-- Partitions with primary keys of their own, or without one.
CREATE TABLE keyed (id int, name text, s int[], duplicate_of int) PARTITION BY RANGE (id);
CREATE TABLE keyed_by_id PARTITION OF keyed (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (10);
CREATE TABLE keyed_by_name PARTITION OF keyed (PRIMARY KEY (name)) FOR VALUES FROM (10) TO (20);
CREATE TABLE keyless PARTITION OF keyed FOR VALUES FROM (20) TO (30);
CREATE TRIGGER mark BEFORE INSERT ON keyed FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 0.5, 'duplicate_of');
INSERT INTO keyed VALUES (1, 'a', '{1,2}'), (2, 'b', '{2,1}');
INSERT INTO keyed VALUES (10, 'x', '{1}');
INSERT INTO keyed VALUES (20, 'x', '{1}');
ALTER TABLE keyed DISABLE TRIGGER mark;
INSERT INTO keyed VALUES (10, 'x', '{3,4}'), (11, 'y', '{5,6}'), (20, NULL, '{5,6}'), (21, NULL, '{7,8}'), (22, NULL, '{5,6}'), (12, 'z', '{1,2}');
ALTER TABLE keyed ENABLE TRIGGER mark;
INSERT INTO keyed VALUES (3, 'c', '{1,2}') RETURNING *;
INSERT INTO keyed VALUES (4, 'd', '{3,4}');
INSERT INTO keyed VALUES (4, 'd', '{5,6}');
INSERT INTO keyed VALUES (4, 'd', '{7,8}');
-- Rows of tables that inherit do not count.
CREATE TABLE parent (s int[]);
CREATE TABLE child () INHERITS (parent);
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT ON parent FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.7);
INSERT INTO child VALUES ('{1}'), ('{1}');
INSERT INTO parent VALUES ('{1}'), ('{2}');
INSERT INTO parent VALUES ('{1}');

-- Who may write to a table need not be allowed to read it, and does not get to read it.
CREATE ROLE regress_simjoin_writer;
CREATE TABLE secrets (id int PRIMARY KEY, s int[], owner text);
CREATE CONSTRAINT TRIGGER dissimilar AFTER INSERT ON secrets FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.5);
INSERT INTO secrets VALUES (1, '{1,2,3}', 'postgres');
GRANT INSERT ON secrets TO regress_simjoin_writer;
SET ROLE regress_simjoin_writer;
INSERT INTO secrets VALUES (2, '{1,2}');
RESET ROLE;
GRANT SELECT (id) ON secrets TO regress_simjoin_writer;
SET ROLE regress_simjoin_writer;
INSERT INTO secrets VALUES (2, '{1,2}');
RESET ROLE;
ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secrets USING (owner = current_user) WITH CHECK (true);
SET ROLE regress_simjoin_writer;
INSERT INTO secrets VALUES (2, '{1,2}');
RESET ROLE;
ALTER TABLE secrets DROP CONSTRAINT secrets_pkey;
SET ROLE regress_simjoin_writer;
INSERT INTO secrets VALUES (2, '{1,2}');
RESET ROLE;
INSERT INTO secrets VALUES (2, '{1,2}');
DROP TABLE secrets;
DROP ROLE regress_simjoin_writer;

-- CREATE TRIGGER says at once what is wrong, and where no index serves the trigger.
SET client_min_messages = notice;
CREATE TABLE early (id int PRIMARY KEY, tokens int[], "Wörter" text[], marked boolean);
CREATE CONSTRAINT TRIGGER misspelt AFTER INSERT ON early FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokns', 0.8);
CREATE TRIGGER percent BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 80);
CREATE TRIGGER half BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens', 0.8, 'mark');
CREATE TRIGGER arguments BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens');
CREATE TRIGGER unindexed BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION skip_similar('Wörter', 0.8, 'dice');
SELECT create_similarity_index('near_duplicates_test.early', '"Wörter"', 0.8, 'dice'), create_similarity_index('early', 'tokens', 0.8);
CREATE TRIGGER indexed BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION skip_similar('Wörter', 0.8, 'dice');
CREATE TRIGGER higher BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens', 0.9, 'marked');
CREATE TRIGGER lower BEFORE INSERT ON early FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.6);
CREATE TRIGGER other BEFORE UPDATE ON early FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger('tokns', 80);
CREATE TABLE early_parts (id int, tokens int[]) PARTITION BY RANGE (id);
CREATE TRIGGER parted BEFORE INSERT ON early_parts FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.6);
CREATE TRIGGER misspelt BEFORE INSERT ON early_parts FOR EACH ROW EXECUTE FUNCTION skip_similar('tokns', 0.6);
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('early'::regclass, 'early_parts'::regclass);
SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'early'::regclass;
DROP TABLE early, early_parts;
SET client_min_messages = warning;

-- Triggers that are made wrongly say so when they are first called, too.
CREATE TEMP TABLE wrong (id int, s int[], t text, f float8[], m bool, g bool GENERATED ALWAYS AS (true) STORED);
CREATE FUNCTION try(definition text, change text DEFAULT 'INSERT INTO wrong VALUES (1, ''{1}'')') RETURNS void LANGUAGE plpgsql AS $$
DECLARE message text; hint text;
BEGIN
  EXECUTE definition;
  EXECUTE change;
  RAISE WARNING 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RAISE WARNING '% %
HINT:  %', SQLSTATE, message, hint;
END $$;
SELECT refuse_similar();
SELECT try('CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong EXECUTE FUNCTION refuse_similar(''s'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION skip_similar(''s'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION mark_similar(''s'', 0.5, ''m'')');
INSERT INTO wrong VALUES (1, '{1}');
SELECT try('CREATE TRIGGER t AFTER DELETE ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0.5)', 'DELETE FROM wrong');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar()');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'')');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0.5, ''dice'', ''m'', 1)');
SELECT try('CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION mark_similar(''s'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''z'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''shingles(body, 3)'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''ctid'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''t'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''f'', 0.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', ''half'')');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', '''')');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 1.5)');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', ''NaN'')');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0.5, ''jacard'')');
SELECT try('CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION mark_similar(''s'', 0.5, ''z'')');
SELECT try('CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION mark_similar(''s'', 0.5, ''t'')');
SELECT try('CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION mark_similar(''s'', 0.5, ''g'')');
SELECT try('CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION refuse_similar(''s'', 0.5)', 'ALTER TABLE wrong RENAME s TO r; INSERT INTO wrong VALUES (1)');
SELECT try('CREATE VIEW wrong_view AS SELECT * FROM wrong; CREATE TRIGGER t INSTEAD OF INSERT ON wrong_view FOR EACH ROW EXECUTE FUNCTION skip_similar(''s'', 0.5)', 'INSERT INTO wrong_view VALUES (1)');

DROP SCHEMA near_duplicates_test CASCADE;
