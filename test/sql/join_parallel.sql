-- Inputs that parallel workers read. The rows are those of the nested loop, or of the operator without workers.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET simjoin.explain_device = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;

-- Near-duplicates, NULLs, empty sets, repeated elements, arrays that are compressed or out of line, and columns of all kinds
-- of storage.
CREATE TABLE items (id int, tenant int, k text, u uuid, n name, tokens int[], wide bigint[], words text[], weights real[], body text);
INSERT INTO items
SELECT i, i % 5, CASE WHEN i % 9 > 0 THEN 'k' || i % 3 END, md5(i::text)::uuid, 'n' || i, tokens, tokens, tokens::text[],
  (SELECT array_agg(1 + t % 4) FROM unnest(tokens) t), CASE WHEN i % 40 > 0 THEN array_to_string(tokens, ' ') END
FROM generate_series(1, 300) i, LATERAL (SELECT CASE WHEN i % 50 = 0 THEN NULL WHEN i % 51 = 0 THEN '{}'
  ELSE ARRAY(SELECT (i / 3) * 10 + j % 9 + CASE WHEN j > 6 THEN i % 3 ELSE 0 END
    FROM generate_series(1, CASE WHEN i % 150 < 2 THEN 3000 ELSE 10 + i % 5 END) j) END AS tokens) t;
UPDATE items SET weights = '{}' WHERE tokens = '{}';
UPDATE items SET tokens = ('[0:' || cardinality(tokens) - 1 || ']=' || tokens::text)::int[] WHERE id % 60 = 7;
CREATE TABLE others (LIKE items);
ALTER TABLE others ALTER tokens SET STORAGE EXTERNAL;
INSERT INTO others SELECT id + 1000, tenant, k, u, n, CASE WHEN id % 2 = 0 THEN tokens || -1 ELSE tokens END, wide, words,
  CASE WHEN id % 2 = 0 THEN weights || 1::real ELSE weights END, body
FROM items WHERE id % 100 < 60;
CREATE TABLE parts (id int, tokens int[]) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, tokens FROM items;
ANALYZE items, others, parts;

EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT a.id, b.k FROM items a LEFT JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.8
WHERE a.tenant < 3;
EXPLAIN (COSTS OFF) SELECT FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(shingles(a.body), shingles(b.body)) >= 0.8;

