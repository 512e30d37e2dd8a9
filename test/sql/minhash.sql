-- Signatures: golden values, the type, estimates, unions, bands, and wrong arguments.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA minhash_test;
SET search_path = minhash_test, public;

-- Golden values: stored signatures depend on them, so they must never change.
SELECT minhash('{1,2,3}'::int[], 4);
SELECT minhash('{-5,1000000000000}'::bigint[], 3, -1);
SELECT minhash('{token,Grüße}'::text[], 2, 7);
SELECT weighted_minhash('{1,2,-1}'::bigint[], '{0.5,3,0.001}', 4);
SELECT weighted_minhash('{a,b}'::text[], '{1e-40,2}', 2, -9223372036854775808);
SELECT md5(minhash(ARRAY(SELECT generate_series(1, 1000)))::bytea),
       md5(weighted_minhash(ARRAY(SELECT generate_series(1, 100)), ARRAY(SELECT g::real FROM generate_series(1, 100) g))::bytea);
SELECT minhash('{1,2,3}'::int[], 4)::bytea;
SELECT minhash_truncate(minhash('{1,2,3}'::int[], 4), 3), minhash_truncate(minhash('{1,2,3}'::int[], 4), 3)::bytea;
SELECT minhash_bands(minhash('{1,2,3}'::int[], 4), 2, 2), minhash_bands(minhash('{1,2,3}'::int[], 4), 1, 3);

-- A set's order, repeated elements and integer type do not matter. A text differs from a number.
SELECT minhash('{3,1,2,2}'::int[]) = minhash('{1,2,3}'::int[]) AS order_and_repetition,
       minhash('{1,2,-3}'::int[]) = minhash('{1,2,-3}'::bigint[]) AS integers,
       minhash('{1,2,-3}'::int[], 8) = minhash('{1,2,-3}'::smallint[], 8) AS smallints,
       minhash('{1,2,3}'::int[]) = minhash('{1,2,3}'::text[]) AS texts,
       minhash('{1,2}'::int[], 5) = minhash('{1,2}'::int[], 5, 2) AS seeds,
       weighted_minhash('{3,1,3}'::int[], '{1,2,0.5}') = weighted_minhash('{1,3,4}'::bigint[], '{2,1.5,0}') AS weights,
       weighted_minhash('{3,1}'::int[], '{1,2}') = weighted_minhash('{3,1}'::smallint[], '{1,2}') AS smallint_weights;
-- Fewer permutations are the beginning of more.
SELECT left(minhash('{1,2,3}'::int[], 9)::text, 50) LIKE '%:' || split_part(minhash('{1,2,3}'::int[], 4)::text, ':', 6) || '%' AS prefix;

-- Empty sets are similar to nothing; NULL gives NULL.
SELECT minhash('{}'::int[], 4) AS empty, minhash('{}'::int[], 4)::bytea,
       minhash_similarity(minhash('{}'::int[], 4), minhash('{}'::text[], 4)) AS with_empty,
       minhash_similarity(minhash('{}'::int[], 4), minhash('{1}'::int[], 4)) AS with_another,
       minhash('{}'::int[], 4) = minhash('{}'::text[], 4) AS equal,
       minhash_bands(minhash('{}'::int[], 4), 2, 2) AS bands,
       minhash_truncate(minhash('{}'::int[], 4), 2) AS truncated,
       weighted_minhash('{1,2}'::int[], '{0,0}', 4) AS weightless;
SELECT minhash(NULL::int[]) IS NULL AS a, minhash('{1}'::int[], NULL) IS NULL AS b,
       weighted_minhash('{1}'::int[], NULL) IS NULL AS c, minhash_similarity(NULL, minhash('{1}'::int[])) IS NULL AS d;

-- Estimates, against the exact similarity: within 4 standard errors of the mean of many pairs.
CREATE TABLE pairs AS
SELECT i AS seed, ARRAY(SELECT generate_series(i * 100, i * 100 + 59)) AS l,
       ARRAY(SELECT generate_series(i * 100 + 20, i * 100 + 79)) AS r
FROM generate_series(1, 400) i;
SELECT abs(avg(minhash_similarity(minhash(l, 128, seed), minhash(r, 128, seed)) - 0.5)) < 4 * sqrt(0.25 / 128 / 400) AS unbiased,
       abs(avg(minhash_similarity(minhash_truncate(minhash(l, 128, seed), 2), minhash_truncate(minhash(r, 128, seed), 2)) - 0.5))
         < 4 * sqrt(0.625 * 0.375 / 0.75 ^ 2 / 128 / 400) AS truncated
