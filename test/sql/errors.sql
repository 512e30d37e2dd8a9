-- Wrong arguments give errors that name the function and say what to do.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;

-- NULL elements.
SELECT jaccard_similarity('{1,NULL}'::int[], '{1}');
SELECT cosine_similarity('{1}'::bigint[], '{NULL}');
SELECT dice_similarity('{a}'::text[], '{b,NULL}');
SELECT overlap_count('{1,NULL}'::int[], '{}');
SELECT '{1,NULL}'::int[] ~= '{1}';
SELECT '{1,NULL}'::int[] <%> '{1}';
SELECT weighted_jaccard_similarity('{1,NULL}'::int[], '{1,1}', '{1}', '{1}');
SELECT weighted_jaccard_similarity('{1}'::int[], '{NULL}', '{1}', '{1}');

-- More than one dimension.
SELECT jaccard_similarity('{{1,2},{3,4}}'::int[], '{1}');
SELECT overlap_count('{1}'::bigint[], '{{1}}');
SELECT '{{a}}'::text[] ~= '{a}';
SELECT weighted_jaccard_similarity('{1}'::int[], '{{1}}', '{1}', '{1}');

-- Types without an overload.
SELECT jaccard_similarity('{1}'::float8[], '{1}'::float8[]);
SELECT '{a}'::text[] ~= '{1}'::int[];

-- A text, and values without a type.
SELECT jaccard_similarity('a b'::text, 'b c'::text);
SELECT jaccard_similarity('{1,2}', '{2,3}');
SELECT cosine_similarity('{1,2}'::varchar, NULL);
SELECT dice_similarity(NULL, NULL);
SELECT '{1,2}' ~= '{2,3}';
SELECT '{1,2}' <%> '{2,3}';
SELECT sets_similar('a', 'b');
SELECT weighted_jaccard_similarity('{1,2}', '{1,1}', '{2,3}', '{1,1}');
SELECT weighted_cosine_similarity('{1,2}', '{1,1}', '{2,3}', '{1,1}');
PREPARE untyped AS SELECT overlap_count($1, $2);
EXECUTE untyped('{1,2}', '{2,3}');
DEALLOCATE untyped;
SELECT minhash('{1,2}', 64);
SELECT minhash('a b'::text);
SELECT weighted_minhash('{1,2}', '{1,1}');
PREPARE untyped AS SELECT minhash($1, 64);
EXECUTE untyped('{1,2}');
DEALLOCATE untyped;
-- A type name and a literal that is not a valid signature.
SELECT minhash('{1,2}');
-- A kind of terms, or a number of them, without a type.
SELECT * FROM tf_idf('SELECT 1, ''{a,b}''::text[]', '10');
SELECT * FROM tf_idf('SELECT 1, ''{1,2}''::int[]', '{}', 10);
SELECT cluster_stream_create('state', NULL);

-- Weights.
SELECT weighted_jaccard_similarity('{1,2}'::int[], '{1}', '{1}', '{1}');
SELECT weighted_jaccard_similarity('{1}'::int[], '{1}', '{}', '{1}');
SELECT weighted_jaccard_similarity('{1,2}'::int[], '{1,-1}', '{1}', '{1}');
SELECT weighted_jaccard_similarity('{1}'::text[], '{1}', '{1}', '{NaN}');
SELECT weighted_jaccard_similarity('{1}'::bigint[], '{Infinity}', '{1}', '{1}');
SELECT weighted_cosine_similarity('{1}'::int[], '{1}', '{}', '{1}');
SELECT weighted_cosine_similarity('{1}'::int[], '{1}', '{1,2}', '{1,-2}');

-- Shingles.
SELECT shingles('text', 0);
SELECT shingles64('text', -1);
SELECT word_shingles('text', 0);
SELECT word_shingles64('text', -2147483648);

-- Thresholds.
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', 0);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', 1.000001);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', 'NaN');
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', -3, 'overlap');
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 2, 'dice');
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 'Infinity', 'overlap');
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 1, -0.1);
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 1, 'NaN');
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 0);

