-- The estimates of EXPLAIN do not reveal rows that row security hides, as with PostgreSQL's own
-- operators: statistics of a column are used only if the user may read all of it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE ROLE regress_simjoin_reader;

-- In one table all sets are the same, in the other all differ. The reader sees one row of each.
CREATE TABLE alike AS SELECT i AS id, ARRAY[1, 2, 3, 4, 5] AS tokens FROM generate_series(1, 1000) i;
CREATE TABLE unlike AS SELECT i AS id, ARRAY[i, i + 2000, i + 4000, i + 6000, i + 8000] AS tokens FROM generate_series(1, 1000) i;
ANALYZE alike, unlike;
CREATE POLICY one_row ON alike TO regress_simjoin_reader USING (id = 1);
CREATE POLICY one_row ON unlike TO regress_simjoin_reader USING (id = 1);
CREATE VIEW alike_barrier WITH (security_barrier) AS SELECT * FROM alike WHERE id > 0;
CREATE VIEW unlike_barrier WITH (security_barrier) AS SELECT * FROM unlike WHERE id > 0;
CREATE VIEW alike_plain AS SELECT * FROM alike;
CREATE VIEW unlike_plain AS SELECT * FROM unlike;
GRANT SELECT ON alike, unlike, alike_barrier, unlike_barrier, alike_plain, unlike_plain TO regress_simjoin_reader;

-- Returns the estimated rows of a join of a table with itself.
CREATE FUNCTION estimated_pairs(name text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %1$I a JOIN %1$I b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8', name) INTO plan;
  RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END $$;
-- Returns whether the estimates for two tables or views differ by at least ten times.
CREATE FUNCTION tells(one text, other text) RETURNS bool LANGUAGE sql AS
$$ SELECT estimated_pairs(one) NOT BETWEEN estimated_pairs(other) / 10 AND estimated_pairs(other) * 10 $$;

SELECT tells('alike', 'unlike') AS owner;
-- A user who may read all rows, from the table or from a view whose owner may, gets good estimates. Behind a security barrier
-- PostgreSQL gives nobody statistics.
SET ROLE regress_simjoin_reader;
SELECT tells('alike', 'unlike') AS reader, tells('alike_plain', 'unlike_plain') AS by_view, tells('alike_barrier', 'unlike_barrier') AS by_barrier;
RESET ROLE;
ALTER TABLE alike ENABLE ROW LEVEL SECURITY;
ALTER TABLE unlike ENABLE ROW LEVEL SECURITY;
SELECT tells('alike', 'unlike') AS owner;
SET ROLE regress_simjoin_reader;
SELECT tells('alike', 'unlike') AS reader;
SELECT estimated_pairs('alike') = estimated_pairs('unlike') AS equal;
RESET ROLE;

DROP TABLE alike, unlike CASCADE;
DROP FUNCTION estimated_pairs, tells;
DROP ROLE regress_simjoin_reader;
