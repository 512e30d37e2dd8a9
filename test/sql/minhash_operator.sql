-- The join operator by MinHash finds the promised share of the exact pairs, and no others.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA minhash_operator_test;
SET search_path = minhash_operator_test, public;
SET simjoin.explain_device = off;

-- Sets of 40 tokens. Each has a copy with up to 8 other tokens, so that similarities are 1, 39/41, ..., 32/48. All sets
-- share some of a few frequent tokens. NULLs and empty sets.
CREATE TABLE sets AS
SELECT 2 * i + copy AS id, i % 3 AS lang,
       CASE WHEN i % 50 = 49 AND copy = 0 THEN NULL WHEN i % 50 = 48 AND copy = 1 THEN '{}'
       ELSE ARRAY(SELECT CASE WHEN j <= 3 THEN (i / j) % 7 WHEN copy = 1 AND j > 40 - i % 9 THEN -1000 * i - j ELSE 1000 * i + j END
                  FROM generate_series(1, 40) j) END AS tokens
FROM generate_series(1, 2000) i, generate_series(0, 1) copy;
CREATE TABLE others AS SELECT id, lang, tokens FROM sets WHERE id % 2 = 1;
ANALYZE sets, others;

-- Runs the query exactly and by MinHash. Returns whether the rows are some of the exact ones, at least the given share
-- of them, and not all.
CREATE FUNCTION compare(query text, share numeric) RETURNS TABLE (only_exact_rows bool, enough bool, approximate bool) LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL simjoin.method = exact;
  EXECUTE 'CREATE TEMP TABLE exact_rows AS ' || query;
  SET LOCAL simjoin.method = minhash;
  EXECUTE 'CREATE TEMP TABLE found_rows AS ' || query;
  RETURN QUERY SELECT NOT EXISTS (TABLE found_rows EXCEPT ALL TABLE exact_rows),
    (SELECT count(*) FROM found_rows) >= share * (SELECT count(*) FROM exact_rows),
    (SELECT count(*) FROM found_rows) < (SELECT count(*) FROM exact_rows);
  DROP TABLE exact_rows, found_rows;
  SET LOCAL simjoin.method = exact;
END $$;

