-- Similarity clauses with OR between them: one join after the other, each pair once.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET simjoin.explain_device = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

CREATE TABLE people (id int PRIMARY KEY, grp int, name int[], town text[]);
INSERT INTO people
SELECT i, i % 5, CASE WHEN i % 31 <> 0 THEN ARRAY(SELECT i / 4 * 17 % 1009 + CASE WHEN k = i % 12 THEN 50 ELSE k END FROM generate_series(1, 7 + i % 3) k) END,
       CASE WHEN i % 29 <> 0 THEN ARRAY(SELECT 't' || (i / 8 + CASE WHEN i % 3 = 0 THEN k ELSE k * 2 END) FROM generate_series(1, 4) k) END
FROM generate_series(1, 400) i;
ANALYZE people;

EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6);
-- Conditions beside a clause belong to its join.
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a, people b
  WHERE a.name ~= b.name AND a.grp = b.grp OR cosine_similarity(a.town, b.town) > 0.8 AND a.id % 2 = 0;

-- Each query by joins and by a nested loop: how many rows, whether they are the same, and how many joins were planned.
CREATE FUNCTION compare(query text) RETURNS TABLE (pairs bigint, same bool, joins int)
LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  joins := 0;
  SET LOCAL simjoin.enable_join = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line LIKE '%SetSimilarityJoin%' THEN joins := joins + 1; END IF;
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE joined AS ' || query;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE 'CREATE TEMP TABLE looped AS ' || query;
  SELECT count(*) INTO pairs FROM looped;
  same := NOT EXISTS ((TABLE joined EXCEPT ALL TABLE looped) UNION ALL (TABLE looped EXCEPT ALL TABLE joined));
  DROP TABLE joined, looped;
  RETURN NEXT;
END $$;

SELECT * FROM compare('SELECT a.id AS l, b.id AS r, jaccard_similarity(a.name, b.name) AS s FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6');
-- The same set in both, of which the second has all pairs of the first.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.9 OR jaccard_similarity(a.name, b.name) >= 0.5)');
-- More than two; a distance, a sum, an equality and a threshold that is NULL among them.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN (SELECT * FROM people WHERE id % 3 = 0) b
  ON a.name <%> b.name <= 0.3 OR 0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.town, b.town) >= 0.7
  OR a.grp = b.grp AND containment(a.town, b.town) >= 0.5 OR overlap_count(a.name, b.name) >= NULL');
-- An arm within an arm: what is common stays outside.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.grp = b.grp AND jaccard_similarity(a.name, b.name) >= 0.6 OR a.grp = b.grp AND jaccard_similarity(a.town, b.town) >= 0.4');
-- Below other joins, with a parameter, and again for each row.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r, c.id AS c FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6)
  LEFT JOIN people c ON c.id = b.id + 1');
SELECT * FROM compare('SELECT t, s.* FROM generate_series(0.5, 0.9, 0.2) t, LATERAL (SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= t OR jaccard_similarity(a.town, b.town) >= t) OFFSET 0) s');
-- A CTE is read twice, and has the same rows.
SELECT * FROM compare('WITH p AS MATERIALIZED (SELECT *, random() AS x FROM people) SELECT a.id AS l, b.id AS r FROM p a JOIN p b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6)');
-- Without joins: a condition that is no similarity clause, an outer or semi join, and rows that may be others when they are read again.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = b.id + 1');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a LEFT JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6');
SELECT * FROM compare('SELECT a.id AS l FROM people a WHERE EXISTS (SELECT FROM people b WHERE a.id <> b.id
  AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6))');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN (SELECT * FROM people ORDER BY id LIMIT 100) b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b TABLESAMPLE bernoulli (100)
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON random() < 2 AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6)');

-- Rows are changed once.
BEGIN;
EXPLAIN (COSTS OFF) UPDATE people a SET grp = 9 FROM people b
  WHERE a.id <> b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6);
WITH changed AS (UPDATE people a SET grp = 9 FROM people b
  WHERE a.id <> b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.9) RETURNING a.id)
SELECT count(*) FROM changed;
ROLLBACK;
BEGIN;
SET LOCAL simjoin.enable_join = off;
WITH changed AS (UPDATE people a SET grp = 9 FROM people b
  WHERE a.id <> b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.9) RETURNING a.id)
SELECT count(*) FROM changed;
ROLLBACK;

-- Partitioned tables.
CREATE TABLE parts (LIKE people) PARTITION BY LIST (grp);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0, 1);
CREATE TABLE parts_1 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM people;
ANALYZE parts;
SET enable_partitionwise_join = on;
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM parts a JOIN parts b
  ON a.grp = b.grp AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6)');
