-- The join operator and the nested loop give the same rows with every join type, measure, threshold and algorithm.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET simjoin.explain_device = off;

-- A pseudo-random number in [0, n) that is the same on every server.
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT (('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n) $$;

-- Sets of skewed tokens, a third of them near copies of others. Some are NULL, some empty, some have repeated tokens.
CREATE TABLE a AS
SELECT id, lang, CASE WHEN draw(40, id, 7) = 0 THEN NULL ELSE tokens END AS tokens
FROM (SELECT id, draw(3, id, 1) AS lang,
             ARRAY(SELECT draw(draw(60, base, j, 2) + 1, base, j, 3)
                   FROM generate_series(1, draw(14, base, 4)) j
                   WHERE id = base OR draw(8, id, j, 5) > 0) AS tokens
      FROM (SELECT id, CASE WHEN draw(3, id, 6) = 0 THEN draw(id, id, 8) ELSE id END AS base
            FROM generate_series(1, 300) id) bases) sets;
CREATE TABLE b AS SELECT id + 1000 AS id, lang, tokens || CASE WHEN draw(2, id, 9) = 0 THEN '{7}'::int[] END AS tokens
FROM a WHERE draw(3, id, 10) > 0;
ANALYZE a, b;

-- Runs a query as the join operator and as a nested loop and compares the results as multisets. Keeps what the nested loop
-- found: an algorithm changes nothing there.
CREATE FUNCTION agrees(query text, expected text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  found_node boolean := false;
  difference bigint;
  total bigint;
  loop_rows text := 'loop_' || md5(coalesce(expected, query));
BEGIN
  SET LOCAL enable_nestloop = off;
  SET LOCAL simjoin.enable_join = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    found_node := found_node OR line LIKE '%SetSimilarityJoin%';
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE with_node ON COMMIT DROP AS ' || query;
  IF to_regclass('pg_temp.' || loop_rows) IS NULL THEN
    SET LOCAL simjoin.enable_join = off;
    EXECUTE format('CREATE TEMP TABLE %I AS ', loop_rows) || coalesce(expected, query);
  END IF;
  EXECUTE format('SELECT (SELECT count(*) FROM ((TABLE with_node EXCEPT ALL TABLE %1$I) UNION ALL (TABLE %1$I EXCEPT ALL TABLE with_node)) d),
                         (SELECT count(*) FROM %1$I)', loop_rows) INTO difference, total;
  DROP TABLE with_node;
  RETURN CASE WHEN NOT found_node THEN 'the join operator was not used'
              WHEN difference > 0 THEN difference || ' rows differ'
              WHEN total = 0 THEN 'nothing to compare'
              ELSE 'agrees' END;
END $$;

-- Returns the plan as EXPLAIN shows it, the same from every version of PostgreSQL.
CREATE FUNCTION explained(query text, options text DEFAULT 'COSTS OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
    CONTINUE WHEN line ~ '^ *Disabled: true$';
    RETURN NEXT regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1');
  END LOOP;
END $$;

-- Measures, thresholds, algorithms; two tables and a table with itself.
SELECT measure, threshold, result, count(*)
FROM (VALUES ('jaccard_similarity'), ('cosine_similarity'), ('dice_similarity')) m (measure),
     (VALUES (0.1), (0.55), (0.8), (0.9), (1.0)) t (threshold),
     (VALUES ('auto'), ('allpairs'), ('ppjoin'), ('groupjoin'), ('bitmap')) g (algorithm),
     (VALUES ('b'), ('a')) r (right_table),
     LATERAL set_config('simjoin.algorithm', algorithm, false) s,
     LATERAL agrees(format(
       'SELECT l.id AS x, r.id AS y, %1$s(l.tokens, r.tokens) AS s FROM a l JOIN %3$s r ON %1$s(l.tokens, r.tokens) >= %2$s',
       measure, threshold, right_table)) result
WHERE s IS NOT NULL
GROUP BY measure, threshold, result ORDER BY 1, 2;
SELECT threshold, result, count(*)
FROM (VALUES (1), (2), (5), (9)) t (threshold),
     (VALUES ('auto'), ('allpairs'), ('ppjoin'), ('groupjoin'), ('bitmap')) g (algorithm),
     (VALUES ('b'), ('a')) r (right_table),
     LATERAL set_config('simjoin.algorithm', algorithm, false) s,
     LATERAL agrees(format(
       'SELECT l.id AS x, r.id AS y, overlap_count(l.tokens, r.tokens) AS s FROM a l JOIN %2$s r ON overlap_count(l.tokens, r.tokens) >= %1$s',
       threshold, right_table)) result
WHERE s IS NOT NULL
GROUP BY threshold, result ORDER BY 1;
RESET simjoin.algorithm;

-- Join types.
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l RIGHT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l FULL JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6',
  'SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6
   UNION ALL SELECT NULL, r.id FROM b r WHERE NOT EXISTS (SELECT FROM a l WHERE jaccard_similarity(l.tokens, r.tokens) >= 0.6)');
SELECT agrees('SELECT l.id FROM a l WHERE EXISTS (SELECT FROM b r WHERE jaccard_similarity(l.tokens, r.tokens) >= 0.6)');
SELECT agrees('SELECT l.id FROM a l WHERE NOT EXISTS (SELECT FROM b r WHERE jaccard_similarity(l.tokens, r.tokens) >= 0.6)');
SELECT agrees('SELECT l.id FROM a l WHERE l.tokens ~= ANY (SELECT r.tokens FROM b r)');
SELECT agrees('SELECT l.id FROM a l LEFT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6 WHERE r.id IS NULL');
-- The same table on both sides.
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l FULL JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6 AND l.id < r.id',
  'SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6 AND l.id < r.id
   UNION ALL SELECT NULL, r.id FROM a r WHERE NOT EXISTS (SELECT FROM a l WHERE jaccard_similarity(l.tokens, r.tokens) >= 0.6 AND l.id < r.id)');
SELECT agrees('SELECT l.id FROM a l WHERE EXISTS (SELECT FROM a r WHERE r.id < l.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.6)');
SELECT agrees('SELECT l.id FROM a l WHERE NOT EXISTS (SELECT FROM a r WHERE r.id < l.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.6)');

-- Further clauses, above and beside the similarity clause.
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN a r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON l.id + 990 < r.id AND (l.lang = 1 OR r.lang = 2) AND jaccard_similarity(l.tokens, r.tokens) >= 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN b r ON l.lang < r.lang AND jaccard_similarity(l.tokens, r.tokens) >= 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN b r ON l.lang < r.lang AND jaccard_similarity(l.tokens, r.tokens) >= 0.5 WHERE r.lang = 2 OR r.lang IS NULL');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.5 AND overlap_count(r.tokens, l.tokens) > 4');
SELECT agrees('SELECT l.id AS x, r.id AS y, l.lang || r.lang::text AS z FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.5 WHERE l.id % 2 = 0 AND r.lang = 1');

-- Equality clauses keep rows apart: partitions are not compared with each other.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON l.lang = r.lang AND jaccard_similarity(l.tokens, r.tokens) >= 0.4');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN a r ON r.lang = l.lang AND l.id % 2 = (r.id % 2)::bigint AND jaccard_similarity(l.tokens, r.tokens) >= 0.4');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN a r ON r.lang = l.id % 2 AND jaccard_similarity(l.tokens, r.tokens) >= 0.4');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN b r ON l.lang::text = r.lang::text AND jaccard_similarity(l.tokens::text[], r.tokens::text[]) >= 0.4');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l LEFT JOIN a r ON nullif(l.lang, 1) = nullif(r.lang, 1) AND jaccard_similarity(l.tokens, r.tokens) >= 0.4');
SELECT agrees('SELECT l.id FROM a l WHERE EXISTS (SELECT FROM b r WHERE l.lang = r.lang AND jaccard_similarity(l.tokens, r.tokens) >= 0.6)');
SELECT agrees('SELECT l.id AS x FROM a l WHERE NOT EXISTS (SELECT FROM a r WHERE r.lang = l.lang AND r.id < l.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.4)');
SELECT agrees('SELECT v.t AS t, (SELECT count(*) FROM a p JOIN b q ON p.lang = q.lang AND jaccard_similarity(p.tokens, q.tokens) >= v.t) AS n FROM (VALUES (0.5), (0.0), (-1)) v (t)');
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM a l JOIN a r ON l.lang = r.lang AND l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.4;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- Spellings of the clause: commuted, strict, sides exchanged, casts, expressions, the operator.
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON 0.5 <= jaccard_similarity(r.tokens, l.tokens)');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) > 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON 0.5::float4 < dice_similarity(r.tokens, l.tokens)');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON overlap_count(l.tokens, r.tokens) > 3::bigint');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON 4.5::float8 < overlap_count(l.tokens, r.tokens)');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON jaccard_similarity(l.tokens || 5, array_remove(r.tokens, 2)) >= 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON jaccard_similarity(l.tokens::text[], r.tokens::text[]) >= 0.5');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON jaccard_similarity(l.tokens::int8[], r.tokens::int8[]) >= 0.5');
SELECT d, agrees(format('SELECT l.id AS x, r.id AS y, l.tokens <%%> r.tokens AS d FROM a l JOIN b r ON r.tokens <%%> l.tokens <= %s', d))
FROM (VALUES (0.0), (0.1), (0.2), (0.3), (0.5), (0.7)) v (d);
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN a r ON 0.5 > l.tokens <%> r.tokens AND l.id < r.id');
SELECT agrees('SELECT v.d AS d, (SELECT count(*) FROM a p JOIN b q ON p.tokens <%> q.tokens <= v.d) AS n FROM (VALUES (0.4), (1.0), (-0.5), (2), (NULL), (''NaN''::float8)) v (d)');
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN b r ON l.tokens ~= r.tokens');
SET simjoin.measure = cosine;
SET simjoin.similarity_threshold = 0.8;
SELECT agrees('SELECT l.id AS x, r.id AS y FROM a l JOIN a r ON l.tokens ~= r.tokens');
RESET simjoin.measure;
RESET simjoin.similarity_threshold;

