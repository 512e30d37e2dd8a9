-- A side with few rows is indexed, and the other side streams past it. The rows are those of the nested loop and of a join
-- that ranks both sides.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;

-- Near-duplicates, NULLs, empty sets, repeated elements. `few` has some rows of `many`, changed.
CREATE TABLE many (id int, tenant int, k text, tokens int[]);
INSERT INTO many SELECT i, i % 7, 'k' || i % 3, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 51 = 0 THEN '{}'
  ELSE ARRAY(SELECT (i / 3) * 10 + j % 9 + CASE WHEN j > 6 THEN i % 3 ELSE 0 END FROM generate_series(1, 10 + i % 5) j) END
FROM generate_series(1, 3000) i;
CREATE TABLE few AS SELECT id + 10000 AS id, tenant, k, CASE WHEN id % 2 = 0 THEN tokens || -1 ELSE tokens END AS tokens
FROM many WHERE id % 100 < 3;
CREATE TABLE one AS SELECT * FROM few WHERE id = 10101;
ANALYZE many, few, one;

-- Returns the sides that streamed in a query, or the algorithms that ran instead.
CREATE FUNCTION ran(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
  RETURN coalesce((jsonb_path_query_first(plan::jsonb, 'strict $.**."Streamed Side"')) #>> '{}',
                  (jsonb_path_query_first(plan::jsonb, 'strict $.**."Algorithm"')) #>> '{}');
END $$;
-- Returns what streamed, and whether the rows are the same by the nested loop and by ranks.
CREATE FUNCTION compared(query text, OUT streamed text, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
  expected text;
  found text;
  way text;
  counted text := 'SELECT count(*) || md5(coalesce(string_agg(q::text, '' '' ORDER BY q::text), '''')) FROM (' || query || ') q';
BEGIN
  PERFORM set_config('enable_nestloop', 'on', true), set_config('simjoin.enable_join', 'off', true);
  IF query NOT LIKE '%FULL JOIN%' THEN EXECUTE counted INTO expected; END IF;
  PERFORM set_config('enable_nestloop', 'off', true), set_config('simjoin.enable_join', 'on', true);
  FOREACH way IN ARRAY '{ppjoin,auto}'::text[] LOOP
    PERFORM set_config('simjoin.algorithm', way, true);
    EXECUTE counted INTO found;
    expected := coalesce(expected, found);
    IF found <> expected THEN same := concat_ws(' ', same, way, 'differs'); END IF;
  END LOOP;
  streamed := ran(query);
  same := coalesce(same, CASE WHEN expected LIKE '0%' THEN 'no rows' ELSE 'same rows' END);
END $$;

-- Every kind of join, with the few rows on either side.
SELECT n, c.* FROM (VALUES
  (1, 'SELECT f.id AS a, m.id AS b, jaccard_similarity(f.tokens, m.tokens) FROM few f JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= 0.6'),
  (2, 'SELECT f.id AS a, m.* FROM few f LEFT JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= 0.9'),
  (3, 'SELECT f.*, m.id AS b FROM few f RIGHT JOIN many m ON cosine_similarity(f.tokens, m.tokens) > 0.8'),
  (4, 'SELECT f.*, m.id AS b FROM many m LEFT JOIN few f ON dice_similarity(f.tokens, m.tokens) >= 0.8'),
  (5, 'SELECT f.id AS a, m.id AS b, f.k, m.k AS l FROM few f FULL JOIN many m ON overlap_count(f.tokens, m.tokens) >= 8 AND f.id % 5 > 0'),
  (6, 'SELECT m.id AS b, f.id AS a FROM many m FULL JOIN few f ON m.tokens <%> f.tokens <= 0.3 AND m.id % 5 > 0'),
  (7, 'SELECT f.id FROM few f WHERE EXISTS (SELECT FROM many m WHERE jaccard_similarity(f.tokens, m.tokens) >= 0.95)'),
  (8, 'SELECT m.id, m.k FROM many m WHERE EXISTS (SELECT FROM few f WHERE f.tokens ~= m.tokens AND f.id <> m.id + 10000)'),
  (9, 'SELECT f.* FROM few f WHERE NOT EXISTS (SELECT FROM many m WHERE jaccard_similarity(f.tokens, m.tokens) >= 0.8 AND f.id <> m.id + 10000)'),
  (10, 'SELECT m.* FROM many m WHERE NOT EXISTS (SELECT FROM few f WHERE jaccard_similarity(f.tokens, m.tokens) >= 0.8)')
  ) q (n, query), LATERAL compared(query) c ORDER BY n;
-- One row, a row without a set, the border of a distance, the largest and other types of elements, and keys.
SELECT n, c.* FROM (VALUES
  (1, 'SELECT o.id AS a, m.id AS b FROM one o JOIN many m ON jaccard_similarity(o.tokens, m.tokens) >= 0.5'),
  (2, 'SELECT o.id AS a, m.id AS b FROM (SELECT id, NULL::int[] AS tokens FROM one OFFSET 0) o RIGHT JOIN many m ON jaccard_similarity(o.tokens, m.tokens) >= 0.5'),
  (3, 'SELECT f.id AS a, m.id AS b, f.tokens <%> m.tokens FROM few f JOIN many m ON f.tokens <%> m.tokens < 0.2'),
  (4, 'SELECT f.id AS a, m.id AS b FROM few f JOIN many m ON jaccard_similarity(f.tokens::bigint[], m.tokens::bigint[]) >= 2.0 / 3'),
  (5, 'SELECT f.id AS a, m.id AS b FROM few f JOIN many m ON jaccard_similarity(f.tokens::text[], m.tokens::text[]) >= 2.0 / 3'),
  (6, 'SELECT f.id AS a, m.id AS b FROM few f LEFT JOIN many m ON f.tenant = m.tenant AND jaccard_similarity(f.tokens, m.tokens) >= 0.5'),
  (7, 'SELECT f.id AS a, m.id AS b FROM many m LEFT JOIN few f ON f.k = m.k AND f.tenant = m.tenant AND jaccard_similarity(f.tokens::text[], m.tokens::text[]) >= 0.5'),
  (8, 'SELECT m.id FROM many m WHERE NOT EXISTS (SELECT FROM few f WHERE nullif(f.tenant, 3) = m.tenant AND jaccard_similarity(f.tokens, m.tokens) >= 0.5)')
  ) q (n, query), LATERAL compared(query) c ORDER BY n;

-- What the user asked for has the join itself. A pair of rows of one table is still read once, and a threshold that all pairs
-- reach is no use for an index.
SET simjoin.algorithm = bitmap;
SELECT ran('SELECT FROM few f JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= 0.6');
RESET simjoin.algorithm;
SET enable_nestloop = off;
SELECT ran('SELECT FROM few f JOIN few m ON f.id < m.id AND jaccard_similarity(f.tokens, m.tokens) >= 0.6');
SELECT ran('SELECT FROM few f JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= (SELECT 0.0::float8)');
SELECT ran('SELECT FROM few f JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= (SELECT NULL::float8)');

-- The number of rows decides, not what was expected of it: a function that is thought to return one row returns many.
CREATE FUNCTION rows_of_many(lowest int) RETURNS SETOF many LANGUAGE plpgsql STABLE ROWS 1 AS
$$ BEGIN RETURN QUERY SELECT m.id + n, m.tenant, m.k, m.tokens FROM many m, generate_series(0, 4) n WHERE m.id >= lowest; END $$;
SELECT n, c.* FROM (VALUES
  (1, 'SELECT r.id AS a, f.id AS b FROM rows_of_many(2900) r LEFT JOIN few f ON jaccard_similarity(r.tokens, f.tokens) >= 0.8'),
  (2, 'SELECT r.id AS a, f.id AS b FROM rows_of_many(1) r LEFT JOIN few f ON jaccard_similarity(r.tokens, f.tokens) >= 0.8'),
  (3, 'SELECT r.id AS a FROM rows_of_many(1) r WHERE NOT EXISTS (SELECT FROM few f WHERE f.tenant = r.tenant AND jaccard_similarity(r.tokens::text[], f.tokens::text[]) >= 0.8)')
  ) q (n, query), LATERAL compared(query) c ORDER BY n;
-- So does the memory limit, and how many sets share their rare elements.
SET simjoin.memory_limit = '1MB';
SELECT c.* FROM compared('SELECT a.id AS a, b.id AS b FROM (SELECT * FROM many WHERE id % 3 = 0) a JOIN many b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8') c;
-- Rows of the small side that wait in a file.
SELECT c.* FROM compared('SELECT f.id AS a, m.id AS b, md5(f.wide) FROM (SELECT *, repeat(k, 3000) AS wide FROM few OFFSET 0) f
  RIGHT JOIN many m ON jaccard_similarity(f.tokens, m.tokens) >= 0.6') c;
RESET simjoin.memory_limit;
SELECT n, c.* FROM (VALUES
  (1, 'SELECT a.id AS a FROM (SELECT id, ARRAY[id % 3, 4, 5] AS tokens FROM many) a WHERE EXISTS
    (SELECT FROM (SELECT id, ARRAY[id % 4, 4, 5] AS tokens FROM many WHERE id % 10 = 0) b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.9)'),
  (2, 'SELECT a.id AS a FROM (SELECT id, ARRAY[id % 3, 4, 5] AS tokens FROM many) a WHERE EXISTS
    (SELECT FROM (SELECT id, ARRAY[id % 4, 4, 5] AS tokens FROM many WHERE id % 50 = 0) b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.9)')
  ) q (n, query), LATERAL compared(query) c ORDER BY n;

-- Each execution decides anew, and EXPLAIN lists what ran.
SELECT c.* FROM compared('SELECT v.n, (SELECT count(*) FROM (SELECT * FROM few WHERE id < v.n OFFSET 0) f LEFT JOIN (SELECT * FROM many WHERE id < v.m OFFSET 0) m
  ON jaccard_similarity(f.tokens, m.tokens) >= 0.6) FROM (VALUES (10100, 300), (10100, 0), (0, 300), (20000, 3000)) v (n, m)') c;
PREPARE reaching(float8) AS SELECT count(*) FROM one o JOIN many m ON jaccard_similarity(o.tokens, m.tokens) >= $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE reaching(0.5);
EXECUTE reaching(0);
EXECUTE reaching('NaN');
EXECUTE reaching(NULL);
DEALLOCATE reaching;
RESET plan_cache_mode;

-- Rows come as they are read, so a caller that stops early reads few.
CREATE FUNCTION rows_read(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
  RETURN (SELECT string_agg((scan ->> 'Actual Rows')::numeric::int::text, ', ') FROM jsonb_path_query(plan, 'strict $.**?(@."Relation Name" == "many")') scan);
END $$;
SELECT rows_read('SELECT FROM many m JOIN one o ON jaccard_similarity(o.tokens, m.tokens) >= 0.9 LIMIT 1') AS first_partner;
SELECT rows_read('SELECT FROM one o WHERE EXISTS (SELECT FROM many m WHERE jaccard_similarity(o.tokens, m.tokens) >= 0.9)') AS first_partner;
SELECT rows_read('SELECT FROM many m LEFT JOIN one o ON jaccard_similarity(o.tokens, m.tokens) >= 0.9 LIMIT 5') AS five_rows;
BEGIN;
DECLARE rows_of_both CURSOR FOR SELECT o.id, m.id FROM many m LEFT JOIN one o ON jaccard_similarity(o.tokens, m.tokens) >= 0.9;
FETCH 2 FROM rows_of_both;
FETCH 1 FROM rows_of_both;
CLOSE rows_of_both;
COMMIT;

-- What EXPLAIN says of a side that streamed. It counts no elements of that side, and takes no times.
CREATE FUNCTION explained(query text) RETURNS TABLE (property text, value text) LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
  RETURN QUERY SELECT p.key, CASE WHEN p.key ~ 'Memory|Time' THEN '...' ELSE p.value END
  FROM jsonb_each_text(plan -> 0 -> 'Plan') p WHERE p.key ~ '^(Algorithm|Streamed|Sets|Tokens|Pairs|Filter|Verify|Wait|Build|Scan|Engine|Reason)' ORDER BY p.key COLLATE "C";
END $$;
SELECT * FROM explained('SELECT o.id, m.id FROM one o JOIN many m ON jaccard_similarity(o.tokens, m.tokens) >= 0.9');

DROP TABLE many, few, one CASCADE;
DROP FUNCTION ran, compared, rows_read, explained;
