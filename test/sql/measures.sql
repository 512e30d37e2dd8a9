-- The measures and the operators, on single sets and against plain SQL.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA measures_test;
SET search_path = measures_test, public;

-- The properties that the planner gets.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel,
       CASE WHEN prosupport <> 0 THEN prosupport::regproc END AS support
FROM pg_proc
WHERE proname IN ('jaccard_similarity', 'cosine_similarity', 'dice_similarity', 'overlap_count',
                  'jaccard_distance', 'sets_similar', 'weighted_jaccard_similarity', 'weighted_cosine_similarity')
ORDER BY oid::regprocedure::text COLLATE "C";
SELECT o.oid::regoperator AS operator, oprcode::regprocedure AS function, oprcom::regoperator AS commutator,
       nullif(oprrest, 0)::regproc AS restrict, nullif(oprjoin, 0)::regproc AS join
FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode WHERE proname IN ('jaccard_distance', 'sets_similar')
ORDER BY o.oid::regoperator::text COLLATE "C";

-- Order does not matter and duplicates collapse, with each type of token.
CREATE TABLE cases (name text, l int[], r int[]);
INSERT INTO cases VALUES
  ('equal', '{1,2,3}', '{1,2,3}'), ('other order', '{1,2,3}', '{3,1,2}'), ('duplicates', '{1,1,2,2,2}', '{2,1,2}'),
  ('half', '{1,2,3}', '{2,3,4}'), ('subset', '{1,2,3,4}', '{4,1}'), ('disjoint', '{1,2}', '{3}'),
  ('empty left', '{}', '{1}'), ('empty right', '{1}', '{}'), ('both empty', '{}', '{}'),
  ('NULL left', NULL, '{1}'), ('NULL right', '{1}', NULL), ('one', '{7}', '{7}'),
  ('extremes', '{-2147483648,0,2147483647}', '{2147483647,-2147483648,1}'),
  ('other lower bound', '[5:7]={1,2,3}', '[-1:1]={3,2,9}'), ('removed NULL', array_remove('{1,NULL,2}'::int[], NULL), '{1,2}');
SELECT name, jaccard_similarity(l, r) AS jaccard, round(cosine_similarity(l, r)::numeric, 6) AS cosine,
       dice_similarity(l, r) AS dice, overlap_count(l, r) AS overlap, l <%> r AS distance, l ~= r AS similar
FROM cases ORDER BY name COLLATE "C";
SELECT count(*) AS differences FROM cases
WHERE (jaccard_similarity(l, r), cosine_similarity(l, r), dice_similarity(l, r), overlap_count(l, r), l <%> r, l ~= r)
        IS DISTINCT FROM
      (jaccard_similarity(l::bigint[], r::bigint[]), cosine_similarity(l::bigint[], r::bigint[]),
       dice_similarity(l::bigint[], r::bigint[]), overlap_count(l::bigint[], r::bigint[]),
       l::bigint[] <%> r::bigint[], l::bigint[] ~= r::bigint[])
   OR (jaccard_similarity(l, r), cosine_similarity(l, r), dice_similarity(l, r), overlap_count(l, r), l <%> r, l ~= r)
        IS DISTINCT FROM
      (jaccard_similarity(l::text[], r::text[]), cosine_similarity(l::text[], r::text[]),
       dice_similarity(l::text[], r::text[]), overlap_count(l::text[], r::text[]), l::text[] <%> r::text[],
       l::text[] ~= r::text[]);

-- All 64 bits count, text is compared by bytes, and an empty string is a token.
SELECT overlap_count('{1,4294967297,-9223372036854775808}'::bigint[], '{4294967297,9223372036854775807}'::bigint[]);
SELECT overlap_count('{a,A,"a ","",é}'::text[], '{"",a,É,"a  ",é}'::text[]);
SELECT jaccard_similarity('{ab,b,abc}'::text[], '{b,ab,a,abcd}'::text[]);

-- A domain over an array, literals without a type, and integers with bigints.
CREATE DOMAIN tokens AS int[];
SELECT jaccard_similarity('{1,2}'::tokens, '{2,3}'::tokens), array[1, 2] ~= '{2,1}', array['a'] <%> '{b}',
       jaccard_similarity('{1,2}'::int[], '{2,3}'::bigint[]), '{1}'::bigint[] ~= '{1}'::int[];

