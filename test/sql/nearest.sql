-- The nearest rows of each row: LATERAL subqueries with ORDER BY similarity and LIMIT, by the scan NearestRows.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA nearest_test;
SET search_path = nearest_test, public;
SET simjoin.notice_pairs = 0;
SET jit = off;

-- Sets with many ties and copies, some empty and some NULL.
CREATE FUNCTION some_set(i int, seed int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN i % 17 = seed THEN NULL
              ELSE ARRAY(SELECT hashint4(i % 90 * 31 + k * seed) % 12 + k % 3 FROM generate_series(1, i * seed % 8) k) END
$$;
CREATE TABLE l AS SELECT i AS id, i % 3 AS cat, some_set(i, 5) AS s FROM generate_series(1, 60) i;
CREATE TABLE r AS SELECT i AS id, i % 4 AS cat, some_set(i, 3) AS s, 'row ' || i % 50 AS name FROM generate_series(1, 150) i;
ANALYZE l, r;

EXPLAIN (COSTS OFF) SELECT l.id, m.* FROM l CROSS JOIN LATERAL (
  SELECT r.id AS r, jaccard_similarity(l.s, r.s) AS similarity FROM r WHERE r.cat <> l.cat AND r.id < 140
  ORDER BY similarity DESC NULLS LAST, r.id LIMIT 2) m;
SELECT l.id, m.* FROM l LEFT JOIN LATERAL (
  SELECT r.id AS r, round(jaccard_similarity(l.s, r.s)::numeric, 3) AS similarity FROM r WHERE r.cat <> l.cat AND r.id < 140
  ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id LIMIT 2) m ON true
WHERE l.id % 10 = 3 ORDER BY 1, 3 DESC, 2;

-- Each query has the same rows with and without the scan. used: its plan has it.
CREATE FUNCTION compare(query text, OUT used bool, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  used := false;
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    used := used OR line ~ 'NearestRows|SimilarRows';
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE with_scan AS ' || query;
  SET simjoin.enable_nearest = off;
  EXECUTE 'CREATE TEMP TABLE without_scan AS ' || query;
  RESET simjoin.enable_nearest;
  SELECT count(*) INTO rows FROM with_scan;
  SELECT count(*) INTO differences
  FROM ((TABLE with_scan EXCEPT ALL TABLE without_scan) UNION ALL (TABLE without_scan EXCEPT ALL TABLE with_scan)) d;
  DROP TABLE with_scan, without_scan;
END $$;

-- Measures, and the sides in either order.
SELECT m AS call, c.* FROM unnest(ARRAY['jaccard_similarity(l.s, r.s)', 'cosine_similarity(r.s, l.s)', 'dice_similarity(l.s, r.s)',
    'overlap_count(l.s, r.s)', 'overlap_coefficient(r.s, l.s)', 'containment(l.s, r.s)', 'containment(r.s, l.s)',
    'jaccard_similarity(l.s::bigint[], r.s::bigint[])', 'jaccard_similarity(l.s::text[], r.s::text[])',
    $$jaccard_similarity('row ' || l.id, r.name, 'shingles(2)')$$]) m,
  LATERAL compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r, ' || m || ' AS s FROM r ORDER BY ' || m || ' DESC, r.id LIMIT 3) x') c;
SELECT m AS call, c.* FROM unnest(ARRAY['l.s <%> r.s', 'jaccard_distance(r.s, l.s)']) m,
  LATERAL compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r, ' || m || ' AS s FROM r ORDER BY ' || m || ', r.id LIMIT 3) x') c;

-- Limits, ties, places of NULLs, further sort keys.
SELECT o AS "order", c.* FROM unnest(ARRAY['s DESC, id LIMIT 1', 's DESC, id LIMIT 100', 's DESC, id LIMIT 1000', 's DESC, id LIMIT 4 OFFSET 3',
    's DESC NULLS LAST, id LIMIT 2', 's DESC NULLS LAST FETCH FIRST 2 ROWS WITH TIES', 's DESC FETCH FIRST ROW WITH TIES',
    's DESC, name DESC, id LIMIT 5', 's DESC NULLS LAST, id % 3 - l, id LIMIT 5', 's DESC NULLS LAST, cat FETCH FIRST 3 ROWS WITH TIES']) o,
  LATERAL compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT id AS r, s FROM (SELECT r.id, r.cat, name, l.id AS l, jaccard_similarity(l.s, r.s) AS s FROM r) r ORDER BY ' || o || ') x') c;

