-- Thresholds that no two sets reach, or all do: a warning once a statement. ~= and similarity_query() refuse them.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE TABLE sets AS
SELECT i AS id, ARRAY[i / 2, i / 2 + 1, i / 2 + 2] AS tokens, '{1,2,3}'::real[] AS weights, 'text ' || i / 2 AS body
FROM generate_series(1, 300) i;
ANALYZE sets;
-- In a new session, whose first statement loads the library.
\c
\set SHOW_CONTEXT never
SELECT count(*) FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= NULL;
\c
\set SHOW_CONTEXT never
SELECT count(*) FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 80;
SELECT count(*) FROM sets a JOIN sets b ON a.id <> b.id AND 80 < dice_similarity(a.tokens, b.tokens) AND cosine_similarity(a.tokens, b.tokens) >= 90;
SELECT count(*) FROM sets WHERE containment(tokens, '{1,2}') > 1;
SELECT count(*) FROM sets a JOIN sets b ON jaccard_similarity(a.body, b.body, 'shingles(5)') >= 0.8 * 100;
SELECT count(*) FROM sets a JOIN sets b ON weighted_cosine_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 'NaN';
SELECT count(*) FROM sets a LEFT JOIN sets b ON overlap_coefficient(a.tokens, b.tokens) >= 1.01;
SELECT count(*) FROM sets a WHERE NOT EXISTS (SELECT FROM sets b WHERE a.id < 3 OR jaccard_similarity(a.tokens, b.tokens) >= 2);
CREATE VIEW pairs AS SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 70;
SELECT count(*) FROM pairs;
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= -0.1;
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' < 0;
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= 20;
SELECT count(*) FROM sets WHERE dice_similarity(tokens, '{1,2}') > -1;
SELECT count(*) FROM sets WHERE overlap_count(tokens, '{1,2}') >= '3e9'::float8;
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets WHERE jaccard_similarity(tokens, ''{1,2}'') >= 80', 0.5);
SELECT count(*) FROM sets a JOIN sets b ON jaro_winkler_similarity(a.body, b.body) >= 95;
SELECT count(*) FROM sets a JOIN sets b ON 95 < jaro_similarity(a.body, b.body);
SELECT count(*) FROM sets a JOIN sets b ON 1 - edit_distance(a.body, b.body)::float8 / nullif(greatest(length(a.body), length(b.body)), 0) >= 80;
SELECT count(*) FROM sets a JOIN sets b ON edit_distance(a.body, b.body)::float8 / nullif(greatest(length(a.body), length(b.body)), 0) <= 20;
-- The loop's statements belong to the statement that the client has sent.
DO $$ BEGIN FOR i IN 1 .. 3 LOOP PERFORM count(*) FROM sets WHERE jaccard_similarity(tokens, ARRAY[i]) >= 80; END LOOP; END $$;
-- The join is executed three times.
SELECT sum((SELECT count(*) FROM sets a JOIN sets b ON a.id <> c.id AND a.id < 9 AND b.id < 9 AND jaccard_similarity(a.tokens, b.tokens) >= c.id * 0 + (SELECT 80))) FROM sets c WHERE id < 4;
-- Parameters, while a plan is made for them and when a plan for all of them begins.
PREPARE alike(float8) AS SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $1;
EXECUTE alike(90);
EXECUTE alike(NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE alike(90);
EXECUTE alike(NULL);
EXECUTE alike(-1);
EXECUTE alike(0.5);
EXPLAIN (COSTS OFF, ANALYZE OFF) EXECUTE alike(90);
RESET plan_cache_mode;
SELECT count(*) FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= (SELECT 80);
-- No warning: the threshold can be reached, or no similarity is compared with it.
SELECT count(*) FROM sets WHERE overlap_count(tokens, '{1,2}') >= 2;
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= 0;
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= 1;
SELECT count(*) FROM sets WHERE jaccard_similarity(tokens, '{1,2}') >= 0;
SELECT count(*) FROM sets WHERE jaccard_similarity(tokens, '{1,2}') <= 1;
SELECT count(*) FROM sets a JOIN sets b ON a.id = b.id + 1 AND 0.5 * jaccard_similarity(a.tokens, b.tokens) + 3 * dice_similarity(a.tokens, b.tokens) >= 1.5;
SELECT count(*) FROM sets WHERE 100 * jaro_similarity(body, 'text 1') >= 95;
SELECT count(*) FROM sets WHERE 100 * (1 - edit_distance(body, 'text 1')::float8 / greatest(length(body), 6)) >= 95;
SELECT id FROM sets ORDER BY tokens <%> '{1,2}', id LIMIT 1;
-- An index is asked with the same thresholds.
SELECT create_similarity_index('sets', 'tokens', 0.5);
SET enable_seqscan = off;
PREPARE search(float8) AS SELECT count(*) FROM sets WHERE jaccard_similarity(tokens, '{1,2}') >= $1;
EXECUTE search(70);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE search(70);
EXECUTE search(70);
EXECUTE search(NULL);
EXECUTE search('NaN');
EXECUTE search(-1);
EXECUTE search(0.5);
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= (SELECT -1);
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= (SELECT 20);
SELECT count(*) FROM sets WHERE tokens <%> '{1,2}' <= (SELECT 'NaN'::float8);
SELECT count(*) FROM sets WHERE jaccard_similarity(tokens, '{1,2}') >= 80;
RESET enable_seqscan;
-- The settings of ~= may be set in either order. It is an error to use it between.
SET simjoin.similarity_threshold = 2;
SELECT count(*) FROM sets WHERE tokens ~= '{1,2}';
SELECT count(*) FROM sets a JOIN sets b ON a.tokens ~= b.tokens;
SELECT similarity_query('{1,2}'::int[]);
SET simjoin.measure = overlap;
SELECT count(*) FROM sets WHERE tokens ~= '{1,2}';
SET simjoin.measure = dice;
SELECT count(*) FROM sets WHERE tokens ~= '{1,2}';
SET simjoin.similarity_threshold = 1;
SELECT count(*) FROM sets WHERE tokens ~= '{0,1,2}';
RESET simjoin.measure;
RESET simjoin.similarity_threshold;
-- Queries as values.
SELECT similarity_query('{a}'::text[], 2);
SELECT similarity_query('{a}'::text[], -1);
SELECT similarity_query('{a}'::text[], 'NaN');
SELECT similarity_query('{a}'::text[], 1.5, 'jaccard_distance');
SELECT similarity_query('{a}'::text[], 'NaN', 'jaccard_distance');
SELECT similarity_query('{a}'::text[], 'Infinity', 'overlap');
SELECT 'jaccard >= 2: integer[] {1}'::similarity_query;
SELECT similarity_query('{a}'::text[], 0), similarity_query('{a}'::text[], 1), similarity_query('{a}'::text[], 3, 'overlap'), similarity_query('{a}'::text[], 0, 'jaccard_distance');
SELECT similarity_query_nearest('{1}'::int[]) IS NULL AS nothing_is_searched;
DROP TABLE sets CASCADE;