SELECT similarity_query('{a}'::text[], 2);
SELECT similarity_query('{1}'::int[], -0.1, 'jaccard_distance');
SET simjoin.similarity_threshold = 2;
SELECT '{1}'::int[] ~= '{1}';
RESET simjoin.similarity_threshold;
-- No two sets, or all, satisfy a condition.
SELECT count(*) FROM (SELECT ARRAY[i] AS tokens FROM generate_series(1, 2) i) v WHERE jaccard_similarity(tokens, '{1}') >= 80;
SELECT count(*) FROM (SELECT ARRAY[i] AS tokens FROM generate_series(1, 2) i) v WHERE jaccard_similarity(tokens, '{1}') >= NULL;
SELECT count(*) FROM (SELECT ARRAY[i] AS tokens FROM generate_series(1, 2) i) v WHERE tokens <%> '{1}' <= 80;

-- Measures.
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', 0.5, 'jacard');
SELECT * FROM duplicate_groups('SELECT 1, ''a''::text', 0.5, 'shingles(3)');
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 0.5, '');
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 1, 0.5, 'Cosine');

-- Columns of the queries.
SELECT * FROM similarity_self_join('SELECT 1 AS id', 0.5);
SELECT * FROM similarity_self_join('SELECT', 0.5);
SELECT * FROM similarity_self_join('SELECT 1 AS id, ''{1}''::int[] AS tokens, 2 AS more', 0.5);
SELECT * FROM similarity_self_join('SELECT ''{1}''::int[] AS tokens, 1 AS id', 0.5);
SELECT * FROM similarity_self_join('SELECT 1::numeric AS id, ''{1}''::int[] AS tokens', 0.5);
SELECT * FROM similarity_self_join('SELECT gen_random_uuid() AS id, ''{1}''::int[] AS tokens', 0.5);
SELECT * FROM minhash_signatures('SELECT ''one'' AS name, ''{1}''::text[] AS tokens');
SELECT * FROM similarity_self_join('SELECT 1 AS id, ''{1}''::smallint[] AS tokens', 0.5);
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1 AS id, ''a b'' AS words', 0.5);
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::bigint[]', 0.5);
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::text[]', 'SELECT 1, ''{1}''::bigint[]', 1);

-- Rows of the queries.
SELECT * FROM similarity_self_join('SELECT NULL::int, ''{1}''::int[]', 0.5);
SELECT * FROM similarity_self_join('SELECT 1, ''{1,NULL}''::int[]', 0.5);
SELECT * FROM similarity_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{{1}}''::int[]', 0.5);
SELECT * FROM similarity_self_join('SELECT i % 2 + 5, ARRAY[i] FROM generate_series(1, 3) i', 0.5);

SELECT * FROM duplicate_groups('SELECT 1 AS id, ''a b''::text AS body, ''{1}''::int[] AS tokens', 0.5);
SELECT * FROM duplicate_groups('SELECT 1 AS id, ''a b''::text AS body, 2 AS more', 0.5, tokens => 'shingles(5)');
CREATE TABLE articles (id int, body text, tokens int[]);
SELECT create_similarity_index('articles', 'body', 0.8);
SELECT create_similarity_index('articles', 'id', 0.8);

-- Matches and their pairs.
SELECT * FROM best_matches('SELECT 1 AS a, 2 AS b');
SELECT * FROM best_matches('SELECT ''x''::text AS a, 2 AS b, 0.5 AS similarity');
SELECT * FROM best_matches('SELECT 1, 2, NULL::real');
SELECT * FROM best_matches('SELECT 1, 2, ''NaN''::float8');
SELECT * FROM best_matches('SELECT 1, 2, 0.5', 'hungarian');
SELECT * FROM similarity_match('SELECT 1, ARRAY[1]', 'SELECT 1, ARRAY[1]', 0.5, NULL::text, NULL::text);
SELECT * FROM similarity_match('SELECT 1, ARRAY[1]', 'SELECT 1, ARRAY[i] FROM generate_series(1, 2) i', 0.5);
SET simjoin.memory_limit = '1MB';
SELECT count(*) FROM best_matches('SELECT i, i, 0.5 FROM generate_series(1, 100000) i');
RESET simjoin.memory_limit;