-- Conditions, joins and other places of the subquery.
SELECT w AS condition, c.* FROM unnest(ARRAY['r.cat = l.cat', 'r.id <> l.id AND r.id > 20', 'jaccard_similarity(l.s, r.s) >= 0.4', 'jaccard_similarity(l.s, r.s) > l.cat / 4.0::float8',
    'r.name LIKE ''row 1%'' AND r.cat < 3', 'l.cat = 1', 'EXISTS (SELECT FROM l o WHERE o.id = r.id AND o.cat <> l.cat)', 'false']) w,
  LATERAL compare('SELECT l.id, x.* FROM l LEFT JOIN LATERAL (SELECT r.id AS r, jaccard_similarity(l.s, r.s) AS s FROM r WHERE ' || w || ' ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 3) x ON x.r % 3 > 0') c;
SELECT c.* FROM compare('SELECT id, (SELECT r.id AS r FROM r ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id LIMIT 1) AS r FROM l') c;
SELECT c.* FROM compare('SELECT id, ARRAY(SELECT r.id + o.id FROM r JOIN l o USING (cat) WHERE o.id < 9 ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id, o.id LIMIT 3) FROM l') c;
SELECT c.* FROM compare('SELECT id, (SELECT max(jaccard_similarity(l.s, r.s)) FROM r WHERE r.cat = l.cat) AS m FROM l') c;
-- A scan computes values of a row only: no sets, aggregates or window functions.
SELECT q AS query, c.* FROM unnest(ARRAY[
    'SELECT r.id AS r, generate_series(1, r.cat) AS g FROM r ORDER BY jaccard_similarity(l.s, r.s) DESC, g, r.id LIMIT 3',
    'SELECT r.id AS r, jaccard_similarity(l.s, r.s || generate_series(1, r.cat)) AS s FROM r ORDER BY s DESC, r.id LIMIT 3',
    'SELECT jaccard_similarity(l.s, array_agg(r.id)) AS s FROM r ORDER BY s DESC LIMIT 1',
    'SELECT r.id AS r, sum(r.cat) OVER () AS w FROM r ORDER BY jaccard_similarity(l.s, r.s) DESC, w, r.id LIMIT 3',
    'SELECT r.id AS r, jaccard_similarity(l.s, array_agg(r.id) OVER ()) AS s FROM r ORDER BY s DESC, r.id LIMIT 3']) q,
  LATERAL compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (' || q || ') x') c;
-- Keys: several, of other types, NULL, without rows.
ALTER TABLE r ADD COLUMN key text, ADD COLUMN big bigint;
ALTER TABLE l ADD COLUMN key text;
UPDATE r SET key = CASE WHEN id % 5 > 0 THEN 'k' || id % 5 END, big = cat;
UPDATE l SET key = CASE WHEN id % 6 > 0 THEN 'k' || id % 6 END;
ANALYZE l, r;
SET enable_seqscan = off;  -- so that it is used for few rows, too
SELECT w AS condition, c.* FROM unnest(ARRAY['r.key = l.key', 'r.key = l.key AND l.cat = r.big', 'r.cat + 1 = l.cat + 2', 'r.key = l.key AND r.id <> l.id']) w,
  unnest(ARRAY['', ' NULLS LAST']) n,
  LATERAL compare('SELECT l.id, x.* FROM l LEFT JOIN LATERAL (SELECT r.id AS r, jaccard_similarity(l.s, r.s) AS s FROM r WHERE ' || w || ' ORDER BY jaccard_similarity(l.s, r.s) DESC' || n || ', r.id LIMIT 30) x ON true') c;
RESET enable_seqscan;
-- A subquery with a parameter of its own begins anew.
SELECT c.* FROM compare('SELECT o.id, x.* FROM (SELECT id FROM l LIMIT 5) o CROSS JOIN LATERAL (
  SELECT l.id AS l, y.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE r.id % 5 <> o.id ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) y) x') c;

