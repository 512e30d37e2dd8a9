-- Joins of sets with weights: the rows of the nested loop, to the last bit, in every kind of join.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;

-- Near-duplicates with weights that are tenths, thousandths or of any size; zeros, repeated elements, empty sets, NULLs.
CREATE TABLE docs (id int, tenant int, tokens int[], weights real[]);
INSERT INTO docs
SELECT i, i % 5, CASE WHEN i % 60 = 0 THEN NULL ELSE tokens END,
       CASE WHEN i % 61 = 0 THEN NULL
            ELSE ARRAY(SELECT CASE i % 4 WHEN 0 THEN ((t + i / 7) % 9) / 10.0 WHEN 1 THEN (t % 5 + 1) * 1.1
                                         WHEN 2 THEN (t * 1.37 + i % 3) / 1000 ELSE exp((t % 11) * 5.0 - 25) END
                       FROM unnest(tokens) WITH ORDINALITY u(t, n) ORDER BY n) END
FROM (SELECT i, CASE WHEN i % 37 = 0 THEN '{}' ELSE
        ARRAY(SELECT (i / 4) * 3 + j + CASE WHEN j > 7 THEN i % 3 ELSE 0 END FROM generate_series(1, 8 + i % 7) j)
        || CASE WHEN i % 10 = 0 THEN ARRAY[(i / 4) * 3 + 2, (i / 4) * 3 + 3] ELSE '{}' END END AS tokens
      FROM generate_series(1, 240) i) s;
CREATE TABLE others AS
SELECT id + 1000 AS id, tenant, tokens::bigint[] AS wide, tokens::text[] AS words, tokens, weights FROM docs WHERE id % 3 > 0;
ANALYZE docs, others;