-- A pair exactly on the threshold is similar.
SELECT jaccard_similarity(l, r), jaccard_similarity(l, r) >= 0.9 AS on_threshold
FROM (SELECT array_agg(i) AS l FROM generate_series(1, 19) i) a, (SELECT array_agg(i) AS r FROM generate_series(2, 20) i) b;

-- Long sets, sorted and not, and toasted ones.
CREATE TABLE long_sets AS
SELECT kind, array_agg(token ORDER BY CASE kind WHEN 1 THEN token ELSE token::bigint * 7919 % 30011 END) AS tokens
FROM (SELECT kind, i * (kind % 2 + 2) AS token FROM generate_series(1, 3) kind, generate_series(1, 30000) i) s
GROUP BY kind;
SELECT a.kind, b.kind, overlap_count(a.tokens, b.tokens), overlap_count(a.tokens || a.tokens, b.tokens) AS doubled,
       overlap_count(a.tokens::text[], b.tokens::text[]) AS as_text
FROM long_sets a JOIN long_sets b ON a.kind <= b.kind ORDER BY 1, 2;

-- Random sets against plain SQL: equal to the last bit.
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE TABLE sets AS
SELECT id, ARRAY(SELECT draw(40, id, j) - 20 FROM generate_series(1, draw(25, id)) j) AS tokens
FROM generate_series(1, 70) id;
CREATE TABLE expected AS
SELECT a.id AS a, b.id AS b, a.tokens AS l, b.tokens AS r,
       (SELECT count(*) FROM (SELECT unnest(a.tokens) INTERSECT SELECT unnest(b.tokens)) s)::float8 AS o,
       (SELECT count(DISTINCT t) FROM unnest(a.tokens) t)::float8 AS n,
       (SELECT count(DISTINCT t) FROM unnest(b.tokens) t)::float8 AS m
FROM sets a, sets b;
SELECT count(*) AS pairs, count(*) FILTER (WHERE o > 0) > 1000 AS enough_overlap,
       count(*) FILTER (WHERE overlap_count(l, r) <> o) AS overlap,
       count(*) FILTER (WHERE jaccard_similarity(l, r) <> coalesce(o / nullif(n + m - o, 0), 0)) AS jaccard,
       count(*) FILTER (WHERE cosine_similarity(l, r) <> coalesce(o / nullif(sqrt(n * m), 0), 0)) AS cosine,
       count(*) FILTER (WHERE dice_similarity(l, r) <> coalesce(2 * o / nullif(n + m, 0), 0)) AS dice,
       count(*) FILTER (WHERE jaccard_similarity(l::bigint[], r::bigint[]) <> jaccard_similarity(l, r)) AS bigint,
       count(*) FILTER (WHERE jaccard_similarity(l::text[], r::text[]) <> jaccard_similarity(l, r)) AS text,
       count(*) FILTER (WHERE l <%> r <> coalesce((n + m - 2 * o) / nullif(n + m - o, 0), 1)) AS distance,
       count(*) FILTER (WHERE jaccard_similarity(l, r) <> jaccard_similarity(r, l)) AS asymmetric
FROM expected;

-- ~= follows its two settings, inclusively.
CREATE FUNCTION similar_differs(expected_measure text) RETURNS bigint LANGUAGE sql AS $$
  SELECT count(*) FROM expected
  WHERE (l ~= r) <> (CASE expected_measure
                       WHEN 'jaccard' THEN jaccard_similarity(l, r) WHEN 'cosine' THEN cosine_similarity(l, r)
                       WHEN 'dice' THEN dice_similarity(l, r) ELSE overlap_count(l, r) END
                     >= current_setting('simjoin.similarity_threshold')::float8) $$;
SELECT count(*) FILTER (WHERE l ~= r) BETWEEN 1 AND count(*) - 1 AS some FROM expected;
SELECT similar_differs('jaccard');
SET simjoin.similarity_threshold = 0.25;
SELECT similar_differs('jaccard');
SET simjoin.measure = cosine;
SELECT similar_differs('cosine');
SET simjoin.measure = dice;
SELECT similar_differs('dice');
SET simjoin.measure = overlap;
SET simjoin.similarity_threshold = 4;
SELECT similar_differs('overlap');
SET simjoin.similarity_threshold = 0;
SELECT count(*) FILTER (WHERE l ~= r) = count(*) AS all_similar FROM expected;
RESET simjoin.measure;
RESET simjoin.similarity_threshold;