-- Columns that the join carries: whole rows, system columns, the sets themselves, the similarity in expressions.
SELECT agrees('SELECT l AS x, r AS y, l.ctid AS c FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.7');
SELECT agrees('SELECT l.tokens AS x, r.tokens AS y, 1 - jaccard_similarity(l.tokens, r.tokens) AS d, jaccard_similarity(r.tokens, l.tokens) AS s FROM a l JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.7');
SELECT agrees('SELECT l.id AS x, jaccard_similarity(l.tokens, r.tokens) AS s FROM a l LEFT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.7');
SELECT agrees('SELECT count(*) FROM a l JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.7');

-- Inputs of every kind.
SELECT agrees('SELECT x.id AS x, c.id AS y FROM (SELECT id, array_agg(t ORDER BY t) AS tokens FROM a, unnest(tokens) t GROUP BY id) x JOIN b c ON jaccard_similarity(x.tokens, c.tokens) >= 0.6');
SELECT agrees('WITH x AS MATERIALIZED (SELECT * FROM a WHERE lang > 0) SELECT l.id AS x, r.id AS y FROM x l JOIN x r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6');
SELECT agrees('SELECT l.id AS x, r.id AS y, z.id AS z FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6 JOIN a z ON z.id = r.id - 1000');
SELECT agrees('SELECT l.id AS x, r.id AS y, z.id AS z FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.6 LEFT JOIN a z ON jaccard_similarity(z.tokens, r.tokens) >= 0.9 AND z.lang = l.lang');
SELECT agrees('SELECT l.id AS x, (SELECT count(*) FROM a p JOIN b q ON jaccard_similarity(p.tokens, q.tokens) >= 0.7 WHERE p.lang = l.lang) AS n FROM a l WHERE l.id < 20');
SELECT agrees('SELECT v.t AS t, (SELECT count(*) FROM a p JOIN b q ON jaccard_similarity(p.tokens, q.tokens) >= v.t) AS n FROM (VALUES (0.9), (0.0), (0.5), (NULL), (-1), (2), (''NaN''::float8)) v (t)');

