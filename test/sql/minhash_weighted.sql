-- Joins by bands of sets with weights, against exact joins.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA minhash_weighted_test;
SET search_path = minhash_weighted_test, public;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Sets of 25 tokens, every second one a changed copy of another. Weights are tenths, some of them 0. Also repeated tokens, empty
-- sets, sets of weight 0 and NULLs.
CREATE TABLE sets AS
SELECT id * 7919 % 1009 - 300 AS id,
       CASE WHEN id % 97 = 0 THEN NULL WHEN id % 89 = 0 THEN '{}'
       ELSE ARRAY(SELECT CASE WHEN base <> id AND draw(20, id, j) = 0 THEN -id * 100 - j ELSE draw(100000, base, j) END
                  FROM generate_series(1, 25) j) || CASE WHEN id % 3 = 0 THEN ARRAY[draw(100000, base, 1)] END END AS tokens,
       CASE WHEN id % 101 = 0 THEN NULL WHEN id % 89 = 0 THEN '{}'
       ELSE ARRAY(SELECT CASE WHEN id % 103 = 0 THEN 0 ELSE (draw(10, base, j) + (draw(9, id, j) = 0)::int) / 10.0 END
                  FROM generate_series(1, 25) j)::real[] || CASE WHEN id % 3 = 0 THEN ARRAY[0.3::real] END END AS weights
FROM (SELECT id, CASE WHEN id % 2 = 0 THEN id / 4 * 2 + 1 ELSE id END AS base FROM generate_series(1, 600) id) b;
CREATE TABLE others AS SELECT id + 5000 AS id, tokens, weights FROM sets WHERE id % 3 <> 0;

-- With one row per band and many bands, every pair is found.
CREATE TABLE exact AS SELECT * FROM similarity_self_join('SELECT id, tokens, weights FROM sets', 0.5, measure => 'weighted_jaccard');
SELECT count(*) > 200 AS many FROM exact;
SELECT tokens, (SELECT count(*) FROM (SELECT * FROM weighted_minhash_self_join(format('SELECT id, %s, weights FROM sets', tokens), 0.5, 128, 128, 1)
                                      EXCEPT ALL TABLE exact) d) AS wrong,
       (SELECT count(*) FROM (TABLE exact EXCEPT ALL
                              SELECT * FROM weighted_minhash_self_join(format('SELECT id, %s, weights FROM sets', tokens), 0.5, 128, 128, 1)) d) AS missing
FROM unnest(ARRAY['tokens', 'tokens::bigint[]', 'tokens::text[]']) tokens;
CREATE TABLE exact_of_two AS
SELECT * FROM similarity_join('SELECT id, tokens, weights FROM sets', 'SELECT id, tokens, weights FROM others', 0.5, measure => 'weighted_jaccard');
CREATE TABLE found_of_two AS
SELECT * FROM weighted_minhash_join('SELECT id, tokens, weights FROM sets', 'SELECT id, tokens, weights FROM others', 0.5, 128, 128, 1);
SELECT count(*) > 200 AS many,
       (SELECT count(*) FROM ((TABLE exact_of_two EXCEPT ALL TABLE found_of_two) UNION ALL (TABLE found_of_two EXCEPT ALL TABLE exact_of_two)) d) AS differences
FROM exact_of_two;

-- The planned bands find exactly the pairs whose bands of weighted_minhash() agree, each once, and about as many as predicted.
CREATE TABLE bands AS
SELECT id, band, hash FROM sets, minhash_band_plan(0.7) p,
       unnest(minhash_bands(weighted_minhash(tokens, weights), p.bands, p.rows)) WITH ORDINALITY b (hash, band);
CREATE TABLE candidates AS
SELECT DISTINCT l.id::bigint AS a, r.id::bigint AS b FROM bands l JOIN bands r USING (band, hash) WHERE l.id < r.id;
CREATE TABLE found AS SELECT * FROM weighted_minhash_self_join('SELECT id, tokens, weights FROM sets', 0.7);
SELECT count(*) AS differences FROM (
  (TABLE found EXCEPT ALL SELECT e.* FROM exact e JOIN candidates USING (a, b) WHERE similarity >= 0.7)
  UNION ALL (SELECT e.* FROM exact e JOIN candidates USING (a, b) WHERE similarity >= 0.7 EXCEPT ALL TABLE found)) d;
SELECT abs((SELECT count(*) FROM found) - sum(p)) < 4 * sqrt(sum(p * (1 - p))) AS as_predicted
FROM (SELECT 1 - (1 - similarity ^ rows) ^ bands AS p FROM exact, minhash_band_plan(0.7) WHERE similarity >= 0.7) e;

-- Without verification the result is all candidates, with the estimated similarity.
CREATE TABLE unverified AS SELECT * FROM weighted_minhash_self_join('SELECT id, tokens, weights FROM sets', 0.7, verify => false);
SELECT count(*) - (SELECT count(*) FROM candidates) AS more, count(DISTINCT (a, b)) - count(*) AS repeated,
       bool_and(similarity = minhash_similarity(weighted_minhash(l.tokens, l.weights), weighted_minhash(r.tokens, r.weights))) AS estimates
FROM unverified JOIN candidates USING (a, b) JOIN sets l ON l.id = a JOIN sets r ON r.id = b;

