-- What each of several thresholds finds, against joins.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA profile_test;
SET search_path = profile_test, public;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Groups of near copies of many sizes, rows without a partner, empty sets and NULLs. The ids have no order.
CREATE TABLE docs AS
SELECT (id * 7919 % 2003) - 500 AS id,
       CASE WHEN id % 37 <> 0 THEN ARRAY(SELECT base * 20 + j FROM generate_series(1, 20) j WHERE draw(12, id, j) > draw(3, base, 0)) END AS tokens
FROM (SELECT id, CASE draw(3, id) WHEN 0 THEN draw(40 + 2 * draw(40, id, 1), id, 2) ELSE id + 1000 END AS base FROM generate_series(1, 2000) id) d;
UPDATE docs SET tokens = '{}' WHERE id % 41 = 0;
CREATE TABLE exact (measure text, thresholds float8[]);
INSERT INTO exact VALUES ('jaccard', '{0.9,0.8,0.7,0.6,0.5}'), ('jaccard', '{0.3,1,0.65,0.3,0.75}'), ('cosine', '{0.95,0.8}'), ('dice', '{0.5}'),
  ('overlap', '{18,12,1,1.5}'), ('overlap_coefficient', '{1,0.9,0.7}');

-- With all rows, in a sample or without one: the pairs of a join, their rows, the groups of those, and the least similar pairs.
CREATE TABLE profiles AS
SELECT measure, thresholds, sample, p.*
FROM exact, unnest('{NULL,2000,1000000}'::int[]) sample, similarity_profile('SELECT id, tokens FROM docs', thresholds, measure, sample) p;
CREATE TABLE expected AS
SELECT measure, thresholds, t AS threshold, count(*) AS pairs,
       (SELECT count(DISTINCT id) FROM unnest(array_agg(a) || array_agg(b)) id) AS rows_with_partner,
       (SELECT count(DISTINCT component) FROM connected_components(
          format('SELECT a, b FROM similarity_self_join(%L, %s, %L)', 'SELECT id, tokens FROM docs', t, measure))) AS groups,
       coalesce((SELECT jsonb_agg(jsonb_build_object('a', a, 'b', b, 'similarity', similarity))
                 FROM (SELECT a, b, similarity FROM unnest(array_agg(a), array_agg(b), array_agg(similarity)) p (a, b, similarity)
                       WHERE similarity < next ORDER BY similarity, a, b LIMIT 3) p), '[]') AS examples
FROM exact, LATERAL (SELECT t, coalesce(lag(t) OVER (ORDER BY t DESC), 'Infinity') AS next FROM unnest(thresholds) t GROUP BY t) t (t, next),
  similarity_self_join('SELECT id, tokens FROM docs', t, measure)
GROUP BY measure, thresholds, t, next;
SELECT measure, p.threshold, p.pairs, p.rows_with_partner, p.groups, pairs_error, rows_error,
       (p.pairs, p.rows_with_partner, p.groups) = (e.pairs, e.rows_with_partner, e.groups) AS counts, p.examples = e.examples AS examples
FROM profiles p LEFT JOIN expected e USING (measure, thresholds, threshold) WHERE sample IS NULL ORDER BY measure, thresholds, threshold DESC;
SELECT count(*) AS differences FROM (SELECT FROM profiles p WHERE p.pairs_error = 0 GROUP BY measure, thresholds, threshold, pairs, rows_with_partner, rows_error, groups, examples
                                     HAVING count(*) <> 3) d;

-- A sample: of 100 of them, two standard errors hold the exact number in at least 90, and the estimates are right on average.
CREATE FUNCTION samples(query text, thresholds float8[], size int) RETURNS TABLE
  (threshold float8, pairs_held bigint, rows_held bigint, pairs_bias numeric, rows_bias numeric, estimates bigint) LANGUAGE sql AS $$