-- A threshold that is a parameter of a generic plan, also if every pair qualifies, or none.
SET plan_cache_mode = force_generic_plan;
SET enable_nestloop = off;
PREPARE pairs (float8) AS SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= $1;
EXPLAIN (COSTS OFF) EXECUTE pairs (0.5);
EXECUTE pairs (0.5);
EXECUTE pairs (0);
SELECT (SELECT count(tokens) FROM a) * (SELECT count(tokens) FROM b) AS all_pairs;
EXECUTE pairs (NULL);
EXECUTE pairs (1.5);
RESET plan_cache_mode;

-- Thresholds that differ from row to row, and volatile ones, are not for the join operator.
SELECT explained('SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= l.id / 300.0');
SELECT explained('SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= random()');
SELECT explained('SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0');
RESET enable_nestloop;

-- The output of EXPLAIN.
EXPLAIN (COSTS OFF, VERBOSE) SELECT l.id, r.id, jaccard_similarity(l.tokens, r.tokens) FROM a l JOIN a r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.8;
SET simjoin.algorithm = ppjoin;
SET simjoin.cpu_threads = 1;
SELECT explained('SELECT count(*) FROM a l JOIN a r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.8',
                 'ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT explained('SELECT count(*) FROM a l JOIN a r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.8',
                 'ANALYZE, VERBOSE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF');