-- Weights of columns, and probabilities by them.
SELECT * FROM linkage_weights('SELECT ''x'' AS name, true AS born');
SELECT * FROM linkage_weights('SELECT 0.5, true, 1 WHERE false');
SELECT * FROM linkage_weights('SELECT i % 2 = 0 AS a, i % 3 = 0 AS b FROM generate_series(1, 9) i');
SELECT * FROM linkage_weights('SELECT ''NaN''::real AS name, true, 1');
SELECT * FROM linkage_weights('SELECT 15 AS id, 0.5 AS name');
SELECT * FROM linkage_weights('SELECT 0.5 AS name, true AS born', '{"nam": [0.9]}');
SELECT count(*) FROM linkage_weights('SELECT i % 2 = 0 AS a, i % 2 = 1 AS b, i % 6 < 3 AS c FROM generate_series(0, 11) i');
SELECT match_probability('[{"weight": 1}]', true);
SELECT match_probability('[{"place": 1, "prior": 0.5, "level": 1, "at_least": 1, "weight": 1}]', true, true);
SELECT match_probability('[{"place": 1, "prior": 0.5, "level": 1, "at_least": 1, "weight": 1}]', 'x'::text);
SELECT match_probability('[{"place": 1, "prior": 0.5, "level": 1, "at_least": 1, "weight": 1}]', 'NaN'::real);
SELECT match_probability('[{"place": 1, "prior": 0.5, "level": 1, "at_least": 1, "weight": 1}]', VARIADIC '{1}'::int[]);

-- Names that are not queries.
SELECT * FROM duplicate_groups('articles', 0.8);
SELECT * FROM similarity_join('SELECT id, tokens FROM articles', 'public."articles"', 0.8);
SELECT * FROM similarity_neighbors('articles', 'TABLE articles', 1);
SELECT create_dedup_view('groups', 'articles', 0.8);
SELECT create_dedup_view('groups', 'TABLE articles', 0.8, track_changes => NULL);
SELECT create_dedup_view('groups', 'SELECT id, tokens FROM articles', 0.8, verdicts => 'SELECT 1, 2');
SELECT create_dedup_view('groups', 'SELECT id, tokens FROM articles', 0.8, verdicts => 'SELECT 1, 2; SELECT 3');
SELECT refresh_dedup_view(NULL);
SELECT drop_dedup_view(NULL);
DROP TABLE articles;

-- Merging duplicates.
CREATE TABLE merged (id int PRIMARY KEY, name text, sum int GENERATED ALWAYS AS (id + 1) STORED, number int GENERATED ALWAYS AS IDENTITY,
                     parent int REFERENCES merged, code text UNIQUE, day date);
