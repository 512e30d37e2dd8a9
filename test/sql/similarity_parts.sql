-- The parts of a distributed join.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SELECT set_size('{3,1,3}'::int[]), set_size('{}'::int[]), set_size('{a,a}'::text[]), set_size(NULL::int[]), set_size('{1,2}'::bigint[]);
SELECT set_size('{1,NULL}'::int[]);
SELECT set_size('{{1,2},{3,4}}'::int[]);
SELECT set_size('{1.5}'::numeric[]);
-- By id. The numbers of a routed table hold for good.
SELECT parts, similarity_parts(1, parts) FROM unnest('{1,3,7,13,21,31,57,73}'::int[]) parts;
SELECT similarity_parts(NULL, 7), similarity_parts(1, NULL);
SELECT similarity_parts(1, 16);
SELECT similarity_parts(1, -1);
SELECT similarity_part_group(id, 10) FROM unnest('{0,1,-1,9223372036854775807}'::bigint[]) id;
SELECT similarity_part_group(1, 0);
-- By size.
SELECT similarity_part_bounds('{2,1}', '{10,20}', 4), similarity_part_bounds('{}', '{}', 3), similarity_part_bounds('{5}', '{7}', 1);
SELECT similarity_part_bounds('{1,2}', '{10}', 4);
SELECT similarity_part_bounds('{1,NULL}', '{10,2}', 4);
SELECT similarity_part_bounds('{1,2}', '{10,-2}', 4);
SELECT similarity_part_bounds('{1}', '{10}', 0);
SELECT similarity_part_bounds('{1}', '{10}', 2000000000);
SELECT similarity_parts(7, tokens, 0.5, '{4294967296,12884901888}'), similarity_parts(7, tokens, 0.5, '{4294967296,12884901888}', both_sides => true)
FROM (VALUES ('{}'::int[]), ('{1}'), ('{1,2}'), ('{1,2,3}'), (NULL)) v (tokens);
SELECT similarity_parts(7, '{1,2}'::int[], 0.5, '{}'), similarity_parts(7, '{1,2}'::text[], 3, '{4294967296}', 'overlap'),
       similarity_parts(NULL, '{1}'::int[], 0.5, '{}'), similarity_parts(7, '{1}'::int[], NULL, '{}');
SELECT similarity_parts(7, '{1,2}'::int[], 0, '{}');
SELECT similarity_parts(7, '{1,2}'::int[], 'NaN', '{}');
SELECT similarity_parts(7, '{1,2}'::int[], 0.5, '{2,1}');
SELECT similarity_parts(7, '{1,2}'::int[], 0.5, '{NULL}');
SELECT similarity_parts(7, '{1,2}'::int[], 0.5, '{}', 'hamming');

-- A routed table, and its pairs beside those of the table itself.
SELECT setseed(0.5);
CREATE TABLE spread AS
SELECT id, ARRAY(SELECT (random() * 25)::int FROM generate_series(1, (id * 7) % 12) WHERE id > 0) AS tokens FROM generate_series(1, 300) id;
INSERT INTO spread VALUES (1000, NULL), (1001, '{}');
SELECT create_similarity_route('spread', 'id', 'tokens', 0.6);
SELECT count(*) > 20 AS pairs FROM spread_pairs;
(TABLE spread_pairs EXCEPT ALL SELECT * FROM similarity_self_join('SELECT id, tokens FROM spread', 0.6))
UNION ALL (SELECT * FROM similarity_self_join('SELECT id, tokens FROM spread', 0.6) EXCEPT ALL TABLE spread_pairs);
SELECT count(DISTINCT part) > 10 AS parts, count(*) FILTER (WHERE n = 1) AS homes FROM spread_route;
-- Another one of another measure, with the names that are free, for ids that are texts.
SELECT create_similarity_route('spread', 'md5(id::text)', 'tokens', 3, 5, 'overlap');
SELECT count(*) = (SELECT count(*) FROM similarity_self_join('SELECT id, tokens FROM spread', 3, 'overlap')) AS all_pairs FROM spread_pairs1;
SELECT create_similarity_route('spread', 'id', 'tokens', 2);
SELECT create_similarity_route('spread', 'id', 'nothing', 0.5);
SELECT create_similarity_route('spread', 'id', 'tokens', 0.5, 0);
CREATE TABLE "no Rows" ("Id" bigint, "To kens" text[]);
SELECT create_similarity_route('"no Rows"', '"Id"', '"To kens"', 0.6);
SELECT count(*) FROM "no Rows_pairs";

-- The rows without a partner: sets visit the parts before their home, too.
WITH bounds AS MATERIALIZED (
  SELECT similarity_part_bounds(array_agg(size), array_agg(count), 9) AS bounds
  FROM (SELECT set_size(tokens) AS size, count(*) FROM spread WHERE tokens IS NOT NULL GROUP BY 1) s
), route AS MATERIALIZED (
  SELECT part, n, id, tokens
  FROM spread, bounds, LATERAL unnest(similarity_parts(id, tokens, 0.6, bounds, both_sides => true)) WITH ORDINALITY p (part, n)
)
SELECT count(*) = (SELECT count(*) FROM spread a WHERE NOT EXISTS (SELECT FROM spread b WHERE a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6)) AS same
FROM route a
WHERE n = 1 AND NOT EXISTS (SELECT FROM route b WHERE a.part = b.part AND a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6);

-- Forests: as many edges as connect the nodes.
SELECT spanning_forest(a, b) FROM (VALUES (1, 2), (2, 3), (3, 1), (7, 7), (NULL, 1), (9, 8)) e (a, b);
SELECT spanning_forest(a, b) FROM (VALUES (1, 2)) e (a, b) WHERE a > 1;
SELECT cardinality(spanning_forest(i, j)) FROM generate_series(1, 100) i, generate_series(1, 100) j;
SET simjoin.memory_limit = '1MB';
SELECT spanning_forest(i, i + 1) FROM generate_series(1, 1000000) i;
RESET simjoin.memory_limit;
DROP TABLE spread CASCADE;
DROP TABLE spread_route, spread_route1, "no Rows", "no Rows_route" CASCADE;