-- Where the scan is not used.
SELECT q AS query, c.* FROM unnest(ARRAY[
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r ORDER BY jaccard_similarity(l.s, r.s), r.id LIMIT 1) x',
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE random() < 2 ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x',
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r ORDER BY jaccard_similarity(l.s, r.s || l.id) DESC, r.id LIMIT 1) x',
    'SELECT l.id, x.* FROM (SELECT * FROM l WHERE id = 7) l CROSS JOIN LATERAL (SELECT r.id AS r FROM r ORDER BY jaccard_similarity(''{1,2,3}'', r.s) DESC, r.id LIMIT 1) x']) q,
  LATERAL compare(q) c;

-- Partitions, with other columns and with partitions of their own, children, and other relations. The line below the plan says why not.
CREATE TABLE parted (gone int, id int, cat int, s int[], name text) PARTITION BY LIST (cat);
ALTER TABLE parted DROP COLUMN gone;
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) PARTITION BY RANGE (id);
CREATE TABLE parted_1a (name text, gone int, s int[], cat int, id int);
ALTER TABLE parted_1a DROP COLUMN gone;
ALTER TABLE parted_1 ATTACH PARTITION parted_1a FOR VALUES FROM (MINVALUE) TO (70);
CREATE TABLE parted_1b PARTITION OF parted_1 FOR VALUES FROM (70) TO (MAXVALUE);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT id, cat, s, name FROM r;
CREATE TABLE parent AS SELECT id, cat, s, name FROM r WHERE cat = 0;
CREATE TABLE child (extra int) INHERITS (parent);
INSERT INTO child (id, cat, s, name) SELECT id, cat, s, name FROM r WHERE cat > 0;
CREATE MATERIALIZED VIEW stored_rows AS SELECT * FROM r;
CREATE VIEW both_rows AS SELECT id, cat, s, name FROM parted UNION ALL SELECT id + 5000, cat + 1, s, name FROM parent;
CREATE FUNCTION rows_of_function() RETURNS SETOF parent LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT * FROM parent; END';
ANALYZE parted, parent;
CREATE FUNCTION why_not(query text, OUT reason text) LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    IF line LIKE '%Not Used%' THEN reason := substring(line FROM 'Used: (.*)'); END IF;
  END LOOP;
END $$;
SELECT f AS "from", c.*, why_not(q) FROM unnest(ARRAY['parted r', 'parted_1 r', 'parent r', 'ONLY parent r', 'stored_rows r', 'both_rows r', 'rows_of_function() r', 'parted r TABLESAMPLE bernoulli (100)',
    'shared r', '(SELECT i AS id, i % 3 AS cat, ARRAY[i, i / 2] AS s, ''v'' AS name FROM generate_series(1, 90) i) r', '(SELECT * FROM r OFFSET 0) r', '(SELECT DISTINCT s, id, cat, name FROM r) r']) f,
  LATERAL format('WITH shared AS MATERIALIZED (SELECT * FROM parted WHERE id < 130)
    SELECT l.id, x.* FROM l LEFT JOIN LATERAL (SELECT r.id AS r, r::text AS row FROM %s WHERE r.id <> l.id AND r.id + r.cat < 140 ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id, name LIMIT 2) x ON true', f) q, compare(q) c;
SELECT q AS query, c.*, why_not(q) FROM unnest(ARRAY[
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT count(*), max(r.id) FROM parted r WHERE jaccard_similarity(l.s, r.s) >= 0.6) x',
    'SELECT l.id, (SELECT r.id FROM parted r WHERE r.cat = l.cat ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id LIMIT 1) AS r FROM l',
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM (SELECT * FROM r UNION ALL SELECT r.id + l.id, cat, s, name, key, big FROM r) r ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id LIMIT 1) x',
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r JOIN parent p USING (id) ORDER BY jaccard_similarity(l.s, r.s || p.s) DESC NULLS LAST, r.id LIMIT 1) x',
    'SELECT l.id, x.* FROM l CROSS JOIN LATERAL (WITH w AS MATERIALIZED (SELECT * FROM r WHERE r.id <> l.id) SELECT w.id AS w FROM w ORDER BY jaccard_similarity(l.s, w.s) DESC NULLS LAST, w.id LIMIT 1) x']) q, compare(q) c;