SELECT s.threshold, count(*) FILTER (WHERE abs(s.pairs - e.pairs) <= 2 * s.pairs_error),
       count(*) FILTER (WHERE abs(s.rows_with_partner - e.rows_with_partner) <= 2 * s.rows_error),
       round((avg(s.pairs) / nullif(e.pairs, 0) - 1)::numeric, 2), round((avg(s.rows_with_partner) / nullif(e.rows_with_partner, 0) - 1)::numeric, 2),
       count(DISTINCT s.pairs)
FROM generate_series(1, 100) seed, similarity_profile(query, thresholds, sample => size, seed => seed) s
  JOIN similarity_profile(query, thresholds, sample => NULL) e USING (threshold)
GROUP BY s.threshold, e.pairs, e.rows_with_partner $$;
CREATE TABLE seen AS
SELECT size, s.* FROM unnest('{200,1000,1900}'::int[]) size, samples('SELECT id, tokens FROM docs', '{0.9,0.8,0.7,0.6,0.5}', size) s;
SELECT size, threshold, pairs_held >= 90 AS pairs_held, rows_held >= 90 AS rows_held, abs(pairs_bias) < 0.2 AS pairs, abs(rows_bias) < 0.1 AS rows, estimates > 10 AS estimates
FROM seen ORDER BY size, threshold DESC;
-- Rare pairs, which most samples miss; only pairs; and no pairs. Then the error is not 0.
SELECT query, pairs_held >= 90 AS pairs_held, rows_held >= 90 AS rows_held
FROM (VALUES ('5 pairs', 'SELECT i, CASE WHEN i <= 10 THEN ARRAY[i / 2 * 2] ELSE ARRAY[i] END FROM generate_series(2, 4000) i'),
             ('only pairs', 'SELECT i, ARRAY[i / 2] FROM generate_series(2, 4001) i'),
             ('no pairs', 'SELECT i, ARRAY[i] FROM generate_series(1, 4000) i')) q (query, text), samples(text, '{0.5}', 300)
ORDER BY query;
SELECT pairs, pairs_error, rows_with_partner, rows_error, groups, examples
FROM similarity_profile('SELECT i, ARRAY[i] FROM generate_series(1, 4000) i', '{1}', sample => 100);

-- Pairs of equal sets are exact in samples, too, and the others are estimated without them: a few large groups do not blur the rest.
CREATE TABLE copies AS
SELECT id, CASE WHEN id % 20 = 0 THEN '{1,2,3}' WHEN id % 50 = 1 THEN '{3,2,2,1,9}' WHEN id % 37 = 2 THEN '{}' WHEN id % 30 = 3 THEN NULL
                ELSE ARRAY[id / 4 * 10 + 1000, id / 4 * 10 + 1001, id / 4 * 10 + 1002 + id % 4 / 2] END AS tokens
FROM generate_series(1, 2000) id;
CREATE VIEW counted AS
WITH sets AS (SELECT id, ARRAY(SELECT DISTINCT e FROM unnest(tokens) e ORDER BY e) AS set FROM copies),
     groups AS (SELECT set, count(*) AS rows, min(id) AS id FROM sets WHERE set <> '{}' GROUP BY set HAVING count(*) > 1)
SELECT measure, threshold, coalesce(sum(rows * (rows - 1) / 2) FILTER (WHERE reached), 0) AS pairs,
       to_jsonb((array_agg(jsonb_build_object('id', id, 'rows', rows) ORDER BY rows DESC, id) FILTER (WHERE reached))[:5]) AS largest
FROM groups, (VALUES ('jaccard', '{1,0.5,0.3}'::float8[]), ('cosine', '{1,0.5}'), ('overlap', '{5,4,3,1}')) m (measure, thresholds), unnest(thresholds) threshold,
  LATERAL (SELECT measure <> 'overlap' OR cardinality(set) >= threshold AS reached) r
GROUP BY measure, threshold;
SELECT sample, m.measure, bool_and(p.equal_pairs = c.pairs) AS pairs, bool_and(p.equal_groups = coalesce(c.largest, '[]')) AS groups,
       bool_and(p.pairs >= p.equal_pairs) AS contained, sum(p.equal_pairs) > 0 AS some
