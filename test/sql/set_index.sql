-- An index on sets: which queries use it, and that these find what a scan finds.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE indexed (id int PRIMARY KEY, tokens int4[], words text[], big int8[], grp int);
INSERT INTO indexed
SELECT i, ARRAY(SELECT DISTINCT (i * 7 + j * j * (1 + i % 13)) % 3000 FROM generate_series(1, 12 + i % 7) j), NULL, NULL, i % 3
FROM generate_series(1, 3000) i;
INSERT INTO indexed SELECT id + 3000, tokens[1:cardinality(tokens) - 1] || id % 7, NULL, NULL, grp FROM indexed WHERE id % 5 = 0;
INSERT INTO indexed VALUES (9001, '{}'), (9002, NULL), (9003, '{5}'), (9004, '{1,1,2,2,3,3}');
UPDATE indexed SET words = tokens::text[], big = tokens::int8[];
CREATE INDEX indexed_tokens ON indexed USING gin (tokens int4_similarity_ops (threshold = 0.5));
CREATE INDEX indexed_words ON indexed USING gin (words text_similarity_ops (measure = cosine, threshold = 0.6));
ANALYZE indexed;

-- Returns the plan of a query. The values of subqueries have the names of PostgreSQL 17 and later.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    RETURN NEXT replace(replace(line, ' (returns $0)', ''), '$0', '(InitPlan 1).col1');
  END LOOP;
END $$;
-- Returns how many rows a query gives by the index and by a scan, and how many are different.
CREATE FUNCTION compare(query text, OUT by_index bigint, OUT by_scan bigint, OUT different bigint) LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = on;
  EXECUTE format('CREATE TEMP TABLE by_index AS %s', query);
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE format('CREATE TEMP TABLE by_scan AS %s', query);
  SELECT count(*) INTO by_index FROM by_index;
  SELECT count(*) INTO by_scan FROM by_scan;
  SELECT count(*) INTO different
  FROM (SELECT * FROM by_index EXCEPT ALL SELECT * FROM by_scan) d;
  DROP TABLE by_index, by_scan;
END $$;

-- Every form of a clause.
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.8');
SELECT plan('SELECT id FROM indexed WHERE 0.8 < cosine_similarity(''{1,2,3}'', tokens)');
SELECT plan('SELECT id FROM indexed WHERE dice_similarity(tokens, ''{1,2,3}'') > 0.8::real');
SELECT plan('SELECT id FROM indexed WHERE tokens <%> ''{1,2,3}'' <= 0.2');
SELECT plan('SELECT id FROM indexed WHERE tokens ~= ''{1,2,3}''');
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, (SELECT tokens FROM indexed WHERE id = 10)) >= 0.8');
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(words, ''{a,b}'') >= 0.8');
-- The index does not have the entries that these need.
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.2');
SELECT plan('SELECT id FROM indexed WHERE overlap_count(tokens, ''{1,2,3}'') >= 2');
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, words::int[]) >= 0.8');
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, ''{1}''::int[] || (random() * 10)::int) >= 0.8');

EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM indexed WHERE jaccard_similarity(tokens, '{1,2,3}') >= 0.2;
SELECT t, m.measure, c.by_index > 0 AS found, c.by_index = c.by_scan AND c.different = 0 AS same
FROM unnest('{1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0}'::float8[]) t,
  unnest('{jaccard_similarity,cosine_similarity,dice_similarity}'::text[]) m(measure),
  compare(format('SELECT a.id AS a, b.id AS b FROM (SELECT * FROM indexed WHERE id %% 389 = 1 OR id > 9000) a, '
    'LATERAL (SELECT id FROM indexed b WHERE %s(a.tokens, b.tokens) >= %s OFFSET 0) b', m.measure, t)) c
ORDER BY 2, 1;
SELECT k, c.* FROM unnest('{1, 5, 10}'::int[]) k,
  compare(format('SELECT id FROM indexed WHERE overlap_count(tokens, ''{1,2,3,4,5,6,7,8,9,10,11,12}'') >= %s', k)) c;