-- An arm of a UNION ALL with row-level security.
CREATE TABLE allowed AS SELECT id FROM r WHERE id % 3 = 0;
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_allowed ON parent USING (EXISTS (SELECT FROM allowed a WHERE a.id = parent.id));
CREATE ROLE regress_simjoin_nearest;
GRANT USAGE ON SCHEMA nearest_test TO regress_simjoin_nearest;
GRANT SELECT ON l, r, parent, allowed TO regress_simjoin_nearest;
SET ROLE regress_simjoin_nearest;
SET enable_sort = off;
SELECT count(*), count(*) FILTER (WHERE r % 3 <> 0) AS hidden FROM l CROSS JOIN LATERAL (SELECT x.id AS r FROM (SELECT id, s FROM parent UNION ALL SELECT id, s FROM parent) x
  ORDER BY jaccard_similarity(l.s, x.s) DESC NULLS LAST, x.id LIMIT 3) x;
RESET enable_sort;
RESET ROLE;
DROP POLICY only_allowed ON parent;
ALTER TABLE parent DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_simjoin_nearest;
DROP ROLE regress_simjoin_nearest;
SET plan_cache_mode = force_generic_plan;
PREPARE pruned AS SELECT count(*), sum(x.id * l.id) FROM l CROSS JOIN LATERAL (
  SELECT r.id FROM parted r WHERE r.cat = $1 AND r.id <> l.id ORDER BY jaccard_similarity(l.s, r.s) DESC NULLS LAST, r.id LIMIT 2) x;
EXPLAIN (COSTS OFF) EXECUTE pruned(1);
EXECUTE pruned(1);
EXECUTE pruned(2);
RESET plan_cache_mode;
SET simjoin.enable_nearest = off;
EXECUTE pruned(1);
EXECUTE pruned(2);
RESET simjoin.enable_nearest;

