-- Dedup views: incremental refreshes against full rebuilds, and changes of the views themselves.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA dedup_test;
SET search_path = dedup_test, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 <> 0 THEN ARRAY(SELECT n / 3 + j FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;

CREATE TABLE docs (id int PRIMARY KEY, priority int, tokens int[]);
INSERT INTO docs SELECT i * 3, draw(100, i, 1), tokens_of(draw(200, i, 2)) FROM generate_series(1, 120) i;
SELECT create_dedup_view('unique_docs', 'SELECT id, tokens FROM docs', 0.7);
SELECT count(*) = 120 AS all_rows, count(DISTINCT group_id) BETWEEN 20 AND 100 AS grouped FROM unique_docs;

-- The parts of the view.
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'dedup_test'::regnamespace AND relname LIKE 'unique%' ORDER BY relname COLLATE "C";

-- Only changed rows are joined.
SELECT * FROM refresh_dedup_view('unique_docs');
INSERT INTO docs VALUES (1, 0, '{1000,1001}'), (2, 0, '{1001,1000}');
SELECT * FROM refresh_dedup_view('unique_docs');
SELECT * FROM unique_docs WHERE id < 3 ORDER BY id;
UPDATE docs SET tokens = '{1000,1001,1002}' WHERE id = 2;
UPDATE docs SET priority = 1 WHERE id = 1;
SELECT * FROM refresh_dedup_view('unique_docs', concurrently => false);
SELECT * FROM unique_docs WHERE id < 3 ORDER BY id;
DELETE FROM docs WHERE id = 1;
UPDATE docs SET id = 4 WHERE id = 2;
SELECT * FROM refresh_dedup_view('unique_docs');
SELECT * FROM unique_docs WHERE id < 5 ORDER BY id;
-- PostgreSQL's own command does the same.
INSERT INTO docs VALUES (5, 0, '{1000,1001,1002}');
REFRESH MATERIALIZED VIEW CONCURRENTLY unique_docs;
SELECT * FROM unique_docs WHERE id IN (4, 5) ORDER BY id;
REFRESH MATERIALIZED VIEW unique_docs WITH NO DATA;
DELETE FROM docs WHERE id = 5;
SELECT * FROM refresh_dedup_view('unique_docs');
SELECT * FROM unique_docs WHERE id IN (4, 5) ORDER BY id;
SELECT drop_dedup_view('unique_docs');

-- Random inserts, updates and deletes: after each refresh the groups are those of a full rebuild.
CREATE TABLE methods (method text, keep text, tracked bool, view text, query text);
INSERT INTO methods
SELECT method, keep, tracked, method || '_' || keep || CASE WHEN tracked THEN '_tracked' ELSE '' END,
       CASE keep WHEN 'first_row' THEN 'SELECT id, tokens FROM docs ORDER BY priority, id' ELSE 'SELECT id, tokens FROM docs' END
FROM unnest('{components,star,best_link}'::text[]) method, unnest('{smallest_id,first_row}'::text[]) keep, unnest('{f,t}'::bool[]) tracked;
SELECT count(create_dedup_view(view, query, 0.7, method => method, keep => keep, max_group_share => 1, track_changes => tracked)) FROM methods;
CREATE FUNCTION differences(view text, query text, method text, keep text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH full_rebuild AS (SELECT * FROM duplicate_groups(%L, 0.7, method => %L, keep => %L, max_group_share => 1))
    SELECT count(*) FROM ((SELECT id, group_id, is_representative, similarity FROM %I EXCEPT ALL TABLE full_rebuild) UNION ALL (TABLE full_rebuild EXCEPT ALL SELECT id, group_id, is_representative, similarity FROM %I)) d',
    query, method, keep, view, view) INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, step int, joined bigint, kept bigint, removed bigint, new_pairs bigint, differences bigint, some_read bool);
