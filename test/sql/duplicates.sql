-- Groups of duplicates, against plain SQL.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA duplicates_test;
SET search_path = duplicates_test, public;
SET simjoin.enable_join = off;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Near copies of near copies, empty sets and NULLs. The ids have no order.
CREATE TABLE docs AS
SELECT id * 7919 % 1009 - 300 AS id, CASE WHEN id % 37 <> 0 THEN tokens END AS tokens
FROM (SELECT id, ARRAY(SELECT j + draw(300, id, 1) / 6 * 2 FROM generate_series(1, 8) j WHERE draw(8, id, j) > 0) AS tokens
      FROM generate_series(1, 150) id) d;
CREATE TABLE pairs AS
SELECT x.id::bigint AS a, y.id::bigint AS b, jaccard_similarity(x.tokens, y.tokens) AS similarity
FROM docs x JOIN docs y ON x.id <> y.id AND jaccard_similarity(x.tokens, y.tokens) >= 0.8;
CREATE TABLE groups AS
SELECT method, g.* FROM unnest('{components,star,best_link}'::text[]) method,
  duplicate_groups('SELECT id, tokens FROM docs', 0.8, method => method, max_group_share => 1) g;

-- Each row occurs once, and each group has one representative and its name: the smallest id.
SELECT method, count(*) = (SELECT count(*) FROM docs) AS all_rows, count(DISTINCT id) = count(*) AS each_once,
       bool_and(is_representative = (id = group_id)) AS named, bool_and(group_id <= id) AS smallest,
       bool_and((similarity IS NULL) = is_representative) AS similarities,
       count(*) FILTER (WHERE is_representative) = count(DISTINCT group_id) AS one_survivor,
       count(DISTINCT group_id) BETWEEN 20 AND count(*) - 20 AS grouped
FROM groups GROUP BY method ORDER BY method;

-- components: the components of the graph. The similarity is that with the most similar row.
SELECT count(*) AS differences FROM
  (SELECT id, group_id FROM groups WHERE method = 'components') g
  FULL JOIN (SELECT node, component FROM connected_components('SELECT a, b FROM pairs', 'SELECT id FROM docs')) c
  ON (id, group_id) = (node, component) WHERE id IS NULL OR node IS NULL;
SELECT count(*) AS differences FROM groups g WHERE method <> 'star' AND NOT is_representative
  AND similarity IS DISTINCT FROM (SELECT max(p.similarity) FROM pairs p WHERE p.a = g.id);

-- star: a row is a representative unless it is similar to a smaller one. Other rows belong to the most similar representative.
SELECT count(*) AS differences FROM groups g,
  LATERAL (SELECT (array_agg(r.id ORDER BY p.similarity DESC, r.id))[1] AS centre, max(p.similarity) AS similarity
           FROM pairs p JOIN groups r ON r.id = p.b WHERE p.a = g.id AND r.method = 'star' AND r.is_representative AND r.id < g.id) best
WHERE g.method = 'star' AND (g.group_id, g.similarity) IS DISTINCT FROM (coalesce(best.centre, g.id), best.similarity);

-- best_link: the components of the links to the most similar row.
SELECT count(*) AS differences FROM
  (SELECT id, group_id FROM groups WHERE method = 'best_link') g
  FULL JOIN (SELECT node, component FROM connected_components(
    'SELECT DISTINCT ON (a) a, b FROM pairs ORDER BY a, similarity DESC, b', 'SELECT id FROM docs')) c
  ON (id, group_id) = (node, component) WHERE id IS NULL OR node IS NULL;

-- Copies are not all joined. They give the groups of the pairs of all rows, which a dedup view keeps. In
-- any order, with and without repetitions, and too small for the threshold of an overlap.
CREATE TABLE copies AS
SELECT id * 7919 % 1009 AS id, draw(40, id, 3) AS priority,
       ARRAY(SELECT j / 2 + kind % 5 FROM generate_series(0, 5 + kind % 4) j WHERE draw(5, kind, j) > 0 ORDER BY draw(9, id % 3, j)) AS tokens
FROM (SELECT id, draw(12, id, 1) * draw(3, id, 2) AS kind FROM generate_series(1, 300) id) d;
SELECT count(*), count(DISTINCT tokens) < 60 AS copies FROM copies;
CREATE TABLE choices AS
SELECT row_number() OVER () AS number, measure, threshold, method, keep, type,
       format('SELECT id, tokens::%s[] FROM copies%s', type, CASE keep WHEN 'first_row' THEN ' ORDER BY priority, id' ELSE '' END) AS query
FROM (VALUES ('jaccard', 0.5), ('jaccard', 0.8), ('cosine', 0.7), ('overlap', 2), ('overlap', 3), ('overlap', 4)) m (measure, threshold),
     unnest('{components,star,best_link}'::text[]) method, (VALUES ('smallest_id', 'int'), ('first_row', 'text'), ('first_row', 'bigint')) k (keep, type);