RESET enable_partitionwise_join;
BEGIN;
WITH changed AS (UPDATE parts a SET name = '{}' FROM people b
  WHERE a.id <> b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.9) RETURNING a.id)
SELECT count(*) FROM changed;
ROLLBACK;

-- Arms without a similarity are joined by PostgreSQL, before the others: by an equality, or where a table is filtered alone.
SET enable_hashjoin = on;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = 17;
SELECT * FROM compare('SELECT a.id AS l, b.id AS r, jaccard_similarity(a.name, b.name) AS s FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = 17)');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.grp = b.grp AND (b.name IS NULL OR jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = b.id + 5)');
-- More of both; NULL on either side of an equality; both tables filtered; an arm that is NULL, and one that is a parameter.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.town = b.town OR jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = 17 AND b.grp = 3 OR jaccard_similarity(a.town, b.town) >= 0.6
  OR b.id IN (5, 17) AND a.name IS NULL OR a.id = b.id AND a.id > NULL');
SELECT * FROM compare('SELECT t, s.* FROM generate_series(1, 3) t, LATERAL (SELECT a.id AS l, b.id AS r FROM people a JOIN people b
  ON a.id < b.id AND (jaccard_similarity(a.name, b.name) >= 0.8 OR a.id = t OR a.grp = b.id - t) OFFSET 0) s');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r, c.id AS c FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town LEFT JOIN people c ON c.id = b.id + 1 WHERE c.grp IS DISTINCT FROM 2');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people c JOIN people a USING (id) JOIN parts b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR c.town = b.town');
PREPARE by_number(int) AS SELECT count(*), count(DISTINCT (a.id, b.id)) FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = $1 OR $1 = 3 AND a.grp = b.grp;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_number(2);
EXECUTE by_number(3);
RESET plan_cache_mode;
-- Not where PostgreSQL has no such join: other comparisons, conditions on a table that cannot be filtered alone, outer joins, and queries
-- that lock or change rows.
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id < b.grp WHERE a.id < 40');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM parts a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = 17 WHERE a.id < 40');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a LEFT JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town WHERE a.id < 40');
SELECT * FROM compare('SELECT a.id AS l, b.id AS r FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.id = random() WHERE a.id < 40');
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town FOR UPDATE OF a;
EXPLAIN (COSTS OFF) UPDATE people a SET grp = 9 FROM people b WHERE jaccard_similarity(a.name, b.name) >= 0.6 OR a.town = b.town;
-- Row security comes before an arm that may leak.
CREATE FUNCTION seen(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
  IF i > 50 THEN RAISE EXCEPTION 'row % was seen', i; END IF;
  RETURN i = 17;
END $$;
CREATE ROLE regress_simjoin_arms;
GRANT SELECT ON people TO regress_simjoin_arms;
CREATE POLICY few ON people TO regress_simjoin_arms USING (id <= 50);
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simjoin_arms;
EXPLAIN (COSTS OFF) SELECT FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR seen(a.id);
SELECT count(*) FROM people a JOIN people b ON jaccard_similarity(a.name, b.name) >= 0.6 OR seen(a.id);
RESET ROLE;
ALTER TABLE people DISABLE ROW LEVEL SECURITY;
DROP POLICY few ON people;
DROP FUNCTION seen;
DROP OWNED BY regress_simjoin_arms;
DROP ROLE regress_simjoin_arms;
DEALLOCATE by_number;

-- Arms do not share the working table of a recursive query.
SET enable_nestloop = off;
CREATE VIEW reached AS
WITH RECURSIVE r(n, name, id) AS (
  SELECT 1, name, id FROM people WHERE id < 5
  UNION ALL SELECT n + 1, b.name, b.id FROM r JOIN people b ON (jaccard_similarity(r.name, b.name) >= 0.6 OR r.id + 3 = b.id) WHERE n < 4)
SELECT n, count(*) AS rows FROM r GROUP BY n;
TABLE reached ORDER BY n;
SET simjoin.enable_join = off;
TABLE reached ORDER BY n;
RESET simjoin.enable_join;
RESET enable_nestloop;
DROP VIEW reached;

-- An array that is no set raises an error only where a nested loop would compute its similarity.
UPDATE people SET town = '{{t1,t2}}' WHERE id = 5;
SELECT count(*) > 0 AS found FROM people a JOIN people b
  ON a.id = 5 AND b.id = 5 AND (jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6);
SELECT count(*) FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name) >= 0.6 OR jaccard_similarity(a.town, b.town) >= 0.6;

DROP FUNCTION compare;
DROP TABLE people, parts;