-- Without VERBOSE it fits a screen.
CREATE FUNCTION plan_lines(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text; lines int := 0;
BEGIN
  FOR line IN EXECUTE query LOOP lines := lines + 1; END LOOP;
  RETURN lines;
END $$;
SET simjoin.explain_device = on;
SET simjoin.memory_limit = '1GB';
SELECT plan_lines('EXPLAIN (ANALYZE, BUFFERS OFF) ' || query) <= 26 AS short, plan_lines('EXPLAIN (ANALYZE, BUFFERS OFF, VERBOSE) ' || query) > 35 AS long
FROM (SELECT 'SELECT l.id FROM a l JOIN b r ON l.id + 1 < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.8' AS query) q;
RESET simjoin.memory_limit;
SET simjoin.explain_device = off;
DROP FUNCTION plan_lines;
-- Machine-readable formats have all facts.
CREATE FUNCTION node_facts(query text, facts text) RETURNS TABLE (fact text, value text) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
  RETURN QUERY SELECT f.key, f.value FROM json_each_text(plan->0->'Plan') f WHERE f.key ~ facts;
END $$;
SELECT * FROM node_facts('SELECT l.id FROM a l LEFT JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.8',
  '^(Custom Plan|Join Type|Similarity|Measure|Inputs|Algorithm|Sets|Tokens|Distinct|Pairs)');
SELECT fact FROM node_facts('SELECT l.id FROM a l JOIN a r ON jaccard_similarity(l.tokens, r.tokens) >= 0.8', 'Time$|Wait|Memory|Files|Threads');

-- Distinct tokens of every type, also of integers far apart.
SELECT type, value FROM (VALUES ('int[]'), ('bigint[]'), ('text[]')) t (type),
  LATERAL node_facts(format('SELECT l.id FROM a l JOIN a r ON jaccard_similarity(l.tokens::%1$s, r.tokens::%1$s) >= 0.8', type), '^Distinct');
SELECT value FROM node_facts('SELECT 1 FROM (VALUES (1, ARRAY[-2000000000, 5]), (2, ARRAY[2000000000, 5])) l (id, s) JOIN a r ON overlap_count(l.s, r.tokens || 2000000001) >= 1', '^Distinct');

-- Pairs just beyond a distance are not counted, though the engine has found them.
SELECT value::bigint = (SELECT count(*) FROM a l JOIN b r ON l.tokens <%> r.tokens < 0.2) AS exact,
       value::bigint < (SELECT count(*) FROM a l JOIN b r ON l.tokens <%> r.tokens <= 0.2) AS some_on_the_threshold
FROM node_facts('SELECT 1 FROM a l JOIN b r ON l.tokens <%> r.tokens < 0.2', '^Pairs Output');

-- Pairs of equal sets, by every algorithm. Semi joins do not count them.
CREATE TABLE copies AS SELECT i AS id, ARRAY[i % 40, 100 + i % 3, 200 + i % 2, 200 + i % 2] AS tokens FROM generate_series(1, 300) i;
SELECT algorithm, value::bigint - (SELECT count(*) FROM copies l JOIN copies r ON l.id < r.id AND l.tokens = r.tokens) AS difference
FROM unnest('{auto,allpairs,ppjoin,groupjoin,bitmap}'::text[]) algorithm, set_config('simjoin.algorithm', algorithm, false),
  node_facts('SELECT 1 FROM copies l JOIN copies r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.5', '^Pairs of Equal') ORDER BY 1;
RESET simjoin.algorithm;
SELECT value::bigint = (SELECT count(*) FROM copies l JOIN copies r ON l.tokens = r.tokens WHERE r.id <= 3) AS same
FROM node_facts('SELECT 1 FROM copies l JOIN (SELECT * FROM copies WHERE id <= 3) r ON jaccard_distance(l.tokens, r.tokens) <= 0.5', '^Pairs of Equal');
SELECT count(*) FROM node_facts('SELECT 1 FROM copies l WHERE EXISTS (SELECT FROM copies r WHERE l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.5)',
  '^Pairs of Equal');
DROP TABLE copies;

-- The threshold is a number. With ANALYZE it is the one that was used.
CREATE FUNCTION threshold_of(query text, options text DEFAULT '') RETURNS TABLE (label text, type text, value text) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON' || options || ') ' || query INTO plan;
  RETURN QUERY SELECT f.key, json_typeof(f.value), f.value #>> '{}' FROM json_each(plan->0->'Plan') f WHERE f.key ~ 'Threshold';