-- Weights, some 0, of which some rows have none. Sums of the last ones are not exact in doubles.
CREATE FUNCTION some_weights(s int[], i int) RETURNS float4[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN i % 23 <> 4 THEN ARRAY(SELECT abs(hashint4(e * 7 + i % 3)) % 4 / 3.0::float4 FROM unnest(s) e) END $$;
CREATE TABLE heavy_l AS SELECT id, cat, s, some_weights(s, id) AS w, ARRAY(SELECT exp(abs(hashint4(e + id % 3)) % 80 - 40.0) FROM unnest(s) e)::float4[] AS v FROM l;
CREATE TABLE heavy_r AS SELECT id, cat, s, some_weights(s, id + 1) AS w, ARRAY(SELECT exp(abs(hashint4(e + id % 3)) % 80 - 40.0) FROM unnest(s) e)::float4[] AS v FROM r;
ANALYZE heavy_l, heavy_r;
SELECT m AS call, w AS condition, c.* FROM unnest(ARRAY['weighted_jaccard_similarity(l.s, l.w, r.s, r.w)', 'weighted_cosine_similarity(r.s, r.w, l.s, l.w)',
    'weighted_jaccard_similarity(l.s, l.v, r.s, r.v)', 'weighted_cosine_similarity(l.s::text[], l.v, r.s::text[], r.v)']) m,
  unnest(ARRAY['r.cat = l.cat', 'r.id <> l.id', 'MEASURE >= 0.5']) w,
  LATERAL compare('SELECT l.id, x.* FROM heavy_l l LEFT JOIN LATERAL (SELECT r.id AS r, ' || m || ' AS s FROM heavy_r r WHERE ' || replace(w, 'MEASURE', m) || ' ORDER BY ' || m || ' DESC, r.id LIMIT 30) x ON true') c;
SELECT c.* FROM compare('SELECT l.id, x.* FROM heavy_l l CROSS JOIN LATERAL (SELECT count(*) FROM heavy_r r WHERE weighted_jaccard_similarity(l.s, l.w, r.s, r.w) >= 0.6 AND r.id <> l.id) x') c;
EXPLAIN (COSTS OFF) SELECT l.id, (SELECT r.id FROM heavy_r r ORDER BY weighted_cosine_similarity(l.s, l.w, r.s, r.w) DESC NULLS LAST LIMIT 1) FROM heavy_l l;
-- An error comes from a row that meets the other conditions.
INSERT INTO heavy_r VALUES (1000, 9, '{1,2}', '{1}', NULL), (1001, 8, '{1,2}', '{1,-1}', NULL);
SELECT c.* FROM compare('SELECT l.id, x.* FROM heavy_l l CROSS JOIN LATERAL (SELECT r.id AS r FROM heavy_r r WHERE r.cat <= l.cat + 2 ORDER BY weighted_jaccard_similarity(l.s, l.w, r.s, r.w) DESC, r.id LIMIT 1) x') c;
SELECT count(*) FROM heavy_l l CROSS JOIN LATERAL (SELECT r.id AS r FROM heavy_r r WHERE r.cat <= l.cat + 6 ORDER BY weighted_jaccard_similarity(l.s, l.w, r.s, r.w) DESC, r.id LIMIT 1) x;
SELECT count(*) FROM heavy_l l CROSS JOIN LATERAL (SELECT r.id AS r FROM heavy_r r WHERE r.cat = l.cat + 8 ORDER BY weighted_jaccard_similarity(l.s, l.w, r.s, r.w) DESC, r.id LIMIT 1) x;
DELETE FROM heavy_r WHERE id >= 1000;
INSERT INTO heavy_l VALUES (1000, 5, '{1,2}', '{NULL,1}', NULL);
SELECT c.* FROM compare('SELECT l.id, x.* FROM heavy_l l CROSS JOIN LATERAL (SELECT r.id AS r FROM heavy_r r WHERE r.cat = l.cat ORDER BY weighted_jaccard_similarity(l.s, l.w, r.s, r.w) DESC, r.id LIMIT 1) x') c;
SELECT count(*) FROM heavy_l l CROSS JOIN LATERAL (SELECT r.id AS r FROM heavy_r r ORDER BY weighted_jaccard_similarity(l.s, l.w, r.s, r.w) DESC, r.id LIMIT 1) x;

-- Memory does not suffice.
CREATE TABLE wide AS SELECT i AS id, ARRAY(SELECT i * k % 100003 FROM generate_series(1, 80) k) AS s FROM generate_series(1, 1000) i;
ANALYZE wide;
SET plan_cache_mode = force_generic_plan;
PREPARE nearest AS SELECT count(*), sum(w * l.id) FROM (SELECT * FROM wide LIMIT 30) l LEFT JOIN LATERAL (
  SELECT w.id AS w FROM wide w WHERE w.id <> l.id ORDER BY jaccard_similarity(l.s, w.s) DESC, w.id LIMIT 2) x ON true;
EXECUTE nearest;
SET simjoin.memory_limit = '1MB';
EXECUTE nearest;
CREATE FUNCTION sorted_anew(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line LIKE '%Sorted Anew%' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT sorted_anew('EXECUTE nearest');
-- A notice says so.
\set VERBOSITY terse
SET client_min_messages = notice;
RESET simjoin.notice_pairs;
EXECUTE nearest;
SET simjoin.notice_pairs = 0;
SET client_min_messages = warning;
\set VERBOSITY default
RESET simjoin.memory_limit;
SELECT sorted_anew('EXECUTE nearest');

-- An array that is no set raises its error if it meets the other conditions.
INSERT INTO r VALUES (1000, 9, '{1,NULL}', 'flawed', 'k1', 9);
SELECT count(*) FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x;
SELECT c.* FROM compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE r.cat <= l.cat + 2 ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x') c;
DELETE FROM r WHERE id = 1000;
INSERT INTO l VALUES (1000, 9, '{{1,2},{3,4}}', 'k9');
SELECT count(*) FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r ORDER BY dice_similarity(l.s, r.s) DESC, r.id LIMIT 1) x;
SELECT c.* FROM compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE r.cat + l.cat < 9 ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x') c;
-- With a key, too.
SELECT c.* FROM compare('SELECT l.id, x.* FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE r.key = l.key ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x') c;
UPDATE l SET key = 'k2' WHERE id = 1000;
SELECT count(*) FROM l CROSS JOIN LATERAL (SELECT r.id AS r FROM r WHERE r.key = l.key ORDER BY jaccard_similarity(l.s, r.s) DESC, r.id LIMIT 1) x;
-- With an index on the sets, it serves few outer rows, and the scan many. The outer query is often not planned yet.
CREATE TABLE asked (id int PRIMARY KEY, cat int, s int[]);
INSERT INTO asked SELECT i, i % 3, ARRAY(SELECT DISTINCT abs(hashint4(i * 8 + k) % 3000) FROM generate_series(1, 8) k) FROM generate_series(1, 1500) i;
CREATE TABLE stored AS SELECT id, s || 3000 + id AS s FROM asked;
SELECT create_similarity_index('stored', 's', 0.3);
ANALYZE asked, stored;
EXPLAIN (COSTS OFF) SELECT a.id, x.* FROM (SELECT * FROM asked WHERE id <= 3) a CROSS JOIN LATERAL (
  SELECT t.id AS t FROM stored t ORDER BY a.s <%> t.s LIMIT 1) x;
EXPLAIN (COSTS OFF) SELECT (SELECT t.id AS t FROM stored t ORDER BY a.s <%> t.s LIMIT 1) FROM asked a WHERE a.id <= 3;
SELECT f AS "from", c.* FROM unnest(ARRAY['(SELECT * FROM asked WHERE id <= 120) a', '(SELECT * FROM asked WHERE id <= 3) a',
    '(SELECT * FROM asked WHERE id BETWEEN 5 AND 7 AND cat >= 0) a', '(SELECT * FROM asked LIMIT 3) a']) f,
  LATERAL compare('SELECT a.id, x.* FROM ' || f || ' CROSS JOIN LATERAL (SELECT t.id AS t FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1) x') c;
SELECT f AS "from", c.* FROM unnest(ARRAY['asked a WHERE a.id <= 120', 'asked a WHERE a.id <= 3', '(SELECT * FROM asked WHERE id BETWEEN 5 AND 7) a',
    'asked a JOIN l ON l.id = a.id AND a.id <= 3', 'l LEFT JOIN asked a ON l.id = a.id AND a.id <= 3',
    'asked a WHERE a.id <= 3 AND EXISTS (SELECT FROM l WHERE l.id = a.id)']) f,
  LATERAL compare('SELECT a.id, (SELECT t.id FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1) AS t FROM ' || f) c;
-- In WHERE, in an UPDATE, of an outer query that has an outer query, of a table with partitions.
SELECT c.* FROM compare('SELECT a.id FROM asked a WHERE a.id <= 3 AND a.id = (SELECT t.id FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1)') c;
SELECT c.* FROM compare('SELECT l.id, (SELECT min((SELECT t.id FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1)) FROM asked a WHERE a.id < l.id AND a.id <= 3) AS t FROM l WHERE id < 5') c;
CREATE TABLE parts (id int, s int[]) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (700);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (700) TO (1501);
INSERT INTO parts SELECT id, s FROM asked;
ANALYZE parts;
SELECT f AS "from", c.* FROM unnest(ARRAY['parts a WHERE a.id > 1380', 'parts a WHERE a.id <= 3']) f,
  LATERAL compare('SELECT a.id, (SELECT t.id FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1) AS t FROM ' || f) c;
SELECT f AS "from", c.* FROM unnest(ARRAY['(SELECT * FROM parts WHERE id > 1380) a', '(SELECT * FROM parts WHERE id <= 3) a']) f,
  LATERAL compare('SELECT a.id, x.* FROM ' || f || ' CROSS JOIN LATERAL (SELECT t.id AS t FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1) x') c;
UPDATE asked a SET cat = (SELECT t.id FROM stored t ORDER BY a.s <%> t.s, t.id LIMIT 1) WHERE id <= 3 RETURNING id, cat;
DROP SCHEMA nearest_test CASCADE;
