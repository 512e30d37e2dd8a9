-- The similarity graph: components, PageRank, dense subgraphs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA graph_test;
SET search_path = graph_test, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;

-- connected_components: loops, repeated and reversed edges, extreme nodes, nodes without edges.
SELECT * FROM connected_components(
  'VALUES (1, 2), (3, 2), (2, 1), (1, 2), (5, 5), (9223372036854775807, -9223372036854775808)');
SELECT * FROM connected_components('VALUES (4::smallint, 7::int)', 'VALUES (1), (7), (-1), (1)');
SELECT * FROM connected_components('SELECT 1, 2 WHERE false', 'SELECT 1 WHERE false');
SELECT * FROM connected_components('SELECT 1, 2 WHERE false', 'SELECT 3');
-- Weights do not matter, not even invalid ones.
SELECT * FROM connected_components('VALUES (1, 2, NULL::float8), (2, 3, -1), (3, 4, ''NaN'')');
-- Random edges against a recursive query.
CREATE TABLE edges AS SELECT draw(300, i, 1) - 100 AS a, draw(300, i, 2) - 100 AS b FROM generate_series(1, 130) i;
WITH RECURSIVE both_ways AS (SELECT a, b FROM edges UNION SELECT b, a FROM edges),
  reached AS (SELECT a AS node, a AS other FROM both_ways UNION SELECT node, b FROM reached JOIN both_ways ON other = a),
  expected AS (SELECT min(other)::bigint AS component, node::bigint FROM reached GROUP BY node),
  found AS (SELECT * FROM connected_components('SELECT a, b FROM edges'))
SELECT (SELECT count(DISTINCT component) > 20 FROM expected) AS many,
       (SELECT count(*) FROM ((TABLE expected EXCEPT ALL TABLE found) UNION ALL (TABLE found EXCEPT ALL TABLE expected)) d) AS differences;
-- Straight from a join.
CREATE TABLE sets AS SELECT i AS id, ARRAY[i / 3, i / 3 + 1, i / 3 + 2, i + 1000] AS tokens FROM generate_series(1, 12) i;
SELECT component, array_agg(node ORDER BY node) FROM connected_components(
  'SELECT * FROM similarity_self_join(''SELECT id, tokens FROM sets'', 0.6)', 'SELECT id FROM sets')
GROUP BY component ORDER BY component;

-- pagerank: both methods, to rounding.
SELECT node, round(rank::numeric, 6) AS rank FROM pagerank('VALUES (1, 2), (3, 2), (2, 1), (9, 8)');
SELECT node, round(rank::numeric, 6) AS rank FROM pagerank('VALUES (1, 2), (3, 2), (2, 1), (9, 8)', directed => false);
SELECT node, round(rank::numeric, 6) AS rank FROM pagerank('VALUES (1, 2, 0.75), (1, 3, 0.25), (1, 4, 0)', damping => 0.5, nodes => 'SELECT 5');
SELECT node, rank FROM pagerank('VALUES (1, 2), (2, 3)', damping => 0) ORDER BY node;
-- A reference by plain iteration in SQL, including nodes without edges out.
CREATE TABLE links AS SELECT DISTINCT draw(60, i, 3) AS a, draw(draw(60, i, 4) + 1, i, 5) AS b FROM generate_series(1, 200) i;
CREATE FUNCTION reference(steps int) RETURNS TABLE (node int, rank float8) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE ranks AS SELECT n AS node, 1.0::float8 / count(*) OVER () AS rank
  FROM (SELECT a AS n FROM links UNION SELECT b FROM links) nodes;
  CREATE TEMP TABLE degrees AS SELECT a AS node, count(*) AS degree FROM links GROUP BY a;
  FOR i IN 1 .. steps LOOP
    CREATE TEMP TABLE next AS
    SELECT r.node, (0.15 + 0.85 * (SELECT coalesce(sum(d.rank), 0) FROM ranks d WHERE d.node NOT IN (SELECT a FROM links)))
                   / count(*) OVER () + 0.85 * coalesce(sum, 0) AS rank
    FROM ranks r LEFT JOIN (SELECT l.b, sum(f.rank / g.degree) FROM links l JOIN ranks f ON f.node = l.a
                            JOIN degrees g ON g.node = l.a GROUP BY l.b) received ON received.b = r.node;
    DROP TABLE ranks;
    ALTER TABLE next RENAME TO ranks;
  END LOOP;
  RETURN QUERY SELECT r.node, r.rank FROM ranks r;