-- Returns how many inputs of a query come from workers.
CREATE FUNCTION gathered(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
  RETURN (SELECT count(*) FROM jsonb_path_query(plan::jsonb, 'strict $.**."Custom Plan Provider" ? (@ == "RowBlocks")'));
END $$;
-- Returns whether any do, and whether the rows are those of the nested loop (for FULL joins: of the operator without workers).
CREATE FUNCTION compared(query text, OUT gathered boolean, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
  expected text;
  found text;
  full_join boolean := query LIKE '%FULL JOIN%';
  counted text := 'SELECT count(*) || md5(coalesce(string_agg(q::text, '' '' ORDER BY q::text), '''')) FROM (' || query || ') q';
BEGIN
  PERFORM set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_nestloop', (NOT full_join)::text, true),
    set_config('simjoin.enable_join', full_join::text, true);
  EXECUTE counted INTO expected;
  PERFORM set_config('max_parallel_workers_per_gather', '2', true), set_config('enable_nestloop', 'off', true),
    set_config('simjoin.enable_join', 'on', true);
  EXECUTE counted INTO found;
  gathered := gathered(query) > 0;
  same := CASE WHEN found <> expected THEN 'differs' WHEN expected LIKE '0%' THEN 'no rows' ELSE 'same rows' END;
END $$;

CREATE TABLE queries (n int, query text);
INSERT INTO queries VALUES
  (1, 'SELECT a.id, b.id AS b, jaccard_similarity(a.tokens, b.tokens) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6'),
  (2, 'SELECT a.id, a.k, b.u, b.n FROM items a JOIN items b ON cosine_similarity(a.tokens, b.tokens) >= 0.9'),
  (3, 'SELECT a.*, b.id AS b FROM items a LEFT JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9'),
  (4, 'SELECT a.id, b.* FROM items a RIGHT JOIN others b ON dice_similarity(a.tokens, b.tokens) >= 0.9'),
  (5, 'SELECT a.id, b.id AS b, a.k, b.k AS l FROM items a FULL JOIN others b ON overlap_count(a.tokens, b.tokens) >= 9 AND a.id % 5 > 0'),
  (6, 'SELECT a.id FROM items a WHERE EXISTS (SELECT FROM others b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.95)'),
  (7, 'SELECT a.* FROM items a WHERE NOT EXISTS (SELECT FROM others b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.8)'),
  (8, 'SELECT a.id FROM items a WHERE EXISTS (SELECT FROM items b WHERE a.tokens ~= b.tokens AND a.id <> b.id)'),
  (9, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(a.wide, b.wide) >= 0.7 AND a.tenant = b.tenant'),
  (10, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON containment(a.words, b.words) >= 0.7 AND a.k = b.k'),
  (11, 'SELECT a.id, b.id AS b FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.words, b.words) >= 0.7'),
  (12, 'SELECT a.id, b.id AS b, weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) FROM items a JOIN others b '
       'ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7'),
  (13, 'SELECT a.id, b.id AS b FROM items a LEFT JOIN items b ON weighted_cosine_similarity(a.words, a.weights, b.words, b.weights) >= 0.9'),
  (14, 'SELECT a.id, b.id AS b, shingles(a.body) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(shingles(a.body), shingles(b.body)) >= 0.3'),
  (15, 'SELECT a.id, b.body FROM items a JOIN others b ON jaccard_similarity(string_to_array(a.body, '' ''), string_to_array(b.body, '' '')) >= 0.7'),
  (16, 'SELECT a, b.ctid, b.tableoid::regclass FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9'),
  (17, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5 WHERE a.k IS NULL AND b.id % 3 = 0'),
  (18, 'SELECT a.id, b.id AS b FROM (items a JOIN others c ON a.id + 1000 = c.id) JOIN items b ON jaccard_similarity(c.tokens, b.tokens) >= 0.9'),
  (19, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 OR jaccard_similarity(a.words, b.words) >= 0.9'),
  (20, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= (SELECT 0.9)'),
  (21, 'SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 WHERE a.id > (SELECT min(id) + 10 FROM items)'),
  (22, 'SELECT a.id, b.id AS b, a.tableoid::regclass FROM parts a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9');
SELECT n, c.* FROM queries, compared(query) c ORDER BY n;

-- Rows and sets that go to temporary files, no worker to be had, workers alone.
SET simjoin.memory_limit = '1MB';
SELECT n, c.* FROM queries, compared(query) c WHERE n IN (2, 3, 12, 16) ORDER BY n;
RESET simjoin.memory_limit;
SET max_parallel_workers = 0;
SELECT n, c.* FROM queries, compared(query) c WHERE n IN (1, 3, 5, 14) ORDER BY n;
RESET max_parallel_workers;
SET parallel_leader_participation = off;
SELECT n, c.* FROM queries, compared(query) c WHERE n IN (1, 3, 5, 14) ORDER BY n;
RESET parallel_leader_participation;
SET simjoin.algorithm = ppjoin;
SELECT n, c.* FROM queries, compared(query) c WHERE n IN (1, 3, 7, 9) ORDER BY n;
RESET simjoin.algorithm;
SET enable_nestloop = off;

-- Rows whose other columns are passed by value: of every length, with NULLs, on either side of the set, in the table's order and in
-- another one, in memory and for the most part in a temporary file. Some sets are NULL, empty, or too large for a block.
CREATE TABLE narrow (flag bool, letter "char", small int2, tokens int[], id int, big bigint, part float8, wide bigint[]);
INSERT INTO narrow SELECT nullif(i % 3, 1) = 0, chr(97 + i % 26)::"char", nullif(i % 100, 7), tokens, i, nullif(i, 9) * 5000000000, i / 8.0, tokens
FROM generate_series(1, 20000) i,
  LATERAL (SELECT CASE WHEN i / 2 % 1000 > 1 THEN ARRAY[i / 2 * 4, i / 2 * 4 + 1, i / 2 * 4 + 2] WHEN i % 4 < 2 THEN '{}' END AS tokens) t;
UPDATE narrow SET tokens = ARRAY(SELECT generate_series(1, 70000)) WHERE id IN (1, 20000);
UPDATE narrow SET tokens = ARRAY(SELECT generate_series(1, 3000)) WHERE id IN (2, 19999);
ANALYZE narrow;
-- Returns the number of rows, and whether they are those of the operator without workers.
CREATE FUNCTION narrow_rows(columns text, set text, OUT gathered boolean, OUT rows text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
  query text := format('SELECT %s FROM narrow a JOIN narrow b ON a.id < b.id AND jaccard_similarity(a.%s, b.%2$s) >= 0.9', columns, set);
  counted text := 'SELECT count(*) || '' '' || md5(string_agg(q::text, '' '' ORDER BY q::text)) FROM (' || query || ') q';
  expected text;
BEGIN
  PERFORM set_config('max_parallel_workers_per_gather', '0', true);
  EXECUTE counted INTO expected;
  PERFORM set_config('max_parallel_workers_per_gather', '2', true);
  EXECUTE counted INTO rows;
  gathered := gathered(query) > 0;
  same := rows = expected;
  rows := split_part(rows, ' ', 1);
END $$;
SET enable_nestloop = off;
SELECT v.*, n.* FROM (VALUES ('a.id, b.id AS b', 'tokens'), ('a.flag, a.letter, a.small, b.id, b.big, b.part', 'tokens'), ('a.*', 'tokens'),
  ('a.id, CASE WHEN a.id IN (1, 2) THEN pg_column_size(a.tokens) END', 'tokens'), ('b.part, a.id, b.flag, a.big', 'wide'), ('b.letter, a.small', 'wide')) v (columns, set), narrow_rows(columns, set) n;
SET simjoin.memory_limit = '1MB';
SELECT v.*, n.* FROM (VALUES ('a.id, b.id AS b', 'tokens'), ('a.flag, a.letter, a.small, b.id, b.big, b.part', 'tokens')) v (columns, set),
  narrow_rows(columns, set) n;
RESET simjoin.memory_limit;
RESET enable_nestloop;
DROP FUNCTION narrow_rows;
DROP TABLE narrow;

-- A plan that reads its inputs again and again, and one that ends early.
SELECT g, (SELECT count(*) FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id + b.id > g * 500)
FROM generate_series(1, 3) g;
SELECT count(*) FROM (SELECT FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 LIMIT 7) q;
PREPARE reach(float8) AS SELECT count(*) FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $1;
EXECUTE reach(0.9);
EXECUTE reach(0.6);

-- Statements for which PostgreSQL has no workers.
SELECT gathered(query) FROM (VALUES
  (1, 'SELECT a.id FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 FOR UPDATE OF a'),
  (2, 'SELECT a.id FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id + 0 * random() > 0'),
  (3, 'UPDATE items a SET k = b.k FROM others b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.9'),
  (4, 'INSERT INTO others SELECT a.* FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9'),
  (5, 'WITH d AS (DELETE FROM items WHERE id < 0) SELECT FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9')
) v (n, query) ORDER BY n;
-- But for a new table it has.
SELECT gathered('CREATE TABLE similar_items AS SELECT a.id FROM items a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9') > 0 AS gathered;
CREATE FUNCTION unsafe_tokens(t int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN t || 1; END';
SELECT c.* FROM compared('SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(unsafe_tokens(a.tokens), b.tokens) >= 0.9') c;
CREATE FUNCTION restricted_tokens(t int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN t || 1; END';
SELECT c.* FROM compared('SELECT a.id, b.id AS b FROM items a JOIN others b ON jaccard_similarity(restricted_tokens(a.tokens), b.tokens) >= 0.9') c;
BEGIN;
DECLARE pairs CURSOR FOR SELECT a.id, b.id FROM items a JOIN items b ON a.id = b.id - 1 AND jaccard_similarity(a.tokens, b.tokens) >= 0.3 AND b.id < 12 ORDER BY 1;
FETCH 1 FROM pairs;
FETCH ALL FROM pairs;
COMMIT;

-- A row whose array is no set raises its error where a nested loop would, not in a worker.
CREATE TABLE flawed AS SELECT id, tenant, tokens, weights FROM items;
UPDATE flawed SET tokens = '{{1,2},{3,4}}' WHERE id = 100;
UPDATE flawed SET tokens = '{1,NULL}' WHERE id = 101;
UPDATE flawed SET weights = '{1}' WHERE id = 103;
ANALYZE flawed;
SELECT gathered('SELECT count(*) FROM flawed a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND b.id < 0');
SELECT count(*) FROM flawed a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND b.id < 0;
SELECT count(*) FROM flawed a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id NOT IN (100, 101);
SELECT count(*) FROM flawed a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id <> 100;
SELECT count(*) FROM flawed a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id <> 101;
SELECT count(*) FROM flawed a JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.9
  AND a.id NOT IN (100, 101);
-- An error in a worker is the statement's.
CREATE FUNCTION failing(t int[], id int) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF id = 250 THEN RAISE 'row 250'; END IF;
  RETURN t;
END $$;
\set SHOW_CONTEXT never
SELECT count(*) FROM items a JOIN others b ON jaccard_similarity(failing(a.tokens, a.id), b.tokens) >= 0.9;

-- Small tables are read without workers.
RESET ALL;
SET simjoin.explain_device = off;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM items a JOIN items b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;

DROP TABLE items, others, parts, queries, flawed;
DROP FUNCTION gathered, compared, unsafe_tokens, restricted_tokens, failing;
