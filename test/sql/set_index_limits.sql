-- An index on sets: what it must not be used for, and what it must not tell.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE guarded (id int PRIMARY KEY, tokens int4[], big int8[], distance float8, grp int);
INSERT INTO guarded
SELECT i, t, t, jaccard_distance(t, '{1,2,3}'), i % 3
FROM generate_series(1, 3000) i, LATERAL (SELECT ARRAY[i % 7, i % 11, i % 13] || i AS t) s;
CREATE INDEX guarded_tokens ON guarded USING gin (tokens int4_similarity_ops (threshold = 0.5));
CREATE INDEX guarded_big ON guarded USING gin (big int8_similarity_ops (threshold = 0.5));
ANALYZE guarded;
SET enable_seqscan = off;

-- Whether the nearest sets are searched with an index, or whether the plan has another node.
CREATE FUNCTION searched(query text, node text DEFAULT 'NearestSets') RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ node THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;
SELECT searched('SELECT id FROM guarded ORDER BY tokens <%> ''{1,2,3}'' LIMIT 1');
SELECT searched('SELECT id FROM guarded WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.9', 'Index Scan') AS by_owner;

-- An equality makes other columns sort keys as good as the distance.
SELECT id FROM guarded WHERE tokens <%> '{1,2,3}' = distance ORDER BY tokens <%> '{1,2,3}', id LIMIT 2;
SELECT id FROM guarded WHERE tokens <%> '{1,2,3}' = distance ORDER BY distance, id LIMIT 2;
SELECT id FROM guarded WHERE tokens <%> '{1,2,3}' = big <%> '{1,2,3}' ORDER BY big <%> '{1,2,3}', id LIMIT 2;
SELECT id FROM guarded WHERE tokens <%> '{1,2,3}' = big <%> '{1,2,3}' ORDER BY tokens <%> '{1,2,3}', id LIMIT 2;

-- The number of rows that a search finds would tell of rows that a policy hides.
CREATE ROLE regress_simjoin_reader;
GRANT SELECT ON guarded TO regress_simjoin_reader;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON guarded USING (grp = 1);
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM guarded WHERE grp = 1;
SET ROLE regress_simjoin_reader;
SELECT searched('SELECT id FROM guarded ORDER BY tokens <%> ''{1,2,3}'' LIMIT 1');
SELECT searched('SELECT id FROM guarded WHERE jaccard_similarity(tokens, ''{1,2,3}'') >= 0.9', 'Index Scan') AS by_policy;
RESET ROLE;
SELECT searched('SELECT id FROM barrier ORDER BY tokens <%> ''{1,2,3}'' LIMIT 1');
ALTER TABLE guarded DISABLE ROW LEVEL SECURITY;

-- Rights that a query does not need without the index do not become necessary with it.
SET ROLE regress_simjoin_reader;
SELECT searched('SELECT id FROM guarded ORDER BY tokens <%> ''{1,2,3}'' LIMIT 1');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION sets_similar(int4[], similarity_query) FROM PUBLIC;
SET ROLE regress_simjoin_reader;
SELECT id FROM guarded ORDER BY tokens <%> '{1,2,3}', id LIMIT 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION sets_similar(int4[], similarity_query) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION similarity_query_nearest(anyarray) FROM PUBLIC;
SET ROLE regress_simjoin_reader;
SELECT id FROM guarded ORDER BY tokens <%> '{1,2,3}', id LIMIT 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION similarity_query_nearest(anyarray) TO PUBLIC;

DROP VIEW barrier;
DROP FUNCTION searched;
DROP TABLE guarded;
DROP ROLE regress_simjoin_reader;