END $$;
CREATE TABLE expected AS SELECT * FROM reference(80);
SELECT count(*) AS nodes, sum(abs(e.rank - p.rank)) < 2e-5 AS power, abs(sum(p.rank) - 1) < 1e-12 AS sums_to_one
FROM expected e FULL JOIN pagerank('SELECT a, b FROM links', tolerance => 1e-12) p ON e.node = p.node;
SELECT count(*) AS nodes, max(abs(e.rank - p.rank) / sqrt(e.rank)) < 0.02 AS random_walk, abs(sum(p.rank) - 1) < 1e-12 AS sums_to_one
FROM expected e FULL JOIN pagerank('SELECT a, b FROM links', method => 'random_walk', coupons => 2000) p ON e.node = p.node;
-- The same seed gives the same walks, whatever the threads.
CREATE FUNCTION walks(seed bigint, threads int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('simjoin.cpu_threads', threads::text, true);
  RETURN (SELECT string_agg(p::text, ';') FROM pagerank('SELECT a, b FROM links', method => 'random_walk', coupons => 20, seed => seed) p);
END $$;
SELECT walks(1, 1) = walks(1, 2) AS same, walks(1, 1) = walks(2, 1) AS other;
RESET simjoin.cpu_threads;

-- densest_subgraph: a clique among random edges, by every method.
CREATE TABLE planted AS
SELECT draw(300, i, 6) AS a, draw(300, i, 7) AS b FROM generate_series(1, 600) i
UNION ALL SELECT i * 7, j * 7 FROM generate_series(1, 12) i, generate_series(1, 12) j;
SELECT method, (SELECT array_agg(node ORDER BY node) FROM densest_subgraph('SELECT a, b FROM planted', 12, method)) AS nodes, d.*
FROM unnest('{auto,bilinear,greedy}'::text[]) method, densest_subgraph_density('SELECT a, b FROM planted', 12, method) d;
-- Weights, loops, reversed and repeated edges, more requested nodes than exist, one node, none.
SELECT * FROM densest_subgraph('VALUES (1, 2, 0.5), (2, 3, 2), (3, 2, 1), (3, 3, 9), (4, 1, 0.25)', 2) ORDER BY node;
SELECT * FROM densest_subgraph_density('VALUES (1, 2, 0.5), (2, 3, 2), (3, 2, 1), (3, 3, 9), (4, 1, 0.25)', 2);
SELECT * FROM densest_subgraph_density('VALUES (1, 2), (2, 3)', 100);
SELECT * FROM densest_subgraph_density('VALUES (1, 2), (2, 3)', 1);
SELECT * FROM densest_subgraph('SELECT 1, 2 WHERE false', 5);
SELECT * FROM densest_subgraph_density('SELECT 1, 2 WHERE false', 5);

-- NULL arguments are errors.
SELECT * FROM connected_components(NULL);
SELECT * FROM pagerank(NULL);
SELECT * FROM pagerank('VALUES (1, 2)', damping => NULL);
SELECT * FROM densest_subgraph('VALUES (1, 2)', NULL);

-- Errors.
SELECT * FROM connected_components('SELECT 1');
SELECT * FROM connected_components('SELECT 1, ''a''::text');
SELECT * FROM connected_components('VALUES (1, 2)', 'VALUES (1, 2)');
SELECT * FROM connected_components('VALUES (1, NULL::int)');
SELECT * FROM connected_components('VALUES (1, 2)', 'SELECT NULL::int');
SELECT * FROM connected_components('DELETE FROM edges RETURNING a, b');
SELECT * FROM pagerank('VALUES (1, 2, -0.5)');
SELECT * FROM pagerank('VALUES (1, 2, ''NaN''::float8)');
SELECT * FROM pagerank('VALUES (1, 2, ''Infinity''::float4)');
SELECT * FROM pagerank('VALUES (1, 2, NULL::numeric)');
SELECT * FROM pagerank('VALUES (1, 2, 1e308), (1, 3, 1e308)');
SELECT * FROM pagerank('VALUES (1, 2)', damping => 1);
SELECT * FROM pagerank('VALUES (1, 2)', damping => 'NaN');
SELECT * FROM pagerank('VALUES (1, 2)', method => 'magic');
SELECT * FROM pagerank('VALUES (1, 2)', tolerance => 0);
SELECT * FROM pagerank('VALUES (1, 2)', coupons => 0);
SELECT * FROM densest_subgraph('VALUES (1, 2)', 0);
SELECT * FROM densest_subgraph('VALUES (1, 2)', 1, 'magic');

-- The memory limit. The moment at which it is exceeded depends on whether edges are held back for a GPU.
\set SHOW_CONTEXT never
SET simjoin.memory_limit = '2MB';
SELECT count(*) FROM connected_components('SELECT i, i * 7 % 1000 FROM generate_series(1, 10000) i');
SELECT count(*) FROM connected_components('SELECT i, i + 1 FROM generate_series(1, 100000) i');
SELECT count(*) FROM pagerank('SELECT i, i + 1 FROM generate_series(1, 1000000) i');
SELECT count(*) FROM densest_subgraph('SELECT i, i + 1 FROM generate_series(1, 50000) i', 5);
RESET simjoin.memory_limit;

DROP SCHEMA graph_test CASCADE;