END $$;
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.7');
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) > 2/3::float8');
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON 1e-30 <= cosine_similarity(l.tokens, r.tokens)');
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON overlap_count(l.tokens, r.tokens) >= 5');
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON l.tokens <%> r.tokens <= 0.15');
SELECT * FROM threshold_of('SELECT 1 FROM a l JOIN b r ON l.tokens ~= r.tokens');
SET plan_cache_mode = force_generic_plan;
PREPARE near(float8) AS SELECT 1 FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= $1;
PREPARE apart(float8) AS SELECT 1 FROM a l JOIN b r ON l.tokens <%> r.tokens < $1;
SELECT o AS options, t.* FROM (VALUES ('', 0.75), (', ANALYZE', 0.75), (', ANALYZE', NULL)) v (o, t),
  LATERAL threshold_of('EXECUTE near(' || coalesce(v.t::text, 'NULL') || ')', o) t;
SELECT * FROM threshold_of('EXECUTE apart(0.15)', ', ANALYZE');
SELECT * FROM threshold_of('EXECUTE apart(''NaN'')', ', ANALYZE');
DEALLOCATE near;
DEALLOCATE apart;
RESET plan_cache_mode;
DROP FUNCTION threshold_of;

-- A row that may join itself does so before the engine begins, so a LIMIT does not wait for that. If that depends on the number
-- of tokens, the row joins itself afterwards.
CREATE FUNCTION pairs_under_limit(clause text) RETURNS TABLE (returned bigint, node text, engine_began boolean) LANGUAGE plpgsql AS $$
DECLARE
  query text := 'SELECT l.id FROM a l JOIN a r ON ' || clause || ' LIMIT 5';
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
  EXECUTE 'SELECT count(*) FROM (' || query || ') r' INTO returned;
  plan := plan->0->'Plan'->'Plans'->0;
  node := plan->>'Custom Plan Provider';
  engine_began := plan->'Pairs' IS NOT NULL;
  RETURN NEXT;