SELECT c.by_index = c.by_scan AND c.different = 0 AND c.by_scan > 0 AS same
FROM unnest('{0, 0.1, 0.3, 0.5, 0.9, 1}'::float8[]) d,
  compare(format('SELECT id FROM indexed WHERE tokens <%%> (SELECT tokens FROM indexed WHERE id = 3010) <= %s', d)) c;
SELECT c.by_index > 0 AS found, c.by_index = c.by_scan AND c.different = 0 AS same
FROM compare('SELECT a.id AS a, b.id AS b FROM (SELECT * FROM indexed WHERE id % 97 = 1) a, '
  'LATERAL (SELECT id FROM indexed b WHERE jaccard_similarity(a.words, b.words) > 0.7 OFFSET 0) b') c;
-- Thresholds that are known when the query runs, among them such as the index does not serve.
PREPARE search(int4[], float8) AS SELECT count(*) FROM indexed WHERE jaccard_similarity(tokens, $1) >= $2;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) EXECUTE search('{}', 0.5);
EXECUTE search('{1,2,3}', 0.9);
EXECUTE search('{1,2,3}', 0.5);
EXECUTE search('{1,2,3}', 0.1);
EXECUTE search('{1,2,3}', 0);
EXECUTE search('{1,2,3}', -1);
EXECUTE search('{1,2,3}', 1.1);
EXECUTE search('{1,2,3}', 'NaN');
EXECUTE search('{1,2,3}', NULL);
EXECUTE search('{}', 0.5);
EXECUTE search(NULL, 0.5);
EXECUTE search('{1,NULL}', 0.5);
RESET enable_seqscan;
RESET plan_cache_mode;

-- Joins by the index: few rows against many.
SELECT plan('SELECT a.id, b.id FROM indexed a JOIN indexed b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8 WHERE a.id = 10');
SELECT plan('SELECT a.id FROM indexed a WHERE a.id < 3 AND EXISTS (SELECT FROM indexed b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.8 AND a.id <> b.id)');
SELECT plan('SELECT a.id, b.id FROM indexed a LEFT JOIN indexed b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8 AND b.id > 5 WHERE a.id < 3');

-- The nearest sets.
SELECT plan('SELECT id FROM indexed ORDER BY tokens <%> ''{1,2,3}'' LIMIT 2');
SELECT plan('SELECT id FROM indexed ORDER BY tokens <%> ''{1,2,3}'' DESC LIMIT 2');
SELECT plan('SELECT id FROM indexed ORDER BY tokens <%> ''{1,2,3}''');
SELECT k, c.by_index = c.by_scan AND c.different = 0 AS same
FROM unnest('{1, 2, 10, 4000}'::int[]) k,
  compare(format('SELECT row_number() OVER () AS n, d FROM (SELECT tokens <%%> (SELECT tokens FROM indexed WHERE id = 3010) AS d '
    'FROM indexed WHERE grp IS DISTINCT FROM 2 ORDER BY tokens <%%> (SELECT tokens FROM indexed WHERE id = 3010) LIMIT %s) x', k)) c;
SELECT c.by_index = c.by_scan AND c.different = 0 AS same
FROM compare('SELECT a.id, b.d FROM (SELECT * FROM indexed WHERE id % 97 = 1 OR id > 9000) a, '
  'LATERAL (SELECT a.tokens <%> b.tokens AS d FROM indexed b ORDER BY a.tokens <%> b.tokens OFFSET 1 LIMIT 3) b') c;
BEGIN;
DECLARE nearest SCROLL CURSOR FOR SELECT id FROM indexed ORDER BY tokens <%> (SELECT tokens FROM indexed WHERE id = 3010) LIMIT 3;
FETCH 2 FROM nearest;
FETCH BACKWARD 1 FROM nearest;
FETCH 1 FROM nearest;
ROLLBACK;