CREATE TABLE merging (merged text REFERENCES merged (code), UNIQUE (merged));
CREATE TABLE keyless (id int);
CREATE VIEW view_of_merged AS TABLE merged;
CREATE TABLE partitioned (id int PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE partition_1 PARTITION OF partitioned FOR VALUES IN (1, 2);
CREATE TABLE of_partition (id int REFERENCES partition_1);
INSERT INTO merged (id, code) VALUES (1, 'a'), (2, 'b'), (3, NULL);
INSERT INTO merging VALUES ('a'), ('b');
SELECT merge_duplicates(NULL, 'merged');
SELECT merge_duplicates('VALUES (2, 1)', NULL);
SELECT merge_duplicates('VALUES (2, 1)', 'merged', trusted => NULL);
SELECT * FROM merge_counts('VALUES (2, 1)', 'merged', NULL);
SELECT * FROM undo_merge(to_regclass('missing'));
SELECT drop_merge_journal(NULL);
SELECT merge_duplicates('VALUES (2, 1)', 'merged', on_conflict => 'ignore');
SELECT merge_duplicates('VALUES (2, 1)', 'view_of_merged');
SELECT merge_duplicates('VALUES (2, 1)', 'pg_class');
SELECT merge_duplicates('VALUES (2, 1)', 'partition_1');
SELECT merge_duplicates('VALUES (2, 1)', 'partitioned');
SELECT merge_duplicates('VALUES (2, 1)', 'keyless');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', id => 'ids');
SELECT merge_duplicates('DELETE FROM merged', 'merged');
SELECT merge_duplicates('VALUES (2.5, 1)', 'merged');
SELECT merge_duplicates('VALUES (2, NULL::int)', 'merged');
SELECT merge_duplicates('VALUES (2, 1), (2, 3)', 'merged');
SELECT merge_duplicates('VALUES (2, 1), (3, 2)', 'merged');
SELECT merge_duplicates('VALUES (2, 7)', 'merged');
SELECT merge_duplicates('VALUES (2, 3)', 'merged');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '["name"]');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": 1}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"names": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"id": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"sum": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"number": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"parent": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"code": "max"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "newest"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "newest"}', 'names');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "max(name)), (1"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "max(name"}');
SELECT merge_counts('VALUES (2, 1)', 'merged', '{"name": "longst"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "max(nme)"}');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', '{"name": "upper(name)"}');
SELECT merge_counts('VALUES (2, 1)', 'merged', '{"day": "max(name)"}');
SELECT merge_counts('VALUES (2, 1)', 'merged');
SELECT merge_duplicates('VALUES (2, 1)', 'merged', journal => 'missing.j');
SELECT * FROM merge_preview('VALUES (2, 1)', 1);
CREATE TABLE cascading (merged text REFERENCES merging (merged) ON DELETE CASCADE);
SELECT merge_duplicates('VALUES (2, 1)', 'merged', on_conflict => 'delete');
SELECT * FROM undo_merge('merged');
CREATE TABLE changing (merged text REFERENCES merging (merged) ON UPDATE SET NULL);
SELECT merge_duplicates('VALUES (2, 1)', 'merged');
DROP TABLE changing;
CREATE TABLE computing (one int GENERATED ALWAYS AS (1) STORED REFERENCES merged);
SELECT merge_duplicates('VALUES (2, 1)', 'merged');
DROP TABLE computing;
CREATE TABLE computing (one int GENERATED ALWAYS AS IDENTITY REFERENCES merged);
SELECT merge_duplicates('VALUES (2, 1)', 'merged');
DROP TABLE computing;
CREATE TABLE keyed (id int UNIQUE, parent int PRIMARY KEY REFERENCES keyed (id));
INSERT INTO keyed VALUES (1, 1), (2, 3), (3, 2);
SELECT merge_duplicates('VALUES (2, 1)', 'keyed');
DROP TABLE keyed;
CREATE TABLE repeated (id int PRIMARY KEY);
CREATE TABLE repeating (repeated int REFERENCES repeated, one int, two int, UNIQUE (repeated, one), UNIQUE (repeated, two));
INSERT INTO repeated VALUES (1), (2), (3);
INSERT INTO repeating VALUES (1, 0, 5), (2, 7, 5), (3, 7, 9);
SELECT merge_duplicates('VALUES (2, 1), (3, 1)', 'repeated', on_conflict => 'delete');
DROP TABLE repeating, repeated;
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide (id int PRIMARY KEY, ' || string_agg('c' || i || ' bool', ', ') || ')' FROM generate_series(1, 800) i); END $$;
SELECT merge_duplicates('VALUES (2, 1)', 'wide');
DROP TABLE wide;
ALTER TABLE partition_1 ADD FOREIGN KEY (id) REFERENCES partitioned;
SELECT merge_duplicates('VALUES (2, 1)', 'partitioned');
ALTER TABLE partition_1 DROP CONSTRAINT partition_1_id_fkey;
CREATE TABLE rounded (size numeric PRIMARY KEY);
CREATE TABLE rounding (size int REFERENCES rounded);
INSERT INTO rounded VALUES (1.5), (2), (3);
INSERT INTO rounding VALUES (2);
SELECT merge_duplicates('VALUES (2.0, 1.5)', 'rounded');
CREATE FUNCTION keep_size() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.size := OLD.size; RETURN NEW; END';
CREATE TRIGGER keep_size BEFORE UPDATE ON rounding FOR EACH ROW EXECUTE FUNCTION keep_size();
SELECT merge_duplicates('VALUES (2.0, 3.0)', 'rounded');
DROP TRIGGER keep_size ON rounding;
DROP FUNCTION keep_size;
SELECT FROM merge_duplicates('VALUES (2.0, 3.0)', 'rounded', journal => 'rounded_journal');
GRANT INSERT ON rounded_journal TO PUBLIC;
SELECT * FROM undo_merge('rounded_journal');
CREATE FUNCTION other_size() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.size := 4; RETURN NEW; END';
CREATE TRIGGER other_size BEFORE INSERT ON rounded FOR EACH ROW EXECUTE FUNCTION other_size();
REVOKE INSERT ON rounded_journal FROM PUBLIC;
SELECT * FROM undo_merge('rounded_journal');
DROP TRIGGER other_size ON rounded;
CREATE FUNCTION old_size() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
CREATE TRIGGER old_size BEFORE UPDATE ON rounding FOR EACH ROW EXECUTE FUNCTION old_size();
SELECT * FROM undo_merge('rounded_journal');
CREATE TRIGGER old_size BEFORE UPDATE ON rounded_journal FOR EACH ROW EXECUTE FUNCTION old_size();
SELECT * FROM undo_merge('rounded_journal');
DROP TRIGGER old_size ON rounded_journal;
CREATE RULE elsewhere AS ON DELETE TO rounded DO INSTEAD NOTHING;
SELECT * FROM undo_merge('rounded_journal');
SELECT drop_merge_journal('rounded_journal');
DROP TABLE rounding, rounded;
DROP FUNCTION other_size, old_size;
DROP VIEW view_of_merged;
DROP TABLE cascading, merging, merged, keyless, of_partition, partitioned;

-- Texts that are not queries.
SELECT * FROM similarity_self_join('SELEC 1', 0.5);
SELECT * FROM similarity_self_join('', 0.5);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]; SELECT 2, ''{1}''::int[]', 0.5);
SELECT * FROM similarity_self_join('SET work_mem = 1000', 0.5);
SELECT * FROM similarity_self_join('EXPLAIN SELECT 1', 0.5);
CREATE TABLE written (id int, tokens int[]);
SELECT * FROM similarity_self_join('INSERT INTO written VALUES (1, ''{1}'') RETURNING *', 0.5);
SELECT * FROM similarity_self_join('SELECT id, tokens FROM no_such_table', 0.5);
SELECT * FROM similarity_self_join('SELECT 1 / (2 - i), ''{1}''::int[] FROM generate_series(1, 2) i', 0.5);

-- After an error everything still works.
SELECT count(*) FROM written;
SELECT * FROM similarity_self_join('SELECT i, ''{1}''::int[] FROM generate_series(1, 2) i', 0.5);
DROP TABLE written;

-- Settings.
SET simjoin.measure = 'hamming';
SET simjoin.algorithm = 'fastest';
SET simjoin.similarity_threshold = -0.1;
SET simjoin.similarity_threshold = 'NaN';
SET simjoin.cpu_threads = 1025;
SET simjoin.enable_join = 'perhaps';

-- Weights by rarity, explanations.
CREATE TABLE weights_of_tokens (token text, weight real);
INSERT INTO weights_of_tokens VALUES ('a', 1), ('b', 2), ('b', 3), ('c', -1);
SELECT idf_weights('{x}'::text[], 'weights_of_tokens');
SELECT idf_weights('{b}'::text[], 'weights_of_tokens');
SELECT idf_weights('{c}'::text[], 'weights_of_tokens');
SELECT idf_weights('{1}'::int[], 'weights_of_tokens');
SELECT idf_weights('{1}'::int[], 999999999);
SELECT * FROM token_weights('SELECT 1, ARRAY[1]');
SELECT create_dedup_view('by_rarity', 'SELECT 1, ARRAY[1]', 0.5, 'idf_jaccard');
SELECT * FROM group_path('VALUES (100000, 1, 0.5), (100000, 2, 0.5)', 1::smallint, 2::smallint);
SELECT * FROM group_path('SELECT 1, 2, 0.5', 'a', 'b');
SELECT * FROM weakest_links('SELECT 1, 2');
SELECT * FROM similarity_explain(repeat('a', 1048577), '', 'shingles(3)');
DROP TABLE weights_of_tokens;