-- The threads do not decide which pairs are found. The seed does.
CREATE FUNCTION found_with(setting text, value text, seed int DEFAULT 1) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config(setting, value, true);
  RETURN (SELECT count(*) FROM ((SELECT * FROM weighted_minhash_self_join('SELECT id, tokens, weights FROM sets', 0.7, seed => found_with.seed)
                                 EXCEPT ALL TABLE found)
                                UNION ALL
                                (TABLE found EXCEPT ALL
                                 SELECT * FROM weighted_minhash_self_join('SELECT id, tokens, weights FROM sets', 0.7, seed => found_with.seed))) d);
END $$;
SELECT found_with('simjoin.cpu_threads', '1') AS threads, found_with('simjoin.device', 'cpu') AS device,
       found_with('simjoin.cpu_threads', '0', 2) > 0 AS other_seed;

-- Ids of any type.
SELECT count(*) > 100 AS many, pg_typeof(min(a)), count(*) FILTER (WHERE a >= b) AS unordered
FROM weighted_minhash_self_join('SELECT ''id '' || id, tokens, weights FROM sets', 0.7, 128, NULL, NULL, true, 1, key => NULL::text);
SELECT * FROM weighted_minhash_join('VALUES (''l''::text, ''{a,b}''::text[], ''{1,2}''::real[])', 'VALUES (7, ''{b,a}''::text[], ''{2,1}''::real[])',
                                    1, 128, NULL, NULL, true, 1, left_key => NULL::text, right_key => NULL::int);

-- No sets, sets without weight, and arguments that are refused.
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{1}''::real[] WHERE false', 0.5);
SELECT * FROM weighted_minhash_self_join('SELECT i, ''{1}''::int[], ''{0}''::real[] FROM generate_series(1, 3) i', 0.5);
SELECT * FROM weighted_minhash_self_join('VALUES (1, ''{1,1}''::int[], ''{0.5,0.5}''::real[]), (2, ''{1}'', ''{1}'')', 1);
SELECT * FROM weighted_minhash_self_join(NULL, 0.5);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{1}''::real[]', 0);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{1}''::real[]', 0.5, 0);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{1}''::real[]', 0.5, 10, 2, 6);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{-1}''::real[]', 0.5);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1,2}''::int[], ''{1}''::real[]', 0.5);
SELECT * FROM weighted_minhash_self_join('SELECT 1, ''{1}''::int[], ''{NaN}''::real[]', 0.5);

-- The operator: all that it finds is right, and it finds as much as it says.
ANALYZE sets;
ANALYZE others;
SET simjoin.target_recall = 0.99;
CREATE FUNCTION recall(threshold float8, OUT wrong bigint, OUT enough bool) LANGUAGE plpgsql AS $$
DECLARE query text := format('SELECT a.id AS a, b.id AS b FROM sets a JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= %s', threshold);
BEGIN
  SET simjoin.method = exact;
  EXECUTE 'CREATE TEMP TABLE all_pairs AS ' || query;
  SET simjoin.method = minhash;
  EXECUTE 'CREATE TEMP TABLE found_pairs AS ' || query;
  SELECT count(*) INTO wrong FROM (TABLE found_pairs EXCEPT ALL TABLE all_pairs) d;
  enough := (SELECT count(*) FROM found_pairs) >= 0.98 * (SELECT count(*) FROM all_pairs) AND (SELECT count(*) FROM all_pairs) > 200;
  DROP TABLE all_pairs, found_pairs;
END $$;
SELECT threshold, (recall(threshold)).* FROM unnest('{0.6,0.8,0.95}'::float8[]) threshold ORDER BY 1;
SET simjoin.method = minhash;
EXPLAIN (COSTS OFF)
SELECT FROM sets a JOIN sets b ON a.id < b.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7;
EXPLAIN (COSTS OFF)
SELECT FROM sets a WHERE EXISTS (SELECT FROM others b WHERE weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.8);
EXPLAIN (COSTS OFF)
SELECT FROM sets a LEFT JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7;
EXPLAIN (COSTS OFF)
SELECT FROM sets a JOIN others b ON weighted_cosine_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.9;
-- With partitions, in a semi join, and for pairs of a row with itself.
SELECT (SELECT count(*) FROM sets a JOIN others b ON a.id % 2 = b.id % 2 AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.95)
       BETWEEN 0.97 * count(*) AND count(*) AS partitions
FROM exact_of_two WHERE a % 2 = b % 2 AND similarity >= 0.95;
SELECT (SELECT count(*) FROM sets a WHERE EXISTS (SELECT FROM others b WHERE weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.9))
       BETWEEN 0.97 * count(DISTINCT a) AND count(DISTINCT a) AS semi
FROM exact_of_two WHERE similarity >= 0.9;
SELECT count(*) = (SELECT count(*) FROM sets WHERE weighted_jaccard_similarity(tokens, weights, tokens, weights) >= 1) AS all_rows
FROM sets a JOIN sets b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 1 WHERE a.id = b.id;

-- Row-level security: a role sees the pairs of its rows only.
RESET simjoin.method;
ALTER TABLE sets ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON sets FOR SELECT USING (id > 0);
CREATE ROLE regress_simjoin_user;
GRANT USAGE ON SCHEMA minhash_weighted_test TO regress_simjoin_user;
GRANT SELECT ON sets TO regress_simjoin_user;
SET ROLE regress_simjoin_user;
SELECT count(*) > 0 AS some, min(a) > 0 AS of_visible_rows FROM weighted_minhash_self_join('SELECT id, tokens, weights FROM minhash_weighted_test.sets', 0.7);
RESET ROLE;
DROP OWNED BY regress_simjoin_user;
DROP ROLE regress_simjoin_user;
DROP SCHEMA minhash_weighted_test CASCADE;