-- Indexes of expressions, of some rows, of partitions, and with the order of tokens of a table.
SELECT create_similarity_index('indexed', 'big', 0.6);
CREATE TABLE notes (id int, body text);
INSERT INTO notes SELECT i, md5(i::text) || ' ' || md5((i / 2)::text) FROM generate_series(1, 3000) i;
SELECT create_similarity_index('notes', 'shingles(body, 3)', 0.6, 'dice');
ANALYZE notes;
SELECT plan('SELECT id FROM notes WHERE dice_similarity(shingles(body, 3), (SELECT shingles(body, 3) FROM notes WHERE id = 49)) >= 0.9');
SELECT id FROM notes WHERE dice_similarity(shingles(body, 3), (SELECT shingles(body, 3) FROM notes WHERE id = 49)) >= 0.9;
CREATE INDEX indexed_some ON indexed USING gin (tokens int4_similarity_ops (threshold = 0.3)) WHERE grp = 1;
SELECT plan('SELECT id FROM indexed WHERE grp = 1 AND jaccard_similarity(tokens, ''{1,2,3}'') >= 0.3');
SELECT plan('SELECT id FROM indexed WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.3');
CREATE TABLE parted (id int, tokens int4[]) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2000);
CREATE UNLOGGED TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2000) TO (20000);
SELECT create_similarity_index('parted', 'tokens', 0.5);
INSERT INTO parted SELECT id, tokens FROM indexed;
VACUUM ANALYZE parted;
SELECT plan('SELECT id FROM parted WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.8');
SELECT c.by_index > 0 AS found, c.by_index = c.by_scan AND c.different = 0 AS same
FROM compare('SELECT a.id, b.id AS b FROM (SELECT * FROM indexed WHERE id % 97 = 1) a, '
  'LATERAL (SELECT id FROM parted b WHERE jaccard_similarity(a.tokens, b.tokens) > 0.7 OFFSET 0) b') c;
SELECT line FROM plan('SELECT id FROM parted ORDER BY tokens <%> (SELECT tokens FROM indexed WHERE id = 3010) LIMIT 2') line WHERE line ~ 'Nearest|Scan on';
-- Inserts, updates, deletes and maintenance.
DELETE FROM indexed WHERE id % 11 = 3;
UPDATE indexed SET tokens = tokens || id WHERE id % 7 = 2;
INSERT INTO indexed SELECT id + 20000, tokens FROM parted WHERE id % 3 = 1;
SELECT c.by_index > 0 AS found, c.by_index = c.by_scan AND c.different = 0 AS same
FROM compare('SELECT id FROM indexed WHERE jaccard_similarity(tokens, (SELECT tokens FROM indexed WHERE id = 20001)) >= 0.5') c;
VACUUM indexed;
REINDEX INDEX indexed_tokens;
SELECT c.by_index > 0 AS found, c.by_index = c.by_scan AND c.different = 0 AS same
FROM compare('SELECT id FROM indexed WHERE jaccard_similarity(tokens, (SELECT tokens FROM indexed WHERE id = 20001)) >= 0.5') c;