-- The nearest by distance.
SELECT s.id, q.tokens <%> s.tokens AS distance
FROM (SELECT '{1,2,3,4}'::int[] AS tokens) q, (VALUES (1, '{9}'::int[]), (2, '{1,2}'), (3, '{1,2,3,4}')) s(id, tokens)
ORDER BY q.tokens <%> s.tokens;

-- Weighted Jaccard: sum of the smaller by sum of the larger weights.
SELECT weighted_jaccard_similarity('{1,2}'::int[], '{1,3}', '{2,3}'::int[], '{1,4}') AS one_eighth,
       weighted_jaccard_similarity('{2,1}'::bigint[], '{3,1}', '{3,2}'::bigint[], '{4,1}') AS other_order,
       weighted_jaccard_similarity('{b,a}'::text[], '{3,1}', '{c,b}'::text[], '{4,1}') AS text,
       weighted_jaccard_similarity('{1,1,1}'::int[], '{1,2,3}', '{1}'::int[], '{6}') AS repeated;
SELECT weighted_jaccard_similarity('{}'::int[], '{}', '{}'::int[], '{}') AS both_empty,
       weighted_jaccard_similarity('{1}'::int[], '{0}', '{1}'::int[], '{0}') AS all_zero,
       weighted_jaccard_similarity('{1}'::int[], '{1}', '{}'::int[], '{}') AS one_empty,
       weighted_jaccard_similarity('{1}'::int[], NULL, '{1}'::int[], '{1}') AS no_weights;