FROM unnest('{100,1000,NULL}'::int[]) sample, (VALUES ('jaccard', '{1,0.5,0.3}'::float8[]), ('cosine', '{1,0.5}'), ('overlap', '{5,4,3,1}')) m (measure, thresholds),
  similarity_profile('TABLE copies', thresholds, measure, sample) p JOIN counted c USING (threshold)
WHERE c.measure = m.measure GROUP BY sample, m.measure ORDER BY sample, measure;
SELECT bool_and(p.equal_pairs = c.pairs) AS pairs FROM unnest('{bigint,text}'::text[]) type, counted c,
  similarity_profile(format('SELECT id::text, tokens::%s[] FROM copies', type), ARRAY[c.threshold], c.measure, 50, key => NULL::text) p;
SELECT max(pairs_error) < 0.1 * max(equal_pairs) AS close, max(rows_error) < 0.2 * max(rows_with_partner) AS rows
FROM similarity_profile('TABLE copies', '{1}', sample => 200);
SELECT pairs_held >= 90 AS pairs_held, rows_held >= 90 AS rows_held, pairs_bias, abs(rows_bias) < 0.1 AS rows
FROM samples('TABLE copies', '{0.9,0.7,0.5}', 200);

-- The sample depends on integer ids and on the seed, and not on the order of rows.
SELECT count(*) AS differences FROM
  similarity_profile('SELECT id, tokens FROM docs ORDER BY id', sample => 300) a
  FULL JOIN similarity_profile('SELECT id, tokens FROM docs ORDER BY tokens, id DESC', sample => 300) b ON (a.*)::text = (b.*)::text
WHERE a.threshold IS NULL OR b.threshold IS NULL;
-- Examples are pairs between two thresholds, each once.
SELECT count(*) > 5 AS found, bool_and(e.a < e.b AND e.similarity = jaccard_similarity(x.tokens, y.tokens) AND e.similarity >= p.threshold AND
       e.similarity < p.threshold + 0.1) AS right, count(DISTINCT (e.a, e.b)) = count(*) AS each_once
FROM similarity_profile('SELECT id, tokens FROM docs', sample => 1900) p, jsonb_to_recordset(examples) e (a int, b int, similarity float8)
  JOIN docs x ON x.id = e.a JOIN docs y ON y.id = e.b;

-- Sets of other types, texts, and ids of other types.
SELECT DISTINCT pairs, rows_with_partner, pairs_error > 0 AS sampled
FROM unnest('{id, id::smallint, id::bigint}'::text[]) id, unnest('{tokens, tokens::bigint[], tokens::text[], array_to_tsvector(tokens::text[])}'::text[]) t,
  similarity_profile(format('SELECT %s, %s FROM docs', id, t), '{0.7}', sample => 500);
SELECT DISTINCT pairs, rows_with_partner FROM unnest('{500,NULL}'::int[]) s,
  similarity_profile('SELECT id, array_to_string(tokens, '' '') FROM docs', '{0.7}', sample => s, tokens => 'words') ORDER BY 1;