-- Queries as values.
SELECT similarity_query('{1,2}'::int[], 0.5), similarity_query('{a,"b c"}'::text[], 0.5, 'jaccard_distance');
SELECT '{1,2,3}'::int[] ~= similarity_query('{1,2,3,4}'::int[], 0.75), '{1,2,3}'::int[] ~= similarity_query('{1,2,3,4}'::int[], 0.76);
SELECT '{1,2}'::bigint[] ~= similarity_query('{1,2}'::bigint[], 0, 'jaccard_distance'), '{a}'::text[] ~= similarity_query('{b}'::text[]);
\set VERBOSITY default
SELECT '{1}'::int[] ~= similarity_query('{1}'::text[], 0.5);
-- The similarity by a query's measure, and the best matches of each query.
SELECT m AS measure, query_similarity('{1,2,3}'::int[], similarity_query('{2,3,4,5}'::int[], 0.5, m)) AS similarity, query_similarity(NULL::int[], similarity_query('{1}'::int[], 0.5, m)) AS "null"
FROM unnest(ARRAY['jaccard', 'jaccard_distance', 'cosine', 'dice', 'overlap', 'overlap_coefficient', 'containment']) m;
SELECT query_similarity('{1}'::bigint[], similarity_query('{1}'::int[], 0.5));
CREATE TABLE asked_queries AS SELECT id, similarity_query(tokens, 0.5 + id % 3 / 10.0) AS wanted FROM indexed WHERE id <= 6;
SET enable_seqscan = off;
CREATE FUNCTION plan_of_queries(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT q.id, x.* FROM asked_queries q CROSS JOIN LATERAL (SELECT id AS found FROM indexed WHERE '
    || condition || ' ORDER BY query_similarity(tokens, q.wanted) DESC, id LIMIT 2) x' LOOP
    IF line ~ 'Bitmap Index Scan|Not Used' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT plan_of_queries('tokens ~= q.wanted');
RESET enable_seqscan;
SELECT plan_of_queries('true');
SELECT count(*), count(*) FILTER (WHERE found = id AND similarity = 1) AS first FROM asked_queries q CROSS JOIN LATERAL (
  SELECT i.id AS found, query_similarity(tokens, q.wanted) AS similarity FROM indexed i WHERE tokens ~= q.wanted ORDER BY similarity DESC, i.id LIMIT 1) x;
DROP FUNCTION plan_of_queries;
DROP TABLE asked_queries;
SELECT q::text::similarity_query::text = q::text AS same
FROM (VALUES (similarity_query('{1,-2}'::int[], 0.1)), (similarity_query('{}'::bigint[], 1, 'jaccard_distance')), (similarity_query('{"a b",NULL:}'::text[], 3, 'overlap'))) v(q);
SELECT similarity_query_send(similarity_query('{1,2}'::int[], 0.5)), similarity_query_send(similarity_query('{a}'::text[], 0.5, 'jaccard_distance'));
SELECT 'x'::similarity_query;
SELECT 'jaccard >= 0.5: integer[]'::similarity_query;
SELECT 'jaccard <= 0.5: integer[] {1}'::similarity_query;
SELECT 'manhattan >= 0.5: integer[] {1}'::similarity_query;
SELECT 'jaccard >= x: integer[] {1}'::similarity_query;
SELECT 'jaccard >= 0.5: numeric[] {1}'::similarity_query;
SELECT 'jaccard >= 0.5: integer[] {a}'::similarity_query;
SELECT 'jaccard >= 0.5: integer[] {1,NULL}'::similarity_query;
SELECT similarity_query('{1}'::int[], 0.5, 'manhattan');
SELECT similarity_query('{1.5}'::numeric[], 0.5);
CREATE INDEX ON indexed USING gin (tokens int4_similarity_ops (threshold = 1.5));
CREATE INDEX ON indexed USING gin (tokens int4_similarity_ops (threshold = 0));
CREATE INDEX ON indexed USING gin (tokens int4_similarity_ops (measure = manhattan));
CREATE INDEX ON indexed USING gin (tokens int4_similarity_ops (frequent = 'many'));
INSERT INTO indexed (id, tokens) VALUES (-1, '{1,NULL}');
INSERT INTO indexed (id, tokens) VALUES (-1, '{{1,2},{3,4}}');
SELECT create_similarity_index('indexed', 'id', 0.5);
SELECT create_similarity_index('indexed', 'tokens', 2);
SELECT create_similarity_index('indexed', 'tokens || random()::int', 0.5);
SELECT similarity_index_tokens('SELECT id FROM indexed');
SELECT length(similarity_index_tokens('SELECT tokens FROM indexed')) > 100 AS long, similarity_index_tokens('SELECT tokens FROM indexed LIMIT 0');
DROP TABLE indexed, notes, parted;
DROP FUNCTION plan, compare;