-- Returns whether the join operator takes a query, and whether its rows are those of the nested loop.
CREATE FUNCTION compared(query text, OUT plan text, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
  expected text;
  found text;
  line text;
  counted text := 'SELECT count(*) || '' '' || md5(coalesce(string_agg(q::text, '' '' ORDER BY q::text), '''')) FROM (' || query || ') q';
BEGIN
  PERFORM set_config('extra_float_digits', '3', true), set_config('simjoin.enable_join', 'off', true);
  IF query NOT LIKE '%FULL JOIN%' THEN EXECUTE counted INTO expected; END IF;
  PERFORM set_config('enable_nestloop', 'off', true), set_config('simjoin.enable_join', 'on', true);
  plan := 'no operator';
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    IF line LIKE '%SetSimilarityJoin%' THEN plan := 'operator'; END IF;
  END LOOP;
  FOR threads IN 1..3 LOOP
    PERFORM set_config('simjoin.cpu_threads', threads::text, true);
    EXECUTE counted INTO found;
    expected := coalesce(expected, found);
    IF found <> expected THEN same := concat_ws(' ', same, threads, 'threads differ'); END IF;
  END LOOP;
  same := coalesce(same, CASE WHEN expected LIKE '0 %' THEN 'no rows' ELSE 'same rows' END);
END $$;

SELECT n, measure, c.* FROM (VALUES
  (1, 'SELECT a.id AS a, b.id AS b, weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) AS s, weighted_jaccard_similarity(b.tokens, b.weights, a.tokens, a.weights) AS r FROM docs a JOIN docs b ON a.id < b.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.5'),
  (2, 'SELECT a.id AS a, b.id AS b, weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) AS s FROM docs a JOIN docs b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) > 0.8'),
  (3, 'SELECT a.id AS a, b.* FROM docs a LEFT JOIN others b ON 0.7 <= weighted_jaccard_similarity(b.tokens, b.weights, a.tokens, a.weights)'),
  (4, 'SELECT a.*, b.id AS b FROM docs a RIGHT JOIN others b ON weighted_jaccard_similarity(a.tokens::text[], a.weights, b.words, b.weights) >= 0.9'),
  (5, 'SELECT a.id AS a, b.id AS b, weighted_jaccard_similarity(a.tokens, a.weights, b.wide, b.weights) FROM docs a JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.wide, b.weights) >= 0.3 AND a.tenant = b.tenant'),
  (6, 'SELECT a.id FROM docs a WHERE EXISTS (SELECT FROM docs b WHERE b.id <> a.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.8)'),
  (7, 'SELECT a.id FROM docs a WHERE NOT EXISTS (SELECT FROM others b WHERE weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.6)'),
  (8, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN others b ON NOT (weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) < 0.75) AND a.id % 3 > b.id % 2'),
  (9, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.tenant = b.tenant AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= (SELECT 0.4)'),
  (10, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, array_replace(b.weights, 0.5, 0.25)) >= 0.7'),
  (11, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= (SELECT 0::float8)'),
  (12, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) > 1'),
  (13, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 1'),
  (14, 'SELECT a.id AS a, b.id AS b FROM docs a JOIN others b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 OR weighted_jaccard_similarity(b.tokens, b.weights, a.tokens, a.weights) >= 0.8')
) q(n, query), unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, compared(replace(query, 'weighted_jaccard', measure)) c ORDER BY measure DESC, n;

-- A full join has no other plan. Its rows are those of two other joins.
CREATE FUNCTION full_join(measure text, OUT has_pairs bool, OUT wrong bigint, OUT missing bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE replace('WITH found AS (SELECT a.id AS a, b.id AS b FROM docs a FULL JOIN others b ON <m>(a.tokens, a.weights, b.tokens, b.weights) >= 0.8),
      expected AS (SELECT a.id AS a, b.id AS b FROM docs a LEFT JOIN others b ON <m>(a.tokens, a.weights, b.tokens, b.weights) >= 0.8
        UNION ALL SELECT NULL, b.id FROM others b WHERE NOT EXISTS (SELECT FROM docs a WHERE <m>(a.tokens, a.weights, b.tokens, b.weights) >= 0.8))
    SELECT (SELECT count(*) FROM found) > 0, (SELECT count(*) FROM (TABLE found EXCEPT ALL TABLE expected) d),
           (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE found) d)', '<m>', measure || '_similarity') INTO has_pairs, wrong, missing;
END $$;
SELECT measure, f.* FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, full_join(measure) f;

-- What the planner cannot use: weights of the other side, volatile ones, ones without a column.
SELECT n, c.plan FROM (VALUES
  (1, 'SELECT FROM docs a JOIN others b ON weighted_jaccard_similarity(a.tokens, b.weights, b.tokens, a.weights) >= 0.5 AND cardinality(a.tokens) = cardinality(b.tokens) AND a.id < 3'),
  (2, 'SELECT FROM docs a JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, array_remove(b.weights, random()::real)) >= 0.5 AND a.id < 3'),
  (3, 'SELECT FROM docs a JOIN others b ON weighted_jaccard_similarity(a.tokens[1:1], ''{1}'', b.tokens[1:1], b.weights[1:1]) >= 0.5 AND a.id < 3 AND a.tokens <> ''{}'' AND b.tokens <> ''{}'''),
  (4, 'SELECT FROM docs a JOIN others b ON weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) <= 0.5 AND a.id < 3')
) q(n, query), compared(query) c ORDER BY n;

-- Parameters.
PREPARE weighted(float8) AS SELECT count(*) FROM docs a JOIN docs b
  ON a.id < b.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE weighted(0.9);
EXECUTE weighted(NULL);
EXECUTE weighted('NaN');
EXECUTE weighted('-Infinity');
RESET plan_cache_mode;

-- EXPLAIN names the weights, the method and the filters.
SET simjoin.method = minhash;
EXPLAIN (COSTS OFF)
SELECT a.id, b.id FROM docs a JOIN docs b ON a.id < b.id AND a.tenant = b.tenant
  AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7;
EXPLAIN (COSTS OFF)
SELECT FROM docs a WHERE EXISTS (SELECT FROM others b WHERE 0.7 < weighted_cosine_similarity(b.tokens, b.weights, a.tokens, a.weights));
RESET simjoin.method;
CREATE FUNCTION counts(query text) RETURNS TABLE (name text, value text) LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, TIMING OFF, COSTS OFF) ' || query INTO plan;
  RETURN QUERY SELECT key, val FROM jsonb_path_query(plan, 'strict $.**') node, jsonb_each_text(node) e(key, val)
    WHERE jsonb_typeof(node) = 'object' AND node ? 'Pairs Output'
      AND key IN ('Algorithm', 'Measure', 'Sets Left', 'Pairs', 'Pairs After Length Filter', 'Pairs Verified', 'Pairs Output')
    ORDER BY key;