SELECT threshold, pairs, groups, examples FROM similarity_profile($$VALUES ('b"\'::text, '{1,2}'::int[]), ('a', '{1,2,3}'), (E'\n', NULL)$$, '{0.9,0.5}', key => NULL::text);
SELECT threshold, pairs, groups, examples FROM similarity_profile($$VALUES (ROW(2, 'x'), '{1,2}'::int[]), (ROW(1, 'y'), '{1,2,3}')$$, '{0.5}', key => NULL::record);
SELECT (p.pairs, p.rows_with_partner, p.groups) = (e.pairs, e.rows_with_partner, e.groups) AS same, u.similarity = jaccard_similarity(x.tokens, y.tokens) AS example
FROM similarity_profile('SELECT md5(id::text)::uuid, tokens FROM docs', '{0.8}', sample => NULL, key => NULL::uuid) p,
  similarity_profile('SELECT id, tokens FROM docs', '{0.8}', sample => NULL) e, jsonb_to_recordset(p.examples) u (a uuid, b uuid, similarity float8)
  JOIN docs x ON md5(x.id::text)::uuid = a JOIN docs y ON md5(y.id::text)::uuid = b;

-- No rows, one row, and no argument.
SELECT * FROM similarity_profile('SELECT id, tokens FROM docs WHERE false', '{0.5}');
SELECT * FROM similarity_profile('SELECT id, tokens FROM docs WHERE false', '{0.5}', sample => NULL);
SELECT * FROM similarity_profile('SELECT 1, NULL::int[]', '{0.5}');
SELECT * FROM similarity_profile('SELECT 1, ARRAY[1]', '{1e-300}', sample => 1);
SELECT pairs, pairs_error, rows_with_partner, rows_error FROM similarity_profile('SELECT i, ARRAY[1] FROM generate_series(1, 3) i', '{1}', sample => 1);
SELECT count(*) FROM similarity_profile(NULL);
SELECT count(*) FROM similarity_profile('SELECT id, tokens FROM docs', NULL);
SELECT count(*) FROM similarity_profile('SELECT id, tokens FROM docs', seed => NULL);

-- Errors.
CREATE FUNCTION fails(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
  EXECUTE statement;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RETURN SQLSTATE || ' ' || SQLERRM || ' | ' || hint;
END $$;
SELECT fails(format('SELECT similarity_profile(%L, %L)', 'SELECT id, tokens FROM docs', thresholds)) FROM
  unnest(ARRAY['{}', '{0}', '{0.5,0}', '{NaN}', '{0.5,NULL}', '{{0.5,0.6}}', '{1.5}', '{-0.5}', '{Infinity}', '{' || repeat('0.5,', 100) || '0.5}']) thresholds;
SELECT fails(format('SELECT similarity_profile(%L, %s)', 'SELECT id, tokens FROM docs', arguments)) FROM
  unnest('{"measure => ''containment''", "measure => ''jacard''", "sample => 0", "sample => -1", "sample => 10000001", "key => NULL::uuid", "key => NULL::json", "tokens => ''words''",
    "tokens => ''x''", "key => NULL"}'::text[]) arguments;
SELECT fails(format('SELECT similarity_profile(%L)', query)) FROM
  unnest('{"SELECT id / 2, tokens FROM docs", "SELECT NULL::int, ARRAY[1]", "SELECT 1, ARRAY[NULL::int]", "SELECT id::text, tokens FROM docs", "SELECT id, ''x''::text FROM docs",
    "DELETE FROM docs RETURNING id, tokens", "SELECT 1, ''{{1,2},{3,4}}''::int[]"}'::text[]) query;
-- With temporary files, and beyond what they help.
CREATE TABLE large AS
SELECT i, ARRAY(SELECT j * 1000 + i / 3 * 7 % 1000 + draw(20, i, j) / 19 FROM generate_series(1, 40) j) AS tokens FROM generate_series(1, 6000) i;
CREATE TABLE in_memory AS SELECT s, p.* FROM unnest('{200,NULL}'::int[]) s, similarity_profile('TABLE large', '{1,0.8,0.6}', sample => s) p;
SET simjoin.memory_limit = '1MB';
SELECT s, count(*), max(pairs) > 1000 AS pairs FROM
  (SELECT s, p.* FROM unnest('{200,NULL}'::int[]) s, similarity_profile('TABLE large', '{1,0.8,0.6}', sample => s) p
   INTERSECT SELECT * FROM in_memory) same GROUP BY s ORDER BY s;
SELECT fails($$ SELECT similarity_profile('SELECT i, ARRAY(SELECT generate_series(i, i + 500)) FROM generate_series(1, 3000) i', '{0.99}') $$);
-- Without memory for hashes of all rows, pairs of equal sets are estimated with the others.
SET client_min_messages = notice;
SELECT pairs > 0 AS pairs, equal_pairs, equal_groups FROM similarity_profile('SELECT i, ARRAY[i / 2] FROM generate_series(1, 20000) i', '{0.99}', sample => 100);
SET client_min_messages = warning;
RESET simjoin.memory_limit;

DROP SCHEMA profile_test CASCADE;
