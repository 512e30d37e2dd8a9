-- EXISTS and NOT EXISTS over families of copies: the engine may leave out pairs of rows that are known to have partners,
-- and the rows are those of the nested loop.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- Families of copies and near-copies, rows without a partner, empty sets and NULLs. The ids are not in the order of the sets. More rows
-- and elements than a join within the session's own thread has.
CREATE TABLE copies AS
SELECT i * 7919 % 1201 AS id, i % 5 AS kind,
       CASE WHEN i % 50 = 0 THEN NULL
            WHEN i % 51 = 0 THEN '{}'
            WHEN i % 9 = 0 THEN ARRAY(SELECT 1000 * i + j FROM generate_series(1, 60) j)
            WHEN i % 7 = 0 THEN ARRAY(SELECT 1000 * (i % 3) + j FROM generate_series(1, 50 + i % 4) j)
            ELSE ARRAY(SELECT 1000 * (i % 3) + j FROM generate_series(1, 60) j) END AS tokens
FROM generate_series(1, 1200) i;
CREATE TABLE fewer AS SELECT id, kind, tokens FROM copies WHERE id % 3 > 0;
ANALYZE copies, fewer;

CREATE FUNCTION uses_operator(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN plan::text LIKE '%SetSimilarityJoin%';
END $$;
-- Returns whether each query gives the same ids by the nested loop and by the join operator with every algorithm, with much
-- memory and with little; else which does not.
CREATE FUNCTION compare(VARIADIC queries text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query text;
  chosen text;
  memory text;
  expected int[];
  found int[];
BEGIN
  FOREACH query IN ARRAY queries LOOP
    PERFORM set_config('simjoin.enable_join', 'off', true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM (%s) q', query) INTO expected;
    PERFORM set_config('simjoin.enable_join', 'on', true);
    IF expected IS NULL THEN RETURN 'nothing to compare: ' || query; END IF;
    IF NOT uses_operator(query) THEN RETURN 'no join operator: ' || query; END IF;
    FOREACH chosen IN ARRAY '{auto,allpairs,ppjoin,groupjoin,bitmap}'::text[] LOOP
      FOREACH memory IN ARRAY '{1GB,1MB}'::text[] LOOP
        PERFORM set_config('simjoin.algorithm', chosen, true), set_config('simjoin.memory_limit', memory, true);
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM (%s) q', query) INTO found;
        IF found IS DISTINCT FROM expected THEN RETURN format('%s with %s: %s', chosen, memory, query); END IF;
      END LOOP;
    END LOOP;
    PERFORM set_config('simjoin.algorithm', 'auto', true), set_config('simjoin.memory_limit', '1GB', true);
  END LOOP;
  RETURN 'same rows';
END $$;

-- A table with itself, which is read once: a pair stands for both directions.
SELECT compare(
  'SELECT id FROM copies a WHERE EXISTS (SELECT FROM copies b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)',
  'SELECT id FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)',
  'SELECT id FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.id <> a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6)',
  'SELECT id FROM copies a WHERE EXISTS (SELECT FROM copies b WHERE b.id > a.id + 1100 AND jaccard_similarity(a.tokens, b.tokens) >= 1.0)');
-- Two tables, of which either is the larger one, and keys.
SELECT compare(
  'SELECT id FROM copies a WHERE EXISTS (SELECT FROM fewer b WHERE b.id <> a.id AND cosine_similarity(a.tokens, b.tokens) >= 0.9)',
  'SELECT id FROM fewer a WHERE EXISTS (SELECT FROM copies b WHERE b.id > a.id AND dice_similarity(a.tokens, b.tokens) >= 0.8)',
  'SELECT id FROM copies a WHERE NOT EXISTS (SELECT FROM fewer b WHERE b.kind = a.kind AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)',
  'SELECT id FROM fewer a WHERE NOT EXISTS (SELECT FROM copies b WHERE (a.id * 31 + b.id) % 997 = 0 AND overlap_count(a.tokens, b.tokens) >= 10)');
-- A condition that is never satisfied needs all pairs.
SELECT compare(
  'SELECT id FROM copies a WHERE NOT EXISTS (SELECT FROM copies b WHERE b.id < a.id AND b.kind + 10 < a.kind AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)');

-- A threshold of zero that only the executor knows: every pair of rows that are not NULL.
SET plan_cache_mode = force_generic_plan;
PREPARE reached(float8) AS SELECT count(*) FROM copies a WHERE EXISTS
  (SELECT FROM fewer b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= $1);
EXECUTE reached(0);
EXECUTE reached(0.8);
SELECT count(*) FROM copies WHERE tokens IS NOT NULL AND id > (SELECT min(id) FROM fewer WHERE tokens IS NOT NULL);
DEALLOCATE reached;
RESET plan_cache_mode;

-- By bands. Copies agree in all bands.
SET simjoin.method = minhash;
SELECT count(*) FROM copies a WHERE EXISTS (SELECT FROM copies b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.99);
RESET simjoin.method;
SET simjoin.enable_join = off;
SELECT count(*) FROM copies a WHERE EXISTS (SELECT FROM copies b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.99);
RESET simjoin.enable_join;

-- Most pairs of copies are not handed over, however fast the threads are. A small join hands over all pairs.
CREATE FUNCTION few_pairs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
  plan := jsonb_path_query_first(plan, '$.**  ? (@."Custom Plan Provider" == "SetSimilarityJoin")');
  RETURN CASE WHEN (plan->>'Pairs Output')::bigint < (plan->>'Pairs')::bigint / 4 THEN 'few' ELSE 'many' END ||
         CASE WHEN plan ? 'Pairs Left Out' THEN ', others left out' ELSE '' END;
END $$;
CREATE TABLE equal AS SELECT id, ARRAY(SELECT generate_series(1, 20)) AS tokens FROM generate_series(1, 1500) id;
ANALYZE equal;
SELECT few_pairs('SELECT FROM equal a WHERE EXISTS (SELECT FROM equal b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)');
SELECT few_pairs('SELECT FROM equal a JOIN equal b ON b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8');
SELECT few_pairs('SELECT FROM (SELECT * FROM equal WHERE id <= 100) a WHERE EXISTS
  (SELECT FROM equal b WHERE b.id < a.id AND b.id <= 100 AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)');

-- A statement that stops early leaves no waiting thread behind.
SELECT count(*) FROM (SELECT FROM equal a WHERE EXISTS
  (SELECT FROM equal b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8) LIMIT 5) q;
BEGIN;
DECLARE first_rows CURSOR FOR SELECT a.id > 0 AS found FROM equal a WHERE EXISTS
  (SELECT FROM equal b WHERE b.id <> a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8);
FETCH 2 FROM first_rows;
CLOSE first_rows;
COMMIT;

-- The usual purpose of the statement.
DELETE FROM equal a WHERE EXISTS (SELECT FROM equal b WHERE b.id < a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8);
SELECT id FROM equal;

-- An equality of few keys beside the similarity. A hash join would call the measure for all rows of a key until one is
-- similar, and mostly none is. If one side has few rows, the other one streams, and is not even looked up if its key is another.
CREATE TABLE keyed (id int, one int, tenant int, tokens int[]);
INSERT INTO keyed SELECT id, 1, id % 20, ARRAY(SELECT hashint4(id * 61 + j) & 8191 FROM generate_series(1, 60) j)
FROM generate_series(1, 2000) id;
CREATE FUNCTION chosen_plans(most_rows int) RETURNS TABLE (condition text, key text, plan text) LANGUAGE plpgsql AS $$
DECLARE lines json;
BEGIN
  FOR condition, key IN SELECT * FROM unnest('{EXISTS,NOT EXISTS}'::text[]) c, unnest('{one,tenant}'::text[]) k ORDER BY 1, 2 LOOP
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM keyed a WHERE id <= %s AND %s (SELECT FROM keyed b
                    WHERE b.%3$I = a.%3$I AND b.id <> a.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8)', most_rows, condition, key) INTO lines;
    plan := coalesce(lines -> 0 -> 'Plan' ->> 'Custom Plan Provider', 'other');
    RETURN NEXT;
  END LOOP;
END $$;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT * FROM chosen_plans(2000);
ANALYZE keyed;
SELECT * FROM chosen_plans(2000);
SELECT * FROM chosen_plans(2);
-- Parallel hash joins are charged alike.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM chosen_plans(2000);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- A subplan's condition is costed before the tables above it are known.
SELECT count(*) FROM fewer f WHERE NOT f.tokens ~= ANY (SELECT tokens FROM copies WHERE id < 5);

DROP TABLE copies, fewer, equal, keyed;
DROP FUNCTION uses_operator, compare, few_pairs, chosen_plans;