END $$;
SET simjoin.cpu_threads = 1;
SELECT * FROM counts('SELECT FROM docs a JOIN docs b ON a.id < b.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7');
SELECT * FROM counts('SELECT FROM docs a JOIN docs b ON a.id < b.id AND weighted_cosine_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.7');
RESET simjoin.cpu_threads;

-- An error comes where a nested loop has it.
CREATE TABLE flawed (id int, tenant int, tokens int[], weights real[]);
INSERT INTO flawed VALUES (1, 1, '{1,2}', '{1,2}'), (2, 1, '{1,2}', '{1,2.5}'), (3, 2, '{1,2}', '{1}'), (4, 3, '{1,2}', '{1,-2}'), (5, 4, '{1,2}', '{1,NaN}'),
  (6, 5, '{1,2}', '{1,Infinity}'), (7, 6, '{1,2}', '{1,NULL}'), (8, 7, '{1,2}', '{{1},{2}}'), (9, 8, '{1,NULL}', '{1,2}'), (10, 9, NULL, '{1}'), (11, 9, '{1}', NULL);
ANALYZE flawed;
CREATE FUNCTION joined(conditions text, measure text DEFAULT 'weighted_jaccard') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
  results text[];
  query text := 'SELECT string_agg(a.id || ''-'' || b.id, '' '' ORDER BY a.id, b.id) FROM flawed a JOIN flawed b ON '
    || measure || '_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.8 AND ' || conditions;
BEGIN
  FOR way IN 0..1 LOOP
    PERFORM set_config('simjoin.enable_join', CASE way WHEN 0 THEN 'off' ELSE 'on' END, true);
    PERFORM set_config('enable_nestloop', CASE way WHEN 0 THEN 'on' ELSE 'off' END, true);
    BEGIN
      EXECUTE query INTO result;
    EXCEPTION WHEN OTHERS THEN
      result := SQLSTATE || ' ' || SQLERRM;
    END;
    results := results || result;
  END LOOP;
  RETURN CASE WHEN results[1] IS DISTINCT FROM results[2] THEN 'nested loop: ' || coalesce(results[1], 'NULL') || ', operator: ' || coalesce(results[2], 'NULL') ELSE results[1] END;
END $$;
SELECT n, joined(format('a.tenant IN (1, %s, 9) AND b.tenant IN (1, %s, 9)', n, n)) FROM generate_series(1, 8) n;
SELECT n, joined(format('a.tenant IN (1, %s, 9) AND b.tenant IN (1, %s, 9)', n, n), 'weighted_cosine') FROM generate_series(1, 8) n;
SELECT n, joined(format('a.id < b.id AND a.tenant = b.tenant AND b.tenant <= %s', n)) FROM generate_series(1, 8) n;

-- A join beyond its memory.
CREATE TABLE large AS SELECT i AS id, ARRAY(SELECT (i / 2 * 7 + j * j * 31) % 9000 FROM generate_series(1, 40) j) AS tokens,
  ARRAY(SELECT ((i % 2 + j) % 13 + 1) / 8.0 FROM generate_series(1, 40) j)::real[] AS weights FROM generate_series(1, 6000) i;
ANALYZE large;
CREATE FUNCTION pairs_and_parts(measure text, OUT pairs bigint, OUT parts bool) LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
  joined text := format('FROM large a JOIN large b ON a.id < b.id AND %I(a.tokens, a.weights, b.tokens, b.weights) >= 0.6', measure || '_similarity');
BEGIN
  EXECUTE 'SELECT count(*) ' || joined INTO pairs;
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT ' || joined INTO plan;
  parts := jsonb_path_exists(plan, 'strict $.**."Partitions" ? (@ > 1)');
END $$;
SET simjoin.memory_limit = '1GB';
SELECT measure, p.* FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, pairs_and_parts(measure) p;
SET simjoin.memory_limit = '2MB';
SELECT measure, p.* FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, pairs_and_parts(measure) p;
RESET simjoin.memory_limit;

DROP FUNCTION compared, full_join, counts, joined, pairs_and_parts;
DROP TABLE docs, others, flawed, large;