END $$;
SET enable_nestloop = off;
SELECT * FROM pairs_under_limit('jaccard_similarity(l.tokens, r.tokens) >= 0.8');
SELECT * FROM pairs_under_limit('l.tokens <%> r.tokens < 0.1');
SELECT * FROM pairs_under_limit('overlap_count(l.tokens, r.tokens) >= 2');
SELECT * FROM pairs_under_limit('l.id <> r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.8');
RESET enable_nestloop;
DROP FUNCTION pairs_under_limit;
SELECT agrees('SELECT l.id AS x, r.id AS y, l.tokens <%> r.tokens AS d FROM a l JOIN a r ON l.tokens <%> r.tokens <= 0.4');
SELECT agrees('SELECT l.id AS x, r.id AS y, overlap_count(l.tokens, r.tokens) AS o FROM a l JOIN a r ON overlap_count(l.tokens, r.tokens) >= 3');
SELECT agrees('SELECT l.id AS x, r.id AS y, cosine_similarity(l.tokens, r.tokens) AS c FROM a l LEFT JOIN a r ON cosine_similarity(l.tokens, r.tokens) > 0.9 AND l.lang = r.lang');

-- Beyond the memory limit rows go to temporary files.
SET simjoin.memory_limit = '1MB';
CREATE VIEW wide AS SELECT tokens, repeat(id::text, 1000) AS text FROM b OFFSET 0;
SELECT agrees('SELECT l AS x, r.text AS y FROM a l JOIN wide r ON jaccard_similarity(l.tokens, r.tokens) >= 0.3');
SELECT fact, value::int > 0 AS used FROM node_facts('SELECT l, r.text FROM a l JOIN wide r ON jaccard_similarity(l.tokens, r.tokens) >= 0.3', '^Row [MT]');
DROP VIEW wide;
RESET ALL;
SET jit = off;

-- Arrays that are not sets.
INSERT INTO b VALUES (5000, 0, '{{1,2},{3,4}}');
SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.8;
UPDATE b SET tokens = '{1,NULL}' WHERE id = 5000;
SELECT count(*) FROM a l JOIN b r ON jaccard_similarity(l.tokens, r.tokens) >= 0.8;
-- The error is that of the function, whether a nested loop or the join operator calls it.
CREATE FUNCTION message_of(clause text) RETURNS TABLE (node text, nested_loop text) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..2 LOOP
    PERFORM set_config('simjoin.enable_join', CASE i WHEN 1 THEN 'on' ELSE 'off' END, true);
    BEGIN
      EXECUTE 'SELECT count(*) FROM a l JOIN b r ON ' || clause;
    EXCEPTION WHEN null_value_not_allowed THEN
      IF i = 1 THEN node := SQLERRM; ELSE nested_loop := SQLERRM; END IF;
    END;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT clause, node, node = nested_loop AS same
FROM (VALUES ('cosine_similarity(l.tokens, r.tokens) >= 0.8'), ('dice_similarity(l.tokens, r.tokens) >= 0.8'), ('overlap_count(l.tokens, r.tokens) >= 2'),
             ('l.tokens <%> r.tokens <= 0.2'), ('l.tokens ~= r.tokens'), ('l.lang = r.lang AND jaccard_similarity(l.tokens, r.tokens) >= 0.8')) c (clause),
     LATERAL message_of(clause);
DROP FUNCTION message_of;
DISCARD TEMP;
DROP TABLE a, b;
DROP FUNCTION agrees, draw, explained, node_facts;
