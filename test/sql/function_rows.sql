-- How many rows the planner expects of functions over queries.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA function_rows_test;
SET search_path = function_rows_test, public;

-- A row for each row of the query, where the planner can tell how many these are.
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE TABLE big AS SELECT i AS id, ARRAY[i] AS tokens FROM generate_series(1, 5000) i;
CREATE TABLE fresh AS TABLE big;
CREATE VIEW a_view AS TABLE big;
ANALYZE big;
CREATE TABLE edges (a int, b int);
SELECT call, estimate('SELECT * FROM ' || call) FROM (VALUES (1,
  'duplicate_groups(''SELECT id, tokens FROM big'', 0.5)'), (2,
  'duplicate_groups(''SELECT id, tokens FROM function_rows_test.big b;'', 0.5)'), (3,
  'similarity_self_join(''SELECT id, tokens FROM big WHERE id > 3'', 0.5)'), (4,
  'similarity_self_join(''SELECT id, tokens FROM big ORDER BY id LIMIT 7'', 0.5)'), (5,
  'similarity_neighbors(''SELECT id, tokens FROM (TABLE big) x'', ''TABLE fresh'', 3)'), (6,
  'similarity_join(''VALUES (1, ARRAY[1]), (2, ARRAY[2])'', ''TABLE big'', 0.5)'), (7,
  'connected_components(''SELECT id, id FROM big UNION ALL SELECT id, id FROM big'')'), (8,
  'densest_subgraph(''SELECT a, b FROM edges'', 9)'), (9,
  'densest_subgraph_density(''SELECT a, b FROM edges'', 9)'), (10,
  'minhash_signatures(''TABLE big'')'), (11,
  'similarity_self_join(''SELECT id, tokens FROM fresh'', 0.5)'), (12,
  'similarity_self_join(''SELECT id, tokens FROM a_view'', 0.5)'), (13,
  'similarity_self_join(''SELECT a.id, a.tokens FROM big a JOIN big b USING (id)'', 0.5)'), (14,
  'similarity_self_join(''WITH big AS (SELECT 1) TABLE big'', 0.5)'), (15,
  'similarity_self_join(''SELECT id, tokens FROM no_such_table'', 0.5)'), (16,
  'similarity_self_join(''SELECT id, tokens FROM no_such_schema.big'', 0.5)'), (17,
  'similarity_self_join(''SELECT id, tokens FROM a.b.c'', 0.5)'), (18,
  'similarity_self_join(''no query at all'', 0.5)'), (19,
  'similarity_self_join(''DELETE FROM big'', 0.5)'), (20,
  'similarity_self_join('''', 0.5)'), (21,
  'similarity_self_join(repeat(''SELECT id, tokens FROM big UNION ALL '', 100) || ''TABLE big'', 0.5)'), (22,
  'best_matches(''SELECT id, id, 1 FROM big'', ''mutual'')'), (23,
  'similarity_match(''TABLE big'', ''TABLE fresh'', 0.5)')) c (number, call) ORDER BY number;
PREPARE estimated (text) AS SELECT * FROM duplicate_groups($1, 0.5);
SELECT estimate('EXECUTE estimated (''TABLE big'')');
-- To plan takes no lock of the query's table.
BEGIN;
EXPLAIN (COSTS OFF) SELECT * FROM duplicate_groups('SELECT id, tokens FROM big', 0.5);
SELECT count(*) FROM pg_locks WHERE relation = 'big'::regclass AND pid = pg_backend_pid();
COMMIT;
DROP SCHEMA function_rows_test CASCADE;