-- At least the target recall, less two points for chance.
SELECT measure, threshold, c.* FROM (VALUES ('jaccard', 0.7), ('jaccard', 0.8), ('jaccard', 0.9), ('dice', 0.82), ('cosine', 0.82)) m (measure, threshold),
     LATERAL compare(format('SELECT a.id AS a, b.id AS b, %1$s_similarity(a.tokens, b.tokens) FROM sets a JOIN sets b
                             ON a.id < b.id AND %1$s_similarity(a.tokens, b.tokens) >= %2$s', measure, threshold), 0.93) c;
SET simjoin.target_recall = 0.8;
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7', 0.78);
RESET simjoin.target_recall;
SELECT type, c.* FROM unnest('{bigint[],text[]}'::text[]) type,
     LATERAL compare(format('SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND a.tokens::%1$s <%%> b.tokens::%1$s <= 0.3', type), 0.93) c;
SELECT * FROM compare('SELECT a.id AS a, b.id AS b, b.lang FROM sets a JOIN others b ON a.id <> b.id AND jaccard_similarity(b.tokens, a.tokens) > 0.7', 0.93);
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM sets a JOIN others b ON a.lang = b.lang AND a.id <> b.id AND a.tokens ~= b.tokens', 0.93);
SELECT * FROM compare('SELECT id FROM sets a WHERE EXISTS (SELECT FROM others b WHERE a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7)', 0.93);
SELECT * FROM compare('SELECT v.t, p.* FROM (VALUES (0.7), (0.9), (0), (NULL)) v (t), LATERAL (SELECT a.id AS a, b.id AS b FROM others a
                       JOIN sets b ON a.id < 300 AND b.id < 300 AND a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= v.t OFFSET 0) p', 0.93);

-- Bands of one row, one per permutation, find all of these pairs.
SET simjoin.target_recall = 1;
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7', 1);
RESET simjoin.target_recall;
-- Outer joins and NOT EXISTS are exact, because rows without a partner must be exact. So are measures without a bound of Jaccard.
SELECT join_type, c.* FROM unnest('{LEFT,RIGHT,FULL}'::text[]) join_type,
     LATERAL compare(format('SELECT a.id AS a, b.id AS b FROM sets a %s JOIN others b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7', join_type), 1) c;
SELECT * FROM compare('SELECT id FROM sets a WHERE NOT EXISTS (SELECT FROM others b WHERE a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7)', 1);
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND overlap_count(a.tokens, b.tokens) >= 33', 1);
-- Functions are exact whatever the method, and so is a nested loop.
SELECT * FROM compare('SELECT * FROM similarity_self_join(''SELECT id, tokens FROM sets'', 0.7)', 1);
SET simjoin.enable_join = off;
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7 WHERE a.id < 300 AND b.id < 300', 1);
RESET simjoin.enable_join;

-- The seed decides which pairs are missed. The same seed misses the same pairs.
SET simjoin.method = minhash;
CREATE TABLE found AS SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SET simjoin.cpu_threads = 1;
SELECT count(*) FROM (SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7
                      EXCEPT ALL TABLE found) d;
RESET simjoin.cpu_threads;
SET simjoin.minhash_seed = -2;
SELECT count(*) > 0 AS others FROM (SELECT a.id AS a, b.id AS b FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7
                                    EXCEPT ALL TABLE found) d;
RESET simjoin.minhash_seed;

-- A LIMIT and a closed cursor end the join early.
SELECT count(*) FROM (SELECT FROM sets a JOIN sets b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7 LIMIT 100) l;
BEGIN;
DECLARE c CURSOR FOR SELECT 'a pair' AS found FROM sets a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7;
FETCH 2 FROM c;
CLOSE c;
COMMIT;

-- The output of EXPLAIN.
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
CREATE FUNCTION lines(query text, what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ what THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
-- Returns what EXPLAIN ANALYZE shows, the same from every version of PostgreSQL.
CREATE FUNCTION analyzed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    RETURN NEXT regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1');
  END LOOP;
END $$;
SELECT clause, lines('SELECT FROM sets a JOIN sets b ON ' || clause, 'Method|MinHash|Band|Recall')
FROM unnest(ARRAY['a.tokens ~= b.tokens', 'dice_similarity(a.tokens, b.tokens) > 0.9', 'cosine_similarity(a.tokens, b.tokens) >= 0.9',
                  'a.tokens <%> b.tokens < 0.1', 'overlap_count(a.tokens, b.tokens) >= 5', 'jaccard_similarity(a.tokens, b.tokens) >= 1.5',
                  'jaccard_similarity(a.tokens, b.tokens) >= 1', 'jaccard_similarity(a.tokens, b.tokens) >= (SELECT 0.7::float8)']) clause;
SELECT lines('SELECT FROM sets a LEFT JOIN others b ON a.tokens ~= b.tokens', 'Method|MinHash|Band|Recall');
SET simjoin.minhash_permutations = 20;
SELECT lines('SELECT FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.1', 'Method|MinHash|Band|Recall');
RESET simjoin.minhash_permutations;
SELECT analyzed('SELECT a.id, b.id FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 1 WHERE a.id < 300 AND b.id < 300');
SET simjoin.method = exact;
SELECT lines('SELECT FROM sets a LEFT JOIN others b ON a.tokens ~= b.tokens', 'Method|MinHash|Band|Recall');

-- Where the exact join is expected to cost less, EXPLAIN with costs says so: for small sets of rare elements, not for large sets
-- of frequent ones.
CREATE TABLE small_sets AS SELECT i AS id, ARRAY(SELECT (i * 7919 + j * j * 104729) % 5000 FROM generate_series(1, 4) j) AS tokens FROM generate_series(1, 5000) i;
CREATE TABLE large_sets AS SELECT i AS id, ARRAY(SELECT j FROM generate_series(1, 250) j WHERE hashint4(1000 * i + j) % 2 = 0) AS tokens FROM generate_series(1, 10000) i;
ANALYZE small_sets, large_sets;
CREATE FUNCTION cheaper(sets text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %1$I a JOIN %1$I b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9', sets) INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Method') || ', ' || coalesce(plan -> 0 -> 'Plan' ->> 'Cheaper Method', 'nothing');
END $$;
SET simjoin.method = minhash;
SELECT sets, cheaper(sets) FROM unnest('{small_sets,large_sets}'::text[]) sets;
SET simjoin.method = exact;
SELECT sets, cheaper(sets) FROM unnest('{small_sets,large_sets}'::text[]) sets;

-- Large buckets are chained, and reported.
SET simjoin.method = minhash;
SET simjoin.max_bucket_size = 5;
SET simjoin.minhash_permutations = 1;
CREATE TABLE many AS SELECT i AS id, CASE WHEN i <= 10 THEN ARRAY[1, 2, 3] ELSE ARRAY[i] END AS tokens FROM generate_series(1, 20) i;
SET client_min_messages = notice;
SELECT a.id, b.id FROM many a JOIN many b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5 ORDER BY 1, 2;
SELECT analyzed('SELECT a.id, b.id FROM many a JOIN many b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5');
-- Of many buckets, the five largest are reported.
CREATE TABLE copies AS SELECT copies * 100 + i AS id, ARRAY[-copies] AS tokens FROM generate_series(4, 12) copies, generate_series(1, copies) i;
SELECT count(*) FROM copies a JOIN copies b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5;
SET client_min_messages = warning;
CREATE FUNCTION facts(query text, path jsonpath) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
  RETURN QUERY SELECT jsonb_path_query(plan::jsonb, path);
END $$;
SELECT facts('SELECT FROM copies a JOIN copies b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5',
             '$[0].Plan."Largest Buckets"[*]');
-- A GPU does not pay for so few rows. Without a GPU, the reason is its absence.
SET simjoin.explain_device = on;
SELECT facts('SELECT FROM copies a JOIN copies b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5',
             '$[0].Plan ? (@.Device == "cpu" && exists (@."GPU Not Used")).Method');
RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA minhash_operator_test CASCADE;
