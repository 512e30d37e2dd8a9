-- The join operator in every plan shape: under and above other nodes, rescanned, locked, secured.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET simjoin.explain_device = off;
SET enable_nestloop = off;

CREATE TABLE docs (id int PRIMARY KEY, owner text, lang int, tokens int[]);
INSERT INTO docs SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i % 3,
                        ARRAY(SELECT 10 * (i % 20) + j FROM generate_series(1, 6 + i % 3) j)
FROM generate_series(1, 60) i;
ANALYZE docs;
-- Documents 20 apart have the same first tokens: similarity 6/7, 6/8 or 7/8.

-- Of several similarity clauses the most selective one drives the join, whichever number is higher, or the first of equal ones.
CREATE FUNCTION driving_clauses(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT FROM docs a JOIN docs b ON ' || condition LOOP
    IF line ~ 'Similarity Clause' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT driving_clauses('jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND overlap_count(a.tokens, b.tokens) >= 1');
SELECT driving_clauses('overlap_count(a.tokens, b.tokens) >= 1 AND jaccard_similarity(a.tokens, b.tokens) >= 0.9');
SELECT driving_clauses('jaccard_similarity(a.tokens, b.tokens) >= 0.1 AND overlap_count(a.tokens, b.tokens) >= 8');
SELECT driving_clauses('dice_similarity(a.tokens, b.tokens) >= 0.8 AND jaccard_similarity(a.tokens, b.tokens) >= 0.76');
SELECT driving_clauses('jaccard_similarity(a.tokens, b.tokens) >= 0.5 AND jaccard_similarity(b.tokens, a.tokens) >= 0.5');

-- Partitioned tables, also joined partition by partition; inheritance.
CREATE TABLE parts (id int, lang int, tokens int[]) PARTITION BY LIST (lang);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT id, lang, tokens FROM docs;
ANALYZE parts;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parts a JOIN parts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT count(*) FROM parts a JOIN parts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SET enable_partitionwise_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
-- Parallel workers join a partition each. No join is off, because an Append of PostgreSQL 18 takes a nested loop for a
-- partition though it is off. There are enough rows for it to be dearer.
INSERT INTO parts SELECT id + 100 * copy, lang, tokens FROM docs, generate_series(1, 10) copy;
ANALYZE parts;
RESET enable_nestloop;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT count(*) FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SET parallel_leader_participation = off;
SELECT count(*) FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET enable_partitionwise_join;
SET enable_nestloop = off;
DELETE FROM parts WHERE id > 100;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*) FROM docs a JOIN docs b ON a.lang = b.lang AND a.id <= b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
CREATE TABLE heirs () INHERITS (docs);
INSERT INTO heirs SELECT id + 100, owner, lang, tokens FROM docs WHERE id <= 5;
SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT count(*) FROM ONLY docs a JOIN ONLY docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT count(*) FROM ONLY docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
-- EXPLAIN VERBOSE names the row identities that the tables below a target share.
CREATE FUNCTION node_is_in(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
  found boolean := false;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || statement LOOP
    found := found OR line ~ 'SetSimilarityJoin';
  END LOOP;
  RETURN found;
END $$;
SELECT node_is_in('UPDATE parts d SET id = k.id FROM parts k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.7');
SELECT node_is_in('DELETE FROM docs d USING parts k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.7');
BEGIN;
UPDATE parts d SET id = -k.id FROM parts k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.85;
SELECT count(*) FROM parts d JOIN docs k ON k.id = -d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.85;
DELETE FROM docs d USING parts k WHERE k.id < d.id AND k.id > 0 AND jaccard_similarity(k.tokens, d.tokens) >= 0.85;
SELECT tableoid::regclass, count(*) FROM docs GROUP BY 1 ORDER BY 1;
ROLLBACK;
DROP TABLE heirs;

-- Parallel scans below the join.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM docs a JOIN parts_1 b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT count(*) FROM docs a JOIN parts_1 b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- By itself the planner takes the join operator for tables, also for one row against a table, and a nested loop for a handful
-- of rows.
RESET enable_nestloop;
EXPLAIN (COSTS OFF) SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT * FROM docs LIMIT 2) a JOIN (SELECT * FROM docs LIMIT 2) b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM docs a JOIN docs b ON a.id = 7 AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SET enable_nestloop = off;

-- Views, CTEs, aggregates below and above, set operations, LATERAL, VALUES, functions.
CREATE VIEW pairs AS SELECT a.id AS a, b.id AS b, jaccard_similarity(a.tokens, b.tokens) AS similarity
FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT * FROM pairs WHERE a = 3 ORDER BY b;
SELECT similarity, count(*) FROM pairs GROUP BY similarity ORDER BY similarity;
SELECT count(*) FROM (SELECT a FROM pairs UNION SELECT b FROM pairs) u;
WITH p AS MATERIALIZED (SELECT * FROM pairs) SELECT count(*) FROM p x JOIN p y ON x.b = y.a;
SELECT count(*) FROM (VALUES ('{11,12,13}'::int[]), ('{1,2}'), (NULL)) v (s) JOIN docs d ON overlap_count(v.s, d.tokens) >= 3;
SELECT count(*) FROM docs a, LATERAL (SELECT a.id AS x, b.id FROM docs b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.7) l WHERE a.id < 4;
SELECT count(*) FROM docs a LEFT JOIN LATERAL (SELECT b.id + a.id AS z FROM docs b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id <> b.id) l ON true;