SELECT count(create_dedup_view('of_choice_' || number, query, threshold, measure, method, keep, 1)) FROM choices;
CREATE FUNCTION differences(number bigint, query text, threshold float8, measure text, method text, keep text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM duplicate_groups(%L, %L, %L, %L, %L, 1) d FULL JOIN of_choice_%s v ON d.id = v.id
    WHERE (d.group_id, d.is_representative, d.similarity) IS DISTINCT FROM (v.group_id, v.is_representative, v.similarity)',
    query, threshold, measure, method, keep, number) INTO result;
  RETURN result;
END $$;
SELECT measure, threshold, sum(differences(number, query, threshold, measure, method, keep)) AS differences
FROM choices GROUP BY measure, threshold ORDER BY measure, threshold;
SELECT count(drop_dedup_view(('of_choice_' || number)::regclass)) FROM choices;
-- The copies have too many pairs to find in a test, or to hold for a star.
SET simjoin.memory_limit = '16MB';
SELECT method, count(*), count(DISTINCT group_id) AS groups, count(similarity)
FROM unnest('{components,star,best_link}'::text[]) method,
     duplicate_groups('SELECT i, ARRAY[1, i % 2 + 2] FROM generate_series(1, 100000) i', 0.5, method => method, max_group_share => 1)
GROUP BY method ORDER BY method;
-- Pairs of a star that exceed the memory limit.
SET simjoin.memory_limit = '2MB';
SELECT count(*) FROM duplicate_groups('SELECT i, ARRAY[1, i] FROM generate_series(2, 1000) i', 0.3, method => 'star');
-- Components, whose hint does not advise components.
SET simjoin.memory_limit = '1MB';
\set SHOW_CONTEXT never
SELECT count(*) FROM duplicate_groups('SELECT i, ARRAY[i] FROM generate_series(1, 20000) i', 0.9);
\set SHOW_CONTEXT errors
RESET simjoin.memory_limit;

-- keep: the first row of the query survives.
CREATE TABLE notes (id int, written date, tokens int[]);
INSERT INTO notes VALUES (1, '2026-01-01', '{1,2,3}'), (2, '2026-03-01', '{1,2,3,4}'), (3, '2026-02-01', '{1,2,3}'), (4, '2026-04-01', '{9}');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM notes', 0.7);
SELECT * FROM duplicate_groups('SELECT id, tokens FROM notes ORDER BY written DESC', 0.7, keep => 'first_row');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM notes ORDER BY written DESC', 0.7, keep => 'first_row', method => 'star');

-- Only as a component, a chain grows into one group, and a notice reports that.
SET client_min_messages = notice;
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i, i + 1, i + 2, i + 3] FROM generate_series(1, 200) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i, i + 1, i + 2, i + 3] FROM generate_series(1, 200) i', 0.6, method => 'star');
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i, i + 1, i + 2, i + 3] FROM generate_series(1, 200) i', 0.6, max_group_share => 1);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[1] FROM generate_series(1, 99) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[1] FROM generate_series(1, 100) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[greatest(i, 100)] FROM generate_series(1, 1000) i', 0.6);
-- Groups of more than 1,000 rows are always named, at most ten of them.
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i % 12] FROM generate_series(1, 12000) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i % 12] FROM generate_series(1, 12006) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i % 12] FROM generate_series(1, 12042) i WHERE i > 36 OR i % 12 < 6', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i % 12] FROM generate_series(1, 12012) i', 0.6);
SELECT count(*), count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT i, ARRAY[i % 12] FROM generate_series(1, 12012) i', 0.6, max_group_share => 1);
SET client_min_messages = warning;

-- Other types, measures and small inputs. NULL arguments are errors.
SELECT * FROM duplicate_groups('VALUES (1, ''{a,b}''::text[]), (2, ''{b,a}''), (3, ''{A,b}'')', 2, 'overlap');
SELECT * FROM duplicate_groups('SELECT 1, ''{1}''::bigint[] WHERE false', 0.5);
SELECT * FROM duplicate_groups('SELECT 1, NULL::bigint[]', 0.5, method => 'star');
SELECT * FROM duplicate_groups(NULL, 0.5);
SELECT * FROM duplicate_groups('SELECT 1, ''{1}''::bigint[]', 0.5, keep => NULL);

-- Errors.
SELECT * FROM duplicate_groups('SELECT 1', 0.5);
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[]), (1, ''{2}'')', 0.5);
SELECT * FROM duplicate_groups('VALUES (NULL::int, ''{1}''::int[])', 0.5);
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[])', 0);
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[])', 0.5, 'manhattan');
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[])', 0.5, method => 'snowball');
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[])', 0.5, keep => 'last_row');
SELECT * FROM duplicate_groups('VALUES (1, ''{1}''::int[])', 0.5, max_group_share => 2);

DROP SCHEMA duplicates_test CASCADE;