FROM pairs;
CREATE TABLE weighted_pairs AS
SELECT i AS seed, ARRAY[1, 2, 3, 4] AS l, ARRAY[1, 2.5, 0.25, 3]::real[] AS lw, ARRAY[2, 3, 4, 5] AS r, ARRAY[1.5, 2, 3, 0.5]::real[] AS rw
FROM generate_series(1, 400) i;
SELECT bool_and(j BETWEEN 0.527 AND 0.528) AS known,
       abs(avg(minhash_similarity(weighted_minhash(l, lw, 128, seed), weighted_minhash(r, rw, 128, seed)) - j))
         < 4 * sqrt(0.25 / 128 / 400) AS unbiased
FROM weighted_pairs, weighted_jaccard_similarity(l, lw, r, rw) j;
SELECT minhash_similarity(minhash('{1,2}'::int[]), minhash('{2,1}'::int[])) AS same,
       minhash_similarity(minhash_truncate(minhash('{1,2}'::int[]), 1), minhash_truncate(minhash('{2,1}'::int[]), 1)) AS same_truncated,
       minhash_similarity(minhash('{1,2}'::int[]), minhash('{3,4}'::int[])) AS disjoint;

-- The signature of a union, also in parallel and of partial unions.
SELECT minhash_union(minhash(s)) = minhash(ARRAY[1, 2, 3, 9, 10]) AS same
FROM (VALUES ('{1,2}'::int[]), ('{2,3}'), ('{}'), (NULL), ('{10,9}')) v (s);
SELECT minhash_union(minhash(s)) IS NULL AS of_none FROM (VALUES ('{1}'::int[])) v (s) WHERE false;
SELECT minhash_union(minhash(s, 4)) AS of_empty FROM (VALUES ('{}'::int[]), ('{}')) v (s);
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT minhash_union(minhash(l)) FROM pairs;
SELECT minhash_union(minhash(l)) = (SELECT minhash(array_agg(DISTINCT e)) FROM pairs, unnest(l) e) AS same FROM pairs;
COMMIT;

-- Text and bytea forms come back as they were.
CREATE TABLE signatures (id int PRIMARY KEY, s minhash);
INSERT INTO signatures
SELECT i, minhash_truncate(minhash(ARRAY(SELECT generate_series(1, i % 20)), 1 + i * 7 % 300, i - 50), 1 + i % 32) FROM generate_series(1, 100) i
UNION ALL SELECT 100 + i, weighted_minhash(ARRAY[i, 2], ARRAY[i, 3]::real[], i) FROM generate_series(1, 20) i
UNION ALL SELECT 200, minhash('{1}'::int[], 65535);
SELECT count(*), count(DISTINCT s), bool_and(s::text::minhash = s) AS text, bool_and(s::bytea::minhash = s) AS bytea,
       max(pg_column_size(s)) FROM signatures;

-- Equality, order, hashing; joins and indexes on them.
-- The large signature is left out, because it does not fit into an index.
CREATE TABLE indexed AS SELECT * FROM signatures WHERE id < 200;
DROP TABLE signatures;
ALTER TABLE indexed RENAME TO signatures;
CREATE INDEX ON signatures (s);
CREATE INDEX ON signatures USING hash (s);
SELECT count(*) FROM signatures a JOIN signatures b ON a.s = b.s AND a.id <> b.id;
SELECT count(*) AS unordered FROM (SELECT s, lag(s) OVER (ORDER BY s) AS before FROM signatures) o WHERE NOT before < s AND before <> s;
SELECT bool_and((a.s < b.s) = (b.s > a.s) AND (a.s <= b.s) = (NOT a.s > b.s) AND (a.s >= b.s) = (NOT a.s < b.s)
                AND (a.s <> b.s) = (NOT a.s = b.s)) AS consistent
FROM signatures a, signatures b WHERE a.id % 7 = 0;
SET enable_seqscan = off;
SELECT id FROM signatures WHERE s = weighted_minhash('{7,2}'::int[], '{7,3}', 7);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
RESET enable_seqscan;
SELECT id FROM signatures WHERE s = weighted_minhash('{7,2}'::int[], '{7,3}', 7);
RESET ALL;
SET client_min_messages = warning;
SET search_path = minhash_test, public;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'minhash_ops';