-- A similarity join inside a correlated subplan is run again for each outer row.
SELECT o.lang, (SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7 WHERE a.lang = o.lang) AS n
FROM (SELECT DISTINCT lang FROM docs) o ORDER BY 1;
SELECT t, (SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= o.t) AS n
FROM (VALUES (0.75), (0.8), (0.9)) o (t) ORDER BY 1;

-- Cursors: in steps, backward, and past the end of the transaction.
BEGIN;
DECLARE forward CURSOR FOR SELECT a, b FROM pairs ORDER BY a, b;
FETCH 2 FROM forward;
FETCH 1 FROM forward;
DECLARE back SCROLL CURSOR FOR SELECT a.id + b.id AS s FROM docs a JOIN docs b ON a.id < b.id AND a.id < 3 AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
MOVE FORWARD ALL FROM back;
SELECT count(*) FROM pg_cursors;
FETCH BACKWARD 0 FROM back;
MOVE BACKWARD ALL FROM back;
MOVE FORWARD 3 FROM back;
MOVE BACKWARD 2 FROM back;
MOVE FORWARD ALL FROM back;
DECLARE held CURSOR WITH HOLD FOR SELECT a, b FROM pairs ORDER BY a, b;
COMMIT;
FETCH 2 FROM held;
CLOSE held;

-- LIMIT, and a cursor that is closed before its end.
SELECT count(*) FROM (SELECT FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 LIMIT 7) l;

-- Row locks: both tables are read, and a row that was changed meanwhile is checked again.
BEGIN;
SELECT a.id, b.id FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7 WHERE a.id < 3 ORDER BY 1, 2 FOR UPDATE OF a;
COMMIT;

-- Statements that write.
CREATE TABLE copied AS SELECT * FROM pairs;
SELECT count(*) FROM copied;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM pairs;
REFRESH MATERIALIZED VIEW kept;
SELECT count(*) FROM kept;
INSERT INTO copied SELECT a + 1000, b + 1000, similarity FROM pairs;
SELECT count(*) FROM copied;
DELETE FROM docs d USING docs k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.9 AND k.lang = d.lang;
SELECT count(*) FROM docs;
UPDATE docs d SET owner = 'twin' FROM docs k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.8;
SELECT owner, count(*) FROM docs GROUP BY 1 ORDER BY 1;
UPDATE docs SET owner = CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END;

-- PL/pgSQL loops and triggers.
CREATE FUNCTION loop_over_pairs(t float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE p record; n int := 0;
BEGIN
  FOR p IN SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= t LOOP
    n := n + 1;
    EXIT WHEN n = 10;
  END LOOP;
  RETURN n;
END $$;
SELECT loop_over_pairs(0.7), loop_over_pairs(0.99), loop_over_pairs(0.8);
CREATE FUNCTION refuse_duplicates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM new_rows n JOIN docs d ON n.id <> d.id AND jaccard_similarity(n.tokens, d.tokens) >= 0.95) THEN
    RAISE EXCEPTION 'near-duplicate';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER no_duplicates AFTER INSERT ON docs REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION refuse_duplicates();
INSERT INTO docs VALUES (1001, 'odd', 1, '{900,901,902}');
INSERT INTO docs VALUES (1002, 'odd', 1, '{902,901,900}');
SELECT count(*) FROM docs WHERE id > 1000;
DELETE FROM docs WHERE id > 1000;

-- Row-level security and security barriers: a condition that leaks its rows runs only on allowed rows.
CREATE FUNCTION tell(set int[]) RETURNS int[] LANGUAGE plpgsql COST 1 AS $$
BEGIN RAISE WARNING 'saw %', set; RETURN set; END $$;
CREATE VIEW mine WITH (security_barrier) AS SELECT id, tokens FROM docs WHERE id IN (1, 21);
SELECT count(*) FROM mine a JOIN mine b ON a.id < b.id AND jaccard_similarity(tell(a.tokens), b.tokens) >= 0.7;
CREATE ROLE regress_simjoin_reader;
GRANT SELECT ON docs TO regress_simjoin_reader;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON docs USING (owner = 'even');
SET ROLE regress_simjoin_reader;
SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
SELECT bool_and(a.id % 2 = 0 AND b.id % 2 = 0) FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
RESET ROLE;
DROP POLICY own_rows ON docs;
REVOKE SELECT ON docs FROM regress_simjoin_reader;
DROP ROLE regress_simjoin_reader;
RESET ALL;
DROP VIEW pairs, mine CASCADE;
DROP TABLE docs, parts, copied;
DROP FUNCTION tell, loop_over_pairs, refuse_duplicates, driving_clauses;
