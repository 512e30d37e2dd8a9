-- The most similar pairs of all: ORDER BY similarity and LIMIT over a join, by the node NearestPairs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA nearest_pairs_test;
SET search_path = nearest_pairs_test, public;
SET simjoin.notice_pairs = 0;
SET jit = off;

-- Sets with ties and copies; in l and r some are NULL, in t none is. Few sets of t are empty.
CREATE FUNCTION some_set(i int, seed int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT hashint4(i % 90 * 31 + k * seed) % 40 + k % 3 FROM generate_series(1, i * seed % 8) k)
$$;
CREATE TABLE l AS SELECT i AS id, i % 3 AS cat, nullif(some_set(i, 5), some_set(7, 5)) AS s FROM generate_series(1, 90) i;
CREATE TABLE r AS SELECT i AS id, i % 4 AS cat, CASE WHEN i % 71 > 0 THEN some_set(i, 3) END AS s, 'row ' || i % 50 AS name FROM generate_series(1, 160) i;
CREATE TABLE t (id int PRIMARY KEY, cat int, s int[] NOT NULL, name text);
INSERT INTO t SELECT i, i % 5, some_set(i, 3), 'row ' || i * i FROM generate_series(1, 200) i;
ANALYZE l, r, t;

EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id
ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id LIMIT 3;
-- How far it went.
CREATE FUNCTION searches(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ 'NearestPairs|Searches|Least|Largest|All Pairs' THEN RETURN NEXT line; END IF;
  END LOOP;
END $$;
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id LIMIT 3');
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s LIMIT 3');
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s LIMIT 900');
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY overlap_count(a.s, b.s) DESC LIMIT 30');
SET enable_nestloop = off;
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 9000');
RESET enable_nestloop;
SELECT a.id, b.id, round(jaccard_similarity(a.s, b.s)::numeric, 3) AS similarity FROM t a JOIN t b ON a.id < b.id AND a.cat = b.cat
WHERE jaccard_similarity(a.s, b.s) < 1 ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id LIMIT 6;

-- Each query has the same rows with and without the node. used: its plan has it.
CREATE FUNCTION compare(query text, OUT used bool, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  used := false;
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    used := used OR line LIKE '%NearestPairs%';
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE with_node AS SELECT row_number() OVER (), * FROM (' || query || ') q';
  SET simjoin.enable_nearest = off;
  EXECUTE 'CREATE TEMP TABLE without_node AS SELECT row_number() OVER (), * FROM (' || query || ') q';
  RESET simjoin.enable_nearest;
  SELECT count(*) INTO rows FROM with_node;
  SELECT count(*) INTO differences
  FROM ((TABLE with_node EXCEPT ALL TABLE without_node) UNION ALL (TABLE without_node EXCEPT ALL TABLE with_node)) d;
  DROP TABLE with_node, without_node;
END $$;

-- Measures, and the sides in either order.
SELECT m AS call, c.* FROM unnest(ARRAY['jaccard_similarity(l.s, r.s)', 'cosine_similarity(r.s, l.s)', 'dice_similarity(l.s, r.s)',
    'overlap_count(l.s, r.s)', 'overlap_coefficient(r.s, l.s)', 'containment(l.s, r.s)', 'containment(r.s, l.s)',
    'jaccard_similarity(l.s::bigint[], r.s::bigint[])', 'jaccard_similarity(l.s::text[], r.s::text[])',
    $$jaccard_similarity('row ' || l.id, r.name, 'shingles(2)')$$]) m,
  LATERAL compare('SELECT l.id, r.id AS r, ' || m || ' AS s FROM l, r ORDER BY s DESC NULLS LAST, l.id, r.id LIMIT 30') c;
SELECT m AS call, c.* FROM unnest(ARRAY['l.s <%> r.s', 'jaccard_distance(r.s, l.s)']) m,
  LATERAL compare('SELECT l.id, r.id AS r, ' || m || ' AS s FROM l, r ORDER BY s, l.id, r.id LIMIT 30') c;

-- Limits, ties, places of NULLs, further sort keys. The last ones need a comparison of all pairs.
SET enable_nestloop = off;
SELECT o AS "order", c.* FROM unnest(ARRAY['s DESC, l, r LIMIT 1', 's DESC NULLS LAST, l, r LIMIT 1', 's DESC, l, r LIMIT 700', 's DESC NULLS LAST, l, r LIMIT 4 OFFSET 93',
    's DESC, l, r LIMIT 40 OFFSET 660', 's DESC NULLS LAST, l % 3 - r % 4, l, r LIMIT 50', 's DESC NULLS LAST, name, l, r DESC LIMIT 300',
    's DESC NULLS LAST, l, r LIMIT 5000', 's DESC NULLS LAST, l, r LIMIT 9000', 's DESC, l, r LIMIT 14000', 's DESC NULLS LAST, l, r OFFSET 13000 LIMIT 500',
    's, l, r LIMIT 9']) o,
  LATERAL compare('SELECT l, r, s FROM (SELECT l.id AS l, r.id AS r, name, jaccard_similarity(l.s, r.s) AS s FROM l, r) q ORDER BY ' || o) c;
SELECT o AS "order", c.* FROM unnest(ARRAY['s DESC NULLS LAST FETCH FIRST 7 ROWS WITH TIES', 's DESC NULLS LAST, l FETCH FIRST 13 ROWS WITH TIES', 's DESC FETCH FIRST ROW WITH TIES']) o,
  LATERAL compare('SELECT l, r, s FROM (SELECT l, r, s FROM (SELECT l.id AS l, r.id AS r, jaccard_similarity(l.s, r.s) AS s FROM l, r) q ORDER BY ' || o || ') q ORDER BY s, l, r') c;
RESET enable_nestloop;
-- By the similarity alone, equal sets come without a sort.
SELECT q AS query, c.* FROM unnest(ARRAY['jaccard_similarity(l.s, r.s) AS s FROM l, r ORDER BY s DESC NULLS LAST LIMIT 70', 'jaccard_similarity(l.s, r.s) AS s FROM l, r ORDER BY s DESC LIMIT 2000',
    'cosine_similarity(a.s, b.s) AS s FROM t a JOIN t b ON a.id <> b.id ORDER BY s DESC LIMIT 9', 'a.s <%> b.s AS s FROM t a JOIN t b ON a.id < b.id ORDER BY s LIMIT 1500',
    'overlap_count(a.s, b.s) AS s FROM t a JOIN t b ON a.id < b.id ORDER BY s DESC LIMIT 1500', 'containment(a.s, b.s) AS s FROM t a JOIN t b ON a.id <> b.id ORDER BY s DESC OFFSET 100 LIMIT 1500']) q,
  LATERAL compare('SELECT ' || q) c;
EXPLAIN (COSTS OFF) SELECT a.id FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s LIMIT 3;

-- Conditions: of the same rows, keys, thresholds, on one side, that no pair meets.
SELECT w AS condition, c.* FROM unnest(ARRAY['a.id < b.id', 'a.id <> b.id', 'a.id <= b.id', 'true', 'a.cat = b.cat AND a.id > b.id', 'a.id < b.id AND a.cat <> b.cat', 'a.id < b.id AND a.cat < 2 AND b.cat < 2',
    'a.id < b.id AND jaccard_similarity(a.s, b.s) < 0.8', 'a.id < b.id AND jaccard_similarity(a.s, b.s) >= 0.2', 'a.id < b.id AND jaccard_similarity(a.s, b.s) >= 0.1 AND a.id % 19 = 0', 'a.id < b.id AND jaccard_similarity(a.s, b.s) >= 0.75', 'jaccard_similarity(a.s, b.s) > 0.99',
    'a.id < b.id AND cosine_similarity(a.s, b.s) > 0.4', 'a.id = b.id + 1', 'a.id < b.id AND EXISTS (SELECT FROM l WHERE l.id = a.id)', 'a.id < b.id AND a.cat > 99', 'false']) w,
  LATERAL compare('SELECT a.id, b.id AS b, jaccard_similarity(a.s, b.s) AS s FROM t a, t b WHERE ' || w || ' ORDER BY s DESC, a.id, b.id LIMIT 6') c;
SELECT c.* FROM compare('SELECT a.id, b.id AS b, containment(a.s, b.s) AS s FROM t a JOIN t b ON a.id <> b.id ORDER BY s DESC, a.id, b.id LIMIT 200') c;

-- Three relations, subqueries, outer joins, a query within a query.
SELECT q AS query, c.* FROM unnest(ARRAY[
    'SELECT a.id, b.id AS b, l.id AS l FROM t a JOIN t b ON a.id < b.id JOIN l ON l.cat = a.cat AND l.id < 9 ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id, l.id LIMIT 20',
    'SELECT a.id, l.id AS l FROM t a LEFT JOIN l ON l.cat = a.cat ORDER BY jaccard_similarity(a.s, l.s) DESC, a.id, l.id LIMIT 20',
    'SELECT l.id, (SELECT sum(x.s) FROM (SELECT jaccard_similarity(a.s, b.s) AS s FROM t a JOIN t b ON a.id < b.id WHERE a.cat = l.cat ORDER BY s DESC LIMIT 9) x) FROM l WHERE l.id < 6 ORDER BY 1',
    'WITH c AS MATERIALIZED (SELECT * FROM t WHERE id % 2 = 0) SELECT a.id, b.id AS b FROM c a JOIN c b ON a.id < b.id ORDER BY a.s <%> b.s, a.id, b.id LIMIT 20',
    'SELECT a.id, b.id AS b FROM t a JOIN (SELECT * FROM t ORDER BY id LIMIT 40) b ON a.id < b.id ORDER BY a.s <%> b.s, a.id, b.id LIMIT 20',
    'SELECT a.id, max(b.id) AS b FROM t a JOIN t b ON a.id < b.id GROUP BY a.id, a.s, b.s ORDER BY a.s <%> b.s, a.id, b LIMIT 20',
    'SELECT DISTINCT a.id, jaccard_similarity(a.s, b.s) AS s FROM t a JOIN t b ON a.id < b.id ORDER BY s DESC, a.id LIMIT 20',
    'SELECT a.id, b.id AS b, generate_series(1, 3) AS g FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id, g LIMIT 20']) q,
  LATERAL compare(q) c;
SELECT c.* FROM compare('SELECT a.id, b.id AS b FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC, random() + a.id, b.id LIMIT 1') c;

-- A query that a function of the inputs runs, and that fails in the middle of a search, does not change the search around it.
CREATE FUNCTION fails() RETURNS bool STABLE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM a.id FROM t a JOIN t b ON a.id < b.id AND 1 / (b.id - b.id) > 0 ORDER BY a.s <%> b.s, a.id LIMIT 1;
  RETURN false;
EXCEPTION WHEN division_by_zero THEN
  RETURN true;
END $$;
SELECT c.* FROM compare('SELECT a.id, b.id AS b FROM t a JOIN t b ON a.id < b.id WHERE CASE WHEN a.id = 1 THEN fails() ELSE true END ORDER BY a.s <%> b.s, a.id, b.id LIMIT 900') c;

-- Many copies. A condition that few pairs meet, and no index and no equality serves: searches in vain are given up.
CREATE TABLE copies AS SELECT i AS id, i % 7 AS x, CASE WHEN i < 3 THEN 9 ELSE 0 END AS y, ARRAY[i % 2, 5, 6] AS s FROM generate_series(1, 500) i;
ANALYZE copies;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM copies a JOIN copies b ON a.id < b.id ORDER BY a.s <%> b.s LIMIT 3;
SELECT searches('SELECT a.id, b.id FROM copies a JOIN copies b ON a.id < b.id AND a.x < b.y - 3 ORDER BY jaccard_similarity(a.s, b.s) DESC NULLS LAST LIMIT 3');
SELECT searches('SELECT a.id, b.id FROM copies a JOIN copies b ON a.id < b.id AND a.x < b.y - 3 WHERE a.id < 350 AND b.id < 350 ORDER BY jaccard_similarity(a.s, b.s) DESC NULLS LAST LIMIT 3');
SELECT o AS "order", c.* FROM unnest(ARRAY['s DESC, a, b LIMIT 4', 's DESC NULLS LAST LIMIT 4']) o,
  LATERAL compare('SELECT s FROM (SELECT a.id AS a, b.id AS b, jaccard_similarity(a.s, b.s) AS s FROM copies a JOIN copies b ON a.id > b.id AND a.x < b.y - 3) q ORDER BY ' || o) c;
SELECT o AS "order", c.* FROM unnest(ARRAY['s DESC, a, b LIMIT 4', 's DESC NULLS LAST LIMIT 4']) o,
  LATERAL compare('SELECT s FROM (SELECT a.id AS a, b.id AS b, jaccard_similarity(a.s, b.s) AS s FROM copies a JOIN copies b ON a.x < b.y - 8) q ORDER BY ' || o) c;

-- With a threshold, and more pairs than the searches above it find.
SELECT c.* FROM compare('SELECT a.id, b.id AS b, jaccard_similarity(a.s, b.s) AS s FROM copies a JOIN copies b ON a.x < b.y - 3 AND jaccard_similarity(a.s, b.s) >= 0.2 ORDER BY s DESC, a.id, b.id LIMIT 600') c;

-- Where an index finds the few pairs that meet the conditions, few searches are made. With a volatile policy there are none.
SET enable_seqscan = off;
SELECT searches('SELECT a.id, b.id FROM t a JOIN t b ON b.id BETWEEN a.id + 1 AND a.id + 2 ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id LIMIT 90');
RESET enable_seqscan;
CREATE ROLE regress_simjoin_pairs;
GRANT USAGE ON SCHEMA nearest_pairs_test TO regress_simjoin_pairs;
GRANT SELECT ON t TO regress_simjoin_pairs;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY half ON t USING (random() < 0.5);
SET ROLE regress_simjoin_pairs;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id LIMIT 3;
RESET ROLE;
DROP POLICY half ON t;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_simjoin_pairs;
DROP ROLE regress_simjoin_pairs;

-- Why it is not used.
CREATE FUNCTION why_not(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line LIKE '%Nearest Pairs Not Used%' THEN RETURN line; END IF;
  END LOOP;
  RETURN NULL;
END $$;
SELECT q AS query, why_not('SELECT a.id, b.id AS b FROM ' || q) FROM unnest(ARRAY['t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3',
    't a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) LIMIT 3', 't a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s DESC LIMIT 3',
    't a JOIN t b ON a.id < b.id ORDER BY a.id, jaccard_similarity(a.s, b.s) DESC LIMIT 3', 't a JOIN t b ON a.id < b.id ORDER BY round(jaccard_similarity(a.s, b.s)::numeric, 1) DESC LIMIT 3',
    't a JOIN t b ON a.id < b.id ORDER BY edit_distance(a.name, b.name) LIMIT 3', 't a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC',
    't a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3 FOR UPDATE', 't a LEFT JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3',
    't a JOIN t b ON a.id < b.id GROUP BY a.id, b.id, jaccard_similarity(a.s, b.s) ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3', 't a JOIN t b ON a.id < b.id AND random() < 2 ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3',
    't a JOIN (SELECT * FROM t LIMIT 90) b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3', 't a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 19000',
    't a JOIN t b ON a.id < b.id AND jaccard_similarity(a.s, b.s) = 0.5 ORDER BY jaccard_similarity(a.s, b.s) DESC LIMIT 3', 't a JOIN t b ON a.id < b.id AND jaccard_similarity(a.s, b.s) = 0.5 ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id LIMIT 3']) q;

-- Weights, and no columns at all.
CREATE TABLE w AS SELECT id, s, array_fill(1.5::float4, ARRAY[cardinality(s)]) AS w FROM (SELECT id, ARRAY(SELECT DISTINCT u FROM unnest(s) u ORDER BY u) AS s FROM t) t;
ANALYZE w;
SELECT c.* FROM compare('SELECT a.id, b.id AS b, weighted_jaccard_similarity(a.s, a.w, b.s, b.w) AS s FROM w a JOIN w b ON a.id < b.id ORDER BY s DESC, a.id, b.id LIMIT 20') c;
SELECT c.* FROM compare('SELECT 1 AS one FROM l, r ORDER BY jaccard_similarity(l.s, r.s) DESC LIMIT 20') c;

-- A prepared statement, whose limit is a parameter, a cursor, and rows that are locked.
PREPARE best(int, int) AS SELECT a.id, b.id AS b FROM t a JOIN t b ON a.id < b.id AND a.id > $2 ORDER BY a.s <%> b.s, a.id, b.id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE best(3, 0);
EXECUTE best(2, 195);
EXECUTE best(0, 0);
EXECUTE best(NULL, 198);
EXPLAIN (COSTS OFF) EXECUTE best(3, 0);
RESET plan_cache_mode;
BEGIN;
DECLARE pairs SCROLL CURSOR FOR SELECT a.id, b.id AS b, round(jaccard_similarity(a.s, b.s)::numeric, 2) AS s FROM t a JOIN t b ON a.id < b.id ORDER BY jaccard_similarity(a.s, b.s) DESC, a.id, b.id;
FETCH 2 FROM pairs;
MOVE 3000 FROM pairs;
FETCH 2 FROM pairs;
FETCH ABSOLUTE 2 FROM pairs;
FETCH LAST FROM pairs;
COMMIT;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s, a.id, b.id LIMIT 2 FOR UPDATE;

-- An approximate method does not reach these pairs. An array that is no set raises its error as it does without the node.
SET simjoin.method = minhash;
SELECT c.* FROM compare('SELECT a.id, b.id AS b FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s, a.id, b.id LIMIT 900') c;
RESET simjoin.method;
INSERT INTO t VALUES (500, 9, '{1,NULL}', 'no set');
SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY a.s <%> b.s, a.id, b.id LIMIT 1;
SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id AND b.id < 500 ORDER BY a.s <%> b.s, a.id, b.id LIMIT 1;

DROP SCHEMA nearest_pairs_test CASCADE;