-- Bands of similar sets are more often equal. Plans are those of datasketch.
SELECT threshold, bands, rows, round(recall::numeric, 4) AS recall, round(false_positive_rate::numeric, 4) AS false_positive_rate
FROM unnest(ARRAY[0.5, 0.6, 0.7, 0.8, 0.9]) threshold, minhash_band_plan(threshold);
SELECT * FROM minhash_band_plan(1, 1);
SELECT minhash_bands(minhash(l, 100), 20, 5) = minhash_bands(minhash(l, 200), 20, 5) AS same_of_more_permutations,
       minhash_bands(minhash(l, 100), 20, 5) && minhash_bands(minhash(l, 100, 2), 20, 5) AS of_another_seed,
       cardinality(minhash_bands(minhash(l, 100), 100, 1)) AS bands
FROM pairs WHERE seed = 1;
SELECT abs(avg((minhash_bands(minhash(l, 30, seed), 10, 3) && minhash_bands(minhash(r, 30, seed), 10, 3))::int) - (1 - 0.875 ^ 10))
       < 4 * sqrt(0.74 * 0.26 / 400) AS as_predicted FROM pairs;

-- Bulk signatures equal those of the scalar functions.
CREATE TABLE sets AS
SELECT i AS id, CASE WHEN i % 50 = 0 THEN NULL ELSE ARRAY(SELECT (i * j * 7919) % 1000 FROM generate_series(1, i % 40) j) END AS tokens
FROM generate_series(1, 500) i;
SELECT count(*), bool_and(signature IS NOT DISTINCT FROM minhash(tokens, 70, 5)) AS same
FROM minhash_signatures('SELECT id, tokens FROM sets', 70, 5) JOIN sets USING (id);
SELECT count(*), bool_and(signature IS NOT DISTINCT FROM minhash(tokens::text[])) AS same
FROM minhash_signatures('SELECT id, tokens::text[] FROM sets') JOIN sets USING (id);
SELECT count(*), bool_and(signature IS NOT DISTINCT FROM weighted_minhash(tokens, tokens::real[], 33)) AS same
FROM weighted_minhash_signatures('SELECT id, tokens, tokens::real[] FROM sets', 33) JOIN sets USING (id);
SELECT * FROM minhash_signatures('SELECT id, tokens FROM sets WHERE false');
SELECT * FROM weighted_minhash_signatures('SELECT 1, ''{1}''::int[], NULL::real[] UNION ALL SELECT 2, ''{1}'', ''{0}''', 2);
-- More rows than in a round.
SELECT count(*), count(DISTINCT id), bool_and(signature = minhash(ARRAY[id % 3, 5])) AS same
FROM minhash_signatures('SELECT i, ARRAY[i % 3, 5]::bigint[] FROM generate_series(1, 150000) i');
-- They are the same on a GPU. Without a GPU, demanding one gives an error that says what to do.
CREATE FUNCTION signatures_on(chosen text, query text, OUT result text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('simjoin.device', chosen, true);
  EXECUTE format('SELECT md5(string_agg(s::text, '','' ORDER BY s)) FROM %s s', query) INTO result;
EXCEPTION WHEN system_error THEN
  GET STACKED DIAGNOSTICS result = PG_EXCEPTION_HINT;
END $$;
SELECT signatures_on('auto', query) = signatures_on('cpu', query) AS same,
       signatures_on('gpu', query) = CASE WHEN EXISTS (SELECT FROM simjoin_devices()) THEN signatures_on('cpu', query)
                                     ELSE 'Set simjoin.device to auto or cpu.' END AS as_expected
FROM (VALUES ($$minhash_signatures('SELECT id, tokens FROM sets', 70)$$),
             ($$weighted_minhash_signatures('SELECT id, tokens, tokens::real[] FROM sets', 33)$$),
             ($$minhash_self_join('SELECT id, tokens FROM sets', 0.5)$$)) v (query);

-- Wrong arguments.
SELECT minhash('{1}'::int[], 0);
SELECT minhash('{1}'::int[], 65536);
SELECT minhash('{1,NULL}'::int[]);
SELECT minhash('{{1}}'::int[]);
SELECT weighted_minhash('{1}'::int[], '{1}', -1);
SELECT weighted_minhash('{1,2}'::int[], '{1}');
SELECT weighted_minhash('{1}'::int[], '{-1}');
SELECT weighted_minhash('{1}'::int[], '{NaN}');
SELECT weighted_minhash('{1}'::int[], '{Infinity}');
SELECT weighted_minhash('{1}'::int[], '{NULL}');
SELECT minhash_similarity(minhash('{1}'::int[]), minhash('{1}'::int[], 64));
SELECT minhash_similarity(minhash('{1}'::int[], 128, 2), minhash('{1}'::int[]));
SELECT minhash_similarity(minhash('{1}'::int[]), weighted_minhash('{1}'::int[], '{1}'));
SELECT minhash_similarity(minhash('{1}'::int[]), minhash_truncate(minhash('{1}'::int[]), 8));
SELECT minhash_similarity(minhash('{}'::int[]), minhash('{}'::int[], 64));
SELECT minhash_union(s) FROM (VALUES (minhash('{1}'::int[])), (minhash('{1}'::int[], 128, 2))) v (s);
SELECT minhash_union(s) FROM (VALUES (weighted_minhash('{1}'::int[], '{1}')), (weighted_minhash('{1}'::int[], '{1}'))) v (s);
SELECT minhash_union(minhash_truncate(s, 8)) FROM (VALUES (minhash('{1}'::int[])), (minhash('{1}'::int[]))) v (s);
SELECT minhash_truncate(minhash('{1}'::int[]), 0);
SELECT minhash_truncate(minhash_truncate(minhash('{1}'::int[]), 8), 9);
SELECT minhash_bands(minhash('{1}'::int[], 16), 0, 1);
SELECT minhash_bands(minhash('{1}'::int[], 16), 17, 1);
SELECT minhash_bands(minhash('{1}'::int[], 16), 4, 5);
SELECT minhash_bands(minhash('{}'::int[], 16), 4, -5);
SELECT minhash_band_plan(0);
SELECT minhash_band_plan(1.5);
SELECT minhash_band_plan('NaN');
SELECT minhash_band_plan(0.5, 0);
SELECT * FROM minhash_signatures('SELECT 1, ''{1}''::int[]', 0);
SELECT * FROM minhash_signatures('SELECT 1');
SELECT * FROM minhash_signatures('SELECT 1, ''{1,NULL}''::int[]');
SELECT * FROM minhash_signatures('SELECT NULL::int, ''{1}''::int[]');
SELECT * FROM weighted_minhash_signatures('SELECT 1, ''{1}''::int[]');
SELECT * FROM weighted_minhash_signatures('SELECT 1, ''{1}''::int[], ''{1}''::float8[]');
SELECT * FROM weighted_minhash_signatures('SELECT 1, ''{1}''::int[], ''{1,2}''::real[]');

-- Malformed signatures.
SELECT ''::minhash;
SELECT 'minhash'::minhash;
SELECT 'simhash:1:4:32:1:00'::minhash;
SELECT 'minhash:2:1:32:1:00000000'::minhash;
SELECT 'minhash:1:0:32:1:'::minhash;
SELECT 'minhash:1:1:33:1:00000000'::minhash;
SELECT 'minhash:1:1:32:9223372036854775808:00000000'::minhash;
SELECT 'minhash:1:1:32:1:0000000'::minhash;
SELECT 'minhash:1:1:32:1:000000000'::minhash;
SELECT 'minhash:1:1:32:1:0000000g'::minhash;
SELECT 'minhash:1:1:3:1:08'::minhash;
SELECT 'minhash:1: 1:32:1:00000000'::minhash;
SELECT 'minhash:1:1:3:1:07'::minhash, 'weighted:1:65535:1:-1:empty'::minhash;
SELECT '\x'::bytea::minhash;
SELECT '\x0101200004000000010000000000000000'::bytea::minhash;
SELECT '\x02012000010000000100000000000000ffffffff'::bytea::minhash;
SELECT '\x01032000010000000100000000000000ffffffff'::bytea::minhash;
SELECT '\x01010000010000000100000000000000ffffffff'::bytea::minhash;
SELECT '\x01012001010000000100000000000000ffffffff'::bytea::minhash;
SELECT '\x01012000000000000100000000000000'::bytea::minhash;
SELECT '\x01012000010000000100000000000000ffffffff'::bytea::minhash;

DROP SCHEMA minhash_test CASCADE;