CREATE FUNCTION token_weights(tokens int[], n int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
$$ SELECT coalesce(array_agg((abs(t + i) % n)::real / 4 ORDER BY i), '{}') FROM unnest(tokens) WITH ORDINALITY u(t, i) $$;
CREATE FUNCTION plain_weighted_jaccard(l int[], lw real[], r int[], rw real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(sum(least(coalesce(a.w, 0), coalesce(b.w, 0))) /
                  nullif(sum(greatest(coalesce(a.w, 0), coalesce(b.w, 0))), 0), 0)
  FROM (SELECT t, sum(w)::float8 AS w FROM unnest(l, lw) u(t, w) GROUP BY t) a
  FULL JOIN (SELECT t, sum(w)::float8 AS w FROM unnest(r, rw) u(t, w) GROUP BY t) b USING (t) $$;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE w <> plain_weighted_jaccard(l, lw, r, rw)) AS differences,
       count(*) FILTER (WHERE w <> weighted_jaccard_similarity(r::bigint[], rw, l::bigint[], lw)) AS bigint,
       count(*) FILTER (WHERE w <> weighted_jaccard_similarity(r::text[], rw, l::text[], lw)) AS text,
       count(*) FILTER (WHERE w <> jaccard_similarity(l, r)) > 1000 AS unlike_unweighted
FROM (SELECT l, lw, r, rw, weighted_jaccard_similarity(l, lw, r, rw) AS w
      FROM expected, token_weights(l, 7) lw, token_weights(r, 5) rw) x;

-- The cosine of vectors: the product of their weights by the product of their norms. numeric holds the sums.
SELECT weighted_cosine_similarity('{1,2}'::int[], '{3,4}', '{2,3}'::int[], '{1,0}') AS four_fifths,
       weighted_cosine_similarity('{2,1}'::bigint[], '{4,3}', '{3,2}'::bigint[], '{0,1}') AS other_order,
       weighted_cosine_similarity('{b,a}'::text[], '{4,3}', '{c,b}'::text[], '{0,1}') AS text,
       weighted_cosine_similarity('{1,2}'::int2[], '{3,4}', '{2}', '{1}') AS int2,
       weighted_cosine_similarity('{1,1,1,2}'::int[], '{1,2,3,0.1}', '{1,2}'::int[], '{6,0.1}') AS repeated,
       weighted_cosine_similarity('{1,2}'::int[], '{0.1,0.7}', '{1,2}'::int[], '{0.4,2.8}') AS same_direction,
       weighted_cosine_similarity('{1}'::int[], '{1}', '{2}'::int[], '{1}') AS nothing_shared;
SELECT weighted_cosine_similarity('{}'::int[], '{}', '{}'::int[], '{}') AS both_empty,
       weighted_cosine_similarity('{1}'::int[], '{0}', '{1}'::int[], '{0}') AS all_zero,
       weighted_cosine_similarity('{1}'::int[], '{1}', '{}'::int[], '{}') AS one_empty,
       weighted_cosine_similarity('{1}'::int[], NULL, '{1}'::int[], '{1}') AS no_weights,
       weighted_cosine_similarity('{1,2}'::int[], '{1e-45,1e-45}', '{1,2}'::int[], '{3e38,3e38}') AS tiny_and_huge;
CREATE FUNCTION plain_weighted_cosine(l int[], lw real[], r int[], rw real[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(sum(a.w * b.w)::float8 / nullif(sqrt(sum(a.w * a.w)::float8 * sum(b.w * b.w)::float8), 0), 0)
  FROM (SELECT t, sum(w)::numeric AS w FROM unnest(l, lw) u(t, w) GROUP BY t) a
  FULL JOIN (SELECT t, sum(w)::numeric AS w FROM unnest(r, rw) u(t, w) GROUP BY t) b USING (t) $$;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE w <> plain_weighted_cosine(l, lw, r, rw)) AS differences,
       count(*) FILTER (WHERE w <> weighted_cosine_similarity(r::bigint[], rw, l::bigint[], lw)) AS bigint,
       count(*) FILTER (WHERE w <> weighted_cosine_similarity(r::text[], rw, l::text[], lw)) AS text,
       count(*) FILTER (WHERE weighted_cosine_similarity(l, lw, l, lw) <> CASE WHEN 0 < ANY (lw) THEN 1 ELSE 0 END) AS itself,
       count(*) FILTER (WHERE w <> cosine_similarity(l, r)) > 1000 AS unlike_unweighted,
       count(*) FILTER (WHERE cosine_similarity(ls, rs) <> weighted_cosine_similarity(ls, array_fill(2::real, ARRAY[cardinality(ls)]), rs, array_fill(0.5::real, ARRAY[cardinality(rs)]))) AS unlike_equal_weights
FROM (SELECT l, lw, r, rw, ls, rs, weighted_cosine_similarity(l, lw, r, rw) AS w
      FROM expected, token_weights(l, 7) lw, token_weights(r, 5) rw,
           LATERAL (SELECT coalesce(array_agg(DISTINCT t), '{}') AS ls FROM unnest(l) t) u, LATERAL (SELECT coalesce(array_agg(DISTINCT t), '{}') AS rs FROM unnest(r) t) v) x;

-- Sets of smallint are cast to int, also for the planner. varchar[] is cast to text[].
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE jaccard_similarity(l::int2[], r::int2[]) <> jaccard_similarity(l, r)) AS jaccard,
       count(*) FILTER (WHERE cosine_similarity(l::int2[], r::int2[]) <> cosine_similarity(l, r)) AS cosine,
       count(*) FILTER (WHERE dice_similarity(l::int2[], r::int2[]) <> dice_similarity(l, r)) AS dice,
       count(*) FILTER (WHERE overlap_count(l::int2[], r::int2[]) <> overlap_count(l, r)) AS overlap,
       count(*) FILTER (WHERE l::int2[] <%> r::int2[] <> l <%> r) AS distance,
       count(*) FILTER (WHERE (l::int2[] ~= r::int2[]) <> (l ~= r)) AS similar
FROM (SELECT l, r FROM expected WHERE 30000 > ALL (l || r) AND -30000 < ALL (l || r)) x;
SELECT weighted_jaccard_similarity('{1,2}'::int2[], '{1,0.5}', '{2,3}', '{0.5,1}') AS weighted,
       jaccard_similarity('{1,2}'::int2[], '{2,3}'::int[]) AS with_int, jaccard_similarity('{1,2}', '{2,3}'::int2[]) AS with_literal,
       jaccard_similarity(NULL::int2[], '{1}') AS no_set,
       jaccard_similarity('{a,b}'::varchar[], '{b,c}'::varchar[]) AS varchars, '{a,b}'::varchar[] <%> '{b,c}'::text[] AS mixed;
CREATE TABLE small_sets AS SELECT i AS id, ARRAY[i, i + 1, i + 2, i + 3]::int2[] AS tokens FROM generate_series(1, 2000) i;
ANALYZE small_sets;
EXPLAIN (COSTS OFF) SELECT FROM small_sets a JOIN small_sets b ON a.id < b.id AND a.tokens ~= b.tokens;
SELECT count(*) FROM small_sets a JOIN small_sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5;
SELECT count(*) FROM small_sets a JOIN small_sets b ON a.id < b.id AND a.tokens <%> b.tokens <= 0.5;

DROP SCHEMA measures_test CASCADE;
