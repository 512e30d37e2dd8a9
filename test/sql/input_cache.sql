-- Inputs that the session keeps while their tables are unchanged. The rows are those of the nested loop.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET simjoin.explain_device = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;
SET simjoin.input_cache = '16MB';

CREATE TABLE items (id int, tenant int, k text, tokens int[], words text[], weights real[]);
INSERT INTO items
SELECT i, i % 5, CASE WHEN i % 9 > 0 THEN 'k' || i % 3 END, tokens, tokens::text[], (SELECT array_agg(1 + t % 4) FROM unnest(tokens) t)
FROM generate_series(1, 300) i, LATERAL (SELECT CASE WHEN i % 50 = 0 THEN NULL WHEN i % 51 = 0 THEN '{}'
  ELSE ARRAY(SELECT (i / 3) * 10 + j % 9 + CASE WHEN j > 6 THEN i % 3 ELSE 0 END
    FROM generate_series(1, CASE WHEN i % 150 < 2 THEN 3000 ELSE 10 + i % 5 END) j) END AS tokens) t;
UPDATE items SET weights = '{}' WHERE tokens = '{}';
UPDATE items SET tokens = ('[0:' || cardinality(tokens) - 1 || ']=' || tokens::text)::int[] WHERE id % 60 = 7;
CREATE TABLE others AS SELECT id + 1000 AS id, tenant, k, CASE WHEN id % 2 = 0 THEN tokens || -1 ELSE tokens END AS tokens,
  words, weights FROM items WHERE id % 100 < 60;
ALTER TABLE others ALTER words SET STORAGE EXTERNAL;
UPDATE others SET weights = weights || 1::real WHERE id % 2 = 0;
VACUUM ANALYZE items, others;