DO $$
DECLARE m record; f record;
BEGIN
  FOR step IN 1 .. 12 LOOP
    DELETE FROM docs WHERE draw(20, id, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(draw(200, id, step, 3)) WHERE draw(20, id, step, 2) = 0;
    UPDATE docs SET priority = draw(100, id, step, 5) WHERE draw(10, id, step, 4) = 0;
    INSERT INTO docs SELECT 1000 * step + i, draw(100, i, step, 6), tokens_of(draw(200, i, step, 7)) FROM generate_series(1, draw(12, step)) i;
    IF step = 5 THEN TRUNCATE docs; END IF;
    IF step = 6 THEN INSERT INTO docs SELECT i, i, tokens_of(draw(200, i, 8)) FROM generate_series(1, 80) i; END IF;
    FOR m IN SELECT * FROM methods LOOP
      SELECT * INTO f FROM refresh_dedup_view(m.view::regclass, step % 3 > 0);
      INSERT INTO refreshes VALUES (m.view, step, f.new_rows + f.changed_rows, f.rows - f.new_rows - f.changed_rows, f.removed_rows,
        f.new_pairs, differences(m.view, m.query, m.method, m.keep), f.read_rows < f.rows);
    END LOOP;
  END LOOP;
END $$;
SELECT view, count(*) AS refreshes, sum(differences) AS differences, bool_or(joined > 0 AND kept > 3 * joined) AS little_joined,
       sum(removed) > 10 AS removed, sum(new_pairs) > 50 AS new_pairs, bool_or(some_read) AS some_read
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
-- The stored pairs are those of a join.
SELECT count(*) AS differences FROM star_smallest_id_pairs p
FULL JOIN similarity_self_join('SELECT id, tokens FROM docs', 0.7) j ON (p.a, p.b, p.similarity) = (j.a, j.b, j.similarity)
WHERE p.a IS NULL OR j.a IS NULL;
SELECT count(drop_dedup_view(view::regclass)) FROM methods;

-- Nothing is lost if a refresh or the change before it is rolled back.
SELECT create_dedup_view('dedup_test."Odd "" name"', 'SELECT id, tokens FROM docs;', 0.7);
BEGIN;
INSERT INTO docs VALUES (-1, 0, '{5000,5001}'), (-2, 0, '{5000,5001}');
SELECT new_rows, new_pairs FROM refresh_dedup_view('"Odd "" name"');
ROLLBACK;
SELECT new_rows, new_pairs FROM refresh_dedup_view('"Odd "" name"');
BEGIN;
INSERT INTO docs VALUES (-1, 0, '{5000,5001}'), (-2, 0, '{5000,5001}');
SAVEPOINT before_refresh;
SELECT new_rows, new_pairs FROM refresh_dedup_view('"Odd "" name"');
ROLLBACK TO before_refresh;
COMMIT;
SELECT new_rows, new_pairs FROM refresh_dedup_view('"Odd "" name"');
SELECT count(*) AS differences FROM duplicate_groups('SELECT id, tokens FROM docs', 0.7) d FULL JOIN "Odd "" name" v USING (id, group_id)
WHERE d.similarity IS DISTINCT FROM v.similarity OR d.is_representative IS DISTINCT FROM v.is_representative;

-- Renamed and moved parts do no harm, nor does an empty search path.
CREATE SCHEMA elsewhere;
ALTER TABLE "Odd "" name_rows" RENAME TO some_rows;
ALTER TABLE "Odd "" name_pairs" SET SCHEMA elsewhere;
ALTER MATERIALIZED VIEW "Odd "" name" RENAME TO renamed;
ALTER TABLE docs RENAME COLUMN tokens TO shingles;
DELETE FROM docs WHERE id = -2;
SET search_path = pg_catalog;
SELECT new_rows, removed_rows FROM public.refresh_dedup_view('dedup_test.renamed');
SET search_path = dedup_test, public;

-- A column that the query uses cannot be dropped without the view.
ALTER TABLE docs DROP COLUMN shingles;
DROP VIEW "Odd "" name_source";
DROP TABLE some_rows CASCADE;
-- PostgreSQL drops all parts, or none.
CREATE VIEW edges AS SELECT a, b FROM elsewhere."Odd "" name_pairs";
DROP MATERIALIZED VIEW renamed;
DROP VIEW edges;
DROP MATERIALIZED VIEW renamed;
SELECT count(*) AS left_over FROM pg_class WHERE relname ~ 'Odd|some_rows';

-- Rights: readers of the view need no rights to the table. Only the owner of the view refreshes it.
CREATE ROLE regress_dedup_owner;
CREATE ROLE regress_dedup_reader;
GRANT USAGE, CREATE ON SCHEMA dedup_test TO regress_dedup_owner;
GRANT USAGE ON SCHEMA dedup_test TO regress_dedup_reader;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA dedup_test TO regress_dedup_owner;
SET ROLE regress_dedup_owner;
SELECT create_dedup_view('owned', 'SELECT id, shingles FROM docs', 0.7);
RESET ROLE;
GRANT SELECT ON docs TO regress_dedup_owner;
SET ROLE regress_dedup_owner;
SELECT create_dedup_view('owned', 'SELECT id, shingles FROM docs', 0.7);
GRANT SELECT ON owned TO regress_dedup_reader;
SET ROLE regress_dedup_reader;
SELECT count(*) > 10 AS readable FROM owned;
\set VERBOSITY sqlstate
SELECT * FROM refresh_dedup_view('owned');
SELECT drop_dedup_view('owned');
\set VERBOSITY default
SELECT create_dedup_view('mine', 'SELECT 1, ''{1}''::int[]', 0.7);
RESET ROLE;
SELECT new_rows FROM refresh_dedup_view('owned');
REVOKE SELECT ON docs FROM regress_dedup_owner;
SELECT * FROM refresh_dedup_view('owned');
SET ROLE regress_dedup_owner;
SELECT drop_dedup_view('owned');
RESET ROLE;
DROP OWNED BY regress_dedup_owner, regress_dedup_reader;
DROP ROLE regress_dedup_owner, regress_dedup_reader;

-- Errors.
SELECT create_dedup_view('docs', 'SELECT id, shingles FROM docs', 0.7);
SELECT create_dedup_view('bad', 'SELECT id FROM docs', 0.7);
SELECT create_dedup_view('bad', 'SELECT 1 AS id, shingles FROM docs', 0.7);
SELECT create_dedup_view('bad', 'SELECT id, shingles FROM nowhere', 0.7);
SELECT create_dedup_view('bad', 'SELECT id, shingles FROM docs', 7);
SELECT create_dedup_view('bad', 'SELECT id, shingles FROM docs', 0.7, method => 'snowball');
SELECT create_dedup_view('nowhere.bad', 'SELECT id, shingles FROM docs', 0.7);
SELECT refresh_dedup_view('docs');
SELECT drop_dedup_view('docs');
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'bad%' OR relname LIKE '%odd%' OR relname LIKE 'docs\_%' AND relkind <> 'i';

DROP SCHEMA elsewhere CASCADE;
DROP SCHEMA dedup_test CASCADE;