-- Returns which inputs came from the cache when a query ran, and compares its rows with the nested loop's (of FULL joins: with
-- the operator's that reads its inputs through a filter).
CREATE FUNCTION cached(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  full_join boolean := query LIKE '%FULL JOIN%';
  counted text := 'SELECT count(*) || md5(coalesce(string_agg(q::text, '' '' ORDER BY q::text), '''')) FROM (%s) q';
  filtered text := regexp_replace(query, '(items|others) ([ab])\M', '(SELECT * FROM \1 WHERE tableoid > 0) \2', 'g');
  plan json;
  expected text;
  found text;
BEGIN
  PERFORM set_config('simjoin.enable_join', 'on', true), set_config('enable_nestloop', 'off', true);
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || format(counted, query) INTO plan;
  EXECUTE format(counted, query) INTO found;
  PERFORM set_config('simjoin.enable_join', full_join::text, true), set_config('enable_nestloop', (NOT full_join)::text, true);
  EXECUTE format(counted, CASE WHEN full_join THEN filtered ELSE query END) INTO expected;
  IF plan::text NOT LIKE '%SetSimilarityJoin%' THEN RETURN 'no operator'; END IF;
  IF found <> expected THEN RETURN 'other rows'; END IF;
  RETURN coalesce((SELECT string_agg(s #>> '{}', ' + ') FROM jsonb_path_query(plan::jsonb, 'strict $.**."Cached Inputs"') s), 'read')
    || CASE WHEN expected LIKE '0%' THEN ', no rows' ELSE '' END;
END $$;
-- Returns how many tables' rows the session keeps.
CREATE FUNCTION kept() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'simjoin cached rows'
$$;
CREATE FUNCTION self_join() RETURNS text LANGUAGE sql AS $$
  SELECT cached('SELECT a.id, b.id AS b FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6')
$$;

-- EXPLAIN tells. The scan of a table whose rows are kept is not executed.
SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
SET enable_nestloop = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
EXPLAIN (COSTS OFF) SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
RESET enable_nestloop;
SELECT kept();

-- What else of a table is read has rows of its own: each of these is read and then found.
CREATE TABLE queries (n int, query text);
INSERT INTO queries VALUES
  (1, 'SELECT a.id, a.k, b.k AS l FROM items a JOIN items b ON cosine_similarity(a.tokens, b.tokens) >= 0.9'),
  (2, 'SELECT a.*, b.id AS b FROM items a LEFT JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9'),
  (3, 'SELECT a.tenant, b.* FROM items a RIGHT JOIN others b ON dice_similarity(a.tokens, b.tokens) >= 0.9'),
  (4, 'SELECT a.id, b.id AS b, a.k FROM items a FULL JOIN others b ON overlap_count(a.tokens, b.tokens) >= 9 AND a.id % 5 > 0'),
  (5, 'SELECT a.id, a.weights FROM items a WHERE EXISTS (SELECT FROM others b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.95)'),
  (6, 'SELECT a.id, a.words FROM items a WHERE NOT EXISTS (SELECT FROM others b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.8)'),
  (7, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON containment(a.words, b.words) >= 0.7 AND a.k = b.k'),
  (8, 'SELECT a.id, b.id AS b, weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) FROM items a JOIN others b '
      'ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7');
SELECT n, cached(query), kept() FROM queries ORDER BY n;
SELECT n, cached(query), kept() FROM queries ORDER BY n;
-- Rows that go to a temporary file, other thresholds, and a plan that reads its inputs again and again.
SET simjoin.memory_limit = '1MB';
SELECT n, cached(query) FROM queries WHERE n IN (2, 4, 8) ORDER BY n;
RESET simjoin.memory_limit;
PREPARE reach(float8) AS SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $1;
EXECUTE reach(0.9);
EXECUTE reach(0.6);
SELECT g, (SELECT count(*) FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id + b.id > g * 500)
FROM generate_series(1, 3) g;
-- A small side, past which the other one streams.
CREATE TABLE few AS SELECT * FROM others WHERE id % 7 = 0;
VACUUM ANALYZE few;
SELECT cached('SELECT a.id, b.id AS b FROM items a JOIN few b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6') FROM generate_series(1, 2);
-- Rows stay for a cursor that reads them, also when they leave the cache.
BEGIN;
SET LOCAL enable_nestloop = off;
DECLARE pairs CURSOR FOR SELECT a.id, b.id FROM items a JOIN few b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND b.id < 1100;
FETCH 1 FROM pairs;
SET simjoin.input_cache = 0;
SELECT kept() > 0 AS still_read;
FETCH ALL FROM pairs;
CLOSE pairs;
SELECT kept();
COMMIT;
SET simjoin.input_cache = '16MB';
-- Two joins that record the same rows at the same time keep them once.
BEGIN;
SET LOCAL enable_nestloop = off;
DECLARE pairs CURSOR FOR SELECT a.id, b.id FROM items a JOIN few b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND b.id < 1100;
FETCH 1 FROM pairs;
SELECT max(a.id) FROM items a JOIN few b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND b.id < 1100;
SELECT kept();
FETCH ALL FROM pairs;
CLOSE pairs;
COMMIT;
SELECT kept();
SET simjoin.input_cache = 0;
SET simjoin.input_cache = '16MB';

-- Any change of the table ends it, until VACUUM has made all of its pages visible to all. Locks change no row.
SELECT self_join(), self_join();
SELECT count(*) FROM (SELECT FROM items FOR UPDATE) q;
SELECT self_join();
INSERT INTO items SELECT id + 2000, tenant, k, tokens, words, weights FROM items WHERE id = 7;
SELECT self_join(), self_join();
VACUUM items;
SELECT self_join(), self_join();
UPDATE items SET tokens = tokens || 5, weights = weights || 1::real WHERE id = 8;
SELECT self_join(), self_join();
VACUUM items;
SELECT self_join(), self_join();
DELETE FROM items WHERE id = 9;
SELECT self_join(), self_join();
VACUUM items;
SELECT self_join(), self_join();
-- A row that a change in between brought back is another version.
BEGIN;
DELETE FROM items;
SELECT self_join();
ROLLBACK;
SELECT self_join();
VACUUM items;
SELECT self_join(), self_join();
VACUUM (FREEZE) items;
SELECT self_join(), self_join();

-- New pages in the same transaction, which COPY FREEZE fills without telling the visibility map.
BEGIN;
CREATE TEMP TABLE copied ON COMMIT DROP AS SELECT * FROM items WHERE id < 100;
TRUNCATE items;
SELECT self_join();
\copy items (id, tokens) FROM STDIN (FREEZE)
1	{1,2,3}
2	{1,2,3}
\.
SELECT self_join(), self_join();
\copy items (id, tokens) FROM STDIN (FREEZE)
3	{1,2,3}
\.
SELECT self_join(), self_join();
ROLLBACK;
SELECT self_join();

-- Changes of its columns, with and without new pages.
ALTER TABLE items ADD extra int DEFAULT 4;
SELECT self_join(), self_join();
SELECT cached('SELECT a.extra, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6') FROM generate_series(1, 2);
ALTER TABLE items DROP extra, ADD extra int DEFAULT 5;
SELECT cached('SELECT a.extra, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6') FROM generate_series(1, 2);
ALTER TABLE items ALTER extra TYPE oid;
SELECT cached('SELECT a.extra, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6') FROM generate_series(1, 2);
ALTER TABLE items ALTER id TYPE bigint;
SELECT self_join(), self_join();
VACUUM items;
SELECT self_join(), self_join();
VACUUM FULL items;
SELECT self_join(), self_join();
VACUUM items;
SELECT self_join(), self_join();
-- Two tables that exchange their names are two tables.
BEGIN;
ALTER TABLE items RENAME TO was_items;
ALTER TABLE others RENAME TO items;
SELECT self_join(), self_join();
ROLLBACK;
SELECT self_join();

-- Only all rows of one logged table are kept, and nothing for a serializable transaction.
CREATE VIEW some_items AS SELECT * FROM items WHERE tenant < 3;
CREATE VIEW all_items AS SELECT * FROM items;
CREATE UNLOGGED TABLE unlogged_items AS SELECT * FROM items;
CREATE TEMP TABLE temporary_items AS SELECT * FROM items;
CREATE MATERIALIZED VIEW made_items AS SELECT * FROM items;
CREATE TABLE parent (LIKE items);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT * FROM items WHERE id < 100;
INSERT INTO child SELECT * FROM items WHERE id >= 100;
CREATE TABLE empty (LIKE items);
VACUUM ANALYZE unlogged_items, temporary_items, made_items, parent, child, empty;
SELECT name, cached(join_of), cached(join_of) FROM unnest('{items,all_items,made_items,ONLY parent,child,some_items,unlogged_items,temporary_items,parent,empty,items TABLESAMPLE system (100) REPEATABLE (1)}'::text[]) name,
  LATERAL (SELECT format('SELECT a.id, b.id AS b FROM (SELECT * FROM %s) a JOIN (SELECT * FROM %1$s) b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6', name)) j (join_of);
SELECT n, cached(query), cached(query) FROM (VALUES
  (1, 'SELECT a.ctid, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6'),
  (2, 'SELECT a, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6'),
  (3, 'SELECT a.tableoid, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6'),
  (4, 'SELECT a.id, b.id AS b FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(shingles(a.k), shingles(b.k)) >= 0.6'),
  (5, 'SELECT a.id, b.id AS b FROM items a JOIN items b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6 WHERE a.id < 10 AND b.id < 20')
) v (n, query) ORDER BY n;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT self_join(), self_join();
COMMIT;

-- Roles see the rows that their policies let through.
CREATE ROLE input_cache_reader;
GRANT SELECT ON items TO input_cache_reader;
CREATE POLICY few_rows ON items FOR SELECT TO input_cache_reader USING (tenant = 1);
ALTER TABLE items ENABLE ROW LEVEL SECURITY;
SELECT self_join(), self_join();
SET ROLE input_cache_reader;
SELECT count(*), max(a.tenant) FROM items a JOIN items b ON a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
RESET ROLE;
REVOKE SELECT ON items FROM input_cache_reader;
SET ROLE input_cache_reader;
SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
RESET ROLE;
ALTER TABLE items DISABLE ROW LEVEL SECURITY;
DROP POLICY few_rows ON items;
DROP ROLE input_cache_reader;

-- Rows of flawed arrays raise the error of a nested loop, again and again.
CREATE TABLE flawed AS SELECT * FROM others;
UPDATE flawed SET tokens = '{1,NULL}' WHERE id = 1001;
VACUUM ANALYZE flawed;
SELECT count(*) FROM items a JOIN flawed b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6;
SELECT count(*) FROM items a JOIN flawed b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6;
SELECT cached('SELECT a.id, b.id AS b FROM items a JOIN flawed b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6 AND b.id > 1001') FROM generate_series(1, 2);

-- The setting bounds the memory: what was asked for least recently goes first, and too large a table is not kept.
SET simjoin.input_cache = 0;
SELECT kept(), self_join(), self_join();
SET simjoin.input_cache = '64kB';
SELECT self_join(), self_join(), kept();
SET simjoin.input_cache = '16MB';
SELECT sum(length(cached(query))) > 0 AS filled, kept() > 4 AS several FROM queries;
SELECT self_join();
SELECT self_join();
-- One of two fits, and the other one goes. Then both fit.
SET simjoin.input_cache = '100kB';
SELECT kept(), self_join(), cached(query), self_join(), cached(query), kept() FROM queries WHERE n = 1;
SET simjoin.input_cache = '300kB';
SELECT cached(query), self_join(), cached(query), self_join(), kept() FROM queries WHERE n = 1;
SET simjoin.input_cache = '100kB';
SELECT kept(), self_join();
SET simjoin.input_cache = '300kB';
-- The planner takes the rows for shorter than they are.
CREATE TABLE wide_rows AS SELECT i AS id, ARRAY[i] AS tokens FROM generate_series(1, 500) i;
VACUUM ANALYZE wide_rows;
UPDATE wide_rows SET tokens = ARRAY(SELECT id / 2 + j FROM generate_series(1, 200) j);
VACUUM wide_rows;
SELECT cached('SELECT a.id, b.id AS b FROM wide_rows a JOIN wide_rows b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.99')
FROM generate_series(1, 2);
SELECT kept();
SET simjoin.input_cache = '2MB';
SELECT cached('SELECT a.id, b.id AS b FROM wide_rows a JOIN wide_rows b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.99')
FROM generate_series(1, 2);
-- So does the cap.
CREATE TABLE long_rows AS SELECT i AS id, ARRAY(SELECT i / 2 + j FROM generate_series(1, 250) j) AS tokens FROM generate_series(1, 1500) i;
VACUUM ANALYZE long_rows;
SET simjoin.input_cache = '4MB';
SELECT cached('SELECT a.id, b.id AS b FROM long_rows a JOIN long_rows b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.99'),
  kept() > 0 AS kept;
SET simjoin.max_memory = '1MB';
SELECT kept();
RESET simjoin.max_memory;
-- A table without rows takes memory, too.
CREATE TABLE emptied (LIKE items);
INSERT INTO emptied SELECT * FROM items LIMIT 5;
DELETE FROM emptied;
VACUUM (ANALYZE, TRUNCATE false) emptied;
DISCARD ALL;
SET simjoin.input_cache = '64kB';
SET enable_nestloop = off;
SELECT count(*) FROM emptied a FULL JOIN emptied b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5 AND a.id < b.id;
SELECT kept();
DISCARD ALL;
SELECT kept();

-- Rows that workers packed and those that the session packed are the same.
SET simjoin.explain_device = off;
SET simjoin.input_cache = '16MB';
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT self_join(), self_join();
SET enable_nestloop = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6;
SET max_parallel_workers_per_gather = 0;
SELECT self_join(), kept();
DELETE FROM items WHERE id = 10;
VACUUM items;
SELECT self_join();
SET max_parallel_workers_per_gather = 2;
SELECT self_join(), kept();
SELECT n, cached(query) FROM queries ORDER BY n;
SELECT n, cached(query) FROM queries ORDER BY n;

DROP TABLE items, others, queries, few, parent, child, empty, emptied, flawed, wide_rows, unlogged_items CASCADE;
DROP FUNCTION self_join, cached, kept;
