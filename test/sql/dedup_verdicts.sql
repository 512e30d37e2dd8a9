-- Verdicts that bind the groups of dedup views, against a full rebuild and an oracle.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET client_min_messages = notice;
CREATE SCHEMA dedup_verdict_test;
SET search_path = dedup_verdict_test, public;

-- A chain 1 2 3 4, whose weakest pair is that of 2 and 3, and 9 beside it.
CREATE TABLE items (id int PRIMARY KEY, tokens int[]);
INSERT INTO items VALUES (1, '{1,2,3,4}'), (2, '{2,3,4}'), (3, '{3,4,5}'), (4, '{3,4,5,6}'), (9, '{90}');
CREATE TABLE verdicts (a int, b int, verdict text);
INSERT INTO verdicts VALUES (4, 1, 'different'), (4, 9, 'same'), (9, 4, 'same'), (1, 77, 'same'), (1, 3, NULL);
SELECT create_dedup_view('plain', 'SELECT id, tokens FROM items', 0.5, verdicts => 'TABLE verdicts');
SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM items', 0.5, track_changes => true, verdicts => 'SELECT a, b, verdict FROM verdicts');
SELECT * FROM tracked ORDER BY id;
TABLE plain EXCEPT TABLE tracked;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'dedup_verdict_test'::regnamespace AND relname ~ '_(verdicts|judged)$' ORDER BY relname COLLATE "C";
TABLE tracked_judged ORDER BY a, b;
-- Verdicts alone change: the next refresh reads no rows of the table, splits and merges groups, and keeps their ids.
DELETE FROM verdicts WHERE 9 IN (a, b);
INSERT INTO verdicts VALUES (9, 1, 'same');
SELECT new_rows, changed_rows, read_rows FROM refresh_dedup_view('tracked');
SELECT * FROM tracked ORDER BY id;
UPDATE verdicts SET verdict = 'same' WHERE (a, b) = (4, 1);
SELECT read_rows FROM refresh_dedup_view('tracked');
SELECT id, group_id, entity_id FROM tracked ORDER BY id;
SELECT event, entity_id, to_entity_id, rows FROM tracked_history;
-- A row that a verdict waits for comes, and goes.
INSERT INTO items VALUES (77, '{700}');
SELECT new_rows, read_rows FROM refresh_dedup_view('tracked');
SELECT group_id FROM tracked WHERE id = 77;
TABLE tracked_judged ORDER BY a, b;
DELETE FROM items WHERE id = 77;
SELECT removed_rows, read_rows FROM refresh_dedup_view('tracked');
TABLE tracked_judged ORDER BY a, b;
-- Verdicts that contradict others or themselves. A refresh of changes warns of those in groups that it forms anew.
INSERT INTO verdicts VALUES (1, 2, 'different'), (2, 1, 'same'), (3, 3, 'different'), (3, 3, 'same');
SELECT rows FROM refresh_dedup_view('tracked');
SELECT rows FROM refresh_dedup_view('tracked');
SELECT rows FROM refresh_dedup_view('plain');
SELECT id, group_id FROM tracked ORDER BY id;
SELECT id, group_id, is_representative, similarity FROM plain EXCEPT SELECT id, group_id, is_representative, similarity FROM tracked;
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::int, verdicts => 'TABLE verdicts') EXCEPT
  SELECT id, group_id, is_representative, similarity FROM tracked;
-- A full refresh leaves the same behind.
SET client_min_messages = error;
INSERT INTO verdicts VALUES (3, 9, 'different');
REFRESH MATERIALIZED VIEW tracked;
SELECT rows FROM refresh_dedup_view('plain');
SELECT id, group_id, is_representative, similarity FROM plain EXCEPT SELECT id, group_id, is_representative, similarity FROM tracked;
TABLE tracked_judged ORDER BY a, b;
RESET client_min_messages;
TRUNCATE verdicts;
SELECT read_rows FROM refresh_dedup_view('tracked');
SELECT count(DISTINCT group_id) FROM tracked;
TABLE tracked_judged;

-- What a call may not have, and what a verdict may not be. A refresh that fails leaves the view as it was.
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, method => 'star', verdicts => 'TABLE verdicts');
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, verdicts => 'verdicts');
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, verdicts => 'DELETE FROM verdicts RETURNING a, b, verdict');
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, verdicts => 'SELECT a, b FROM verdicts');
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, verdicts => 'SELECT *, 1 AS more FROM verdicts');
SELECT create_dedup_view('refused', 'SELECT id, tokens FROM items', 0.5, verdicts => 'SELECT a::text, b, verdict FROM verdicts');
SELECT create_dedup_view('refused', 'SELECT id::text, tokens FROM items', 0.5, verdicts => 'SELECT a, b, verdict FROM verdicts');
CREATE FUNCTION refreshed(view regclass, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  PERFORM refresh_dedup_view(view);
  RAISE 'refreshed';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE spoilt (statement text);
INSERT INTO spoilt VALUES ('INSERT INTO verdicts VALUES (1, 2, ''perhaps'')'), ('INSERT INTO verdicts VALUES (1, NULL, ''same'')'),
  ('CREATE OR REPLACE VIEW %s_verdicts AS SELECT a, b, verdict, 1 AS more FROM verdicts'), ('ALTER TABLE verdicts DROP COLUMN verdict'), ('DROP TABLE verdicts'),
  ('DROP VIEW %s_verdicts CASCADE'), ('CREATE OR REPLACE VIEW %s_verdicts AS SELECT 1 AS a, 2 AS b, ''same''::text AS verdict'),
  ('CREATE OR REPLACE VIEW %s_verdicts AS SELECT a, b, verdict FROM verdicts WHERE 1 / a > 0'), ('ALTER VIEW %s_verdicts RENAME b TO "B ""c"');
SELECT statement, refreshed('tracked', format(statement, 'tracked')) AS tracked, refreshed('plain', format(statement, 'plain')) AS plain FROM spoilt;
-- Too many of them for the memory.
SET simjoin.memory_limit = '1MB';
SELECT refreshed(v::regclass, 'INSERT INTO verdicts SELECT 1, 2, ''same'' FROM generate_series(1, 20000)') FROM unnest('{tracked,plain}'::text[]) v;
RESET simjoin.memory_limit;
-- An owner may spoil the table of verdicts.
TRUNCATE spoilt;
INSERT INTO spoilt VALUES ('UPDATE tracked_judged SET a = 5, b = 4'), ('DELETE FROM tracked_judged'), ('INSERT INTO tracked_judged VALUES (3, 4, true)'),
  ('ALTER TABLE tracked_judged DROP CONSTRAINT tracked_judged_pkey; INSERT INTO tracked_judged TABLE tracked_judged'),
  ('ALTER TABLE tracked_judged RENAME same TO other'), ('DROP TABLE tracked_judged'), ('ALTER TABLE tracked_judged ENABLE ROW LEVEL SECURITY');
INSERT INTO verdicts VALUES (1, 4, 'different');
SELECT read_rows FROM refresh_dedup_view('tracked');
SELECT statement, refreshed('tracked', statement) AS tracked FROM spoilt;
SELECT count(DISTINCT group_id) FROM tracked;
-- A definition by hand that lacks parts that its kind has, or names other ones.
CREATE TABLE prints (id bigint, fingerprint uuid);
CREATE TABLE tracked_prints (id bigint, fingerprint uuid, size int, prefix int[]);
CREATE TABLE pairs (a bigint, b bigint, similarity float8);
CREATE TABLE changes (first_id bigint, last_id bigint);
CREATE TABLE orders (rows bigint, ordered_rows bigint, frequent int[]);
CREATE TABLE entities (id bigint, entity_id bigint);
CREATE TABLE history (at timestamptz, event text, entity_id bigint, to_entity_id bigint, rows bigint);
CREATE VIEW query AS SELECT id, tokens FROM items;
CREATE VIEW judged_query AS SELECT a, b, verdict FROM verdicts;
CREATE FUNCTION forged(parts text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups(''query'', %s, ''0.5'', ''jaccard'', ''components'', ''smallest_id'', ''1'')',
    regexp_replace(parts, '[^ ,]+', '''\&''', 'g'));
  RAISE 'made';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT parts, forged(replace(parts, ' ', ' , ')) FROM unnest('{prints pairs - - entities - - -,tracked_prints pairs changes - entities history - -,prints pairs - - entities history verdicts -,
  tracked_prints pairs changes orders entities history judged_query -,tracked_prints pairs changes orders entities history judged_query pairs}'::text[]) parts;

-- The query runs with the rights of the view's owner, and writers of verdicts need none to the view.
CREATE ROLE regress_view_owner;
CREATE ROLE regress_judge;
GRANT USAGE, CREATE ON SCHEMA dedup_verdict_test TO regress_view_owner;
GRANT USAGE, CREATE ON SCHEMA dedup_verdict_test TO regress_judge;
GRANT SELECT ON items TO regress_view_owner;
SET ROLE regress_judge;
CREATE TABLE judgements (a int, b int, verdict text);
RESET ROLE;
SET ROLE regress_view_owner;
SELECT create_dedup_view('owned', 'SELECT id, tokens FROM items', 0.5, verdicts => 'TABLE judgements');
RESET ROLE;
SET ROLE regress_judge;
GRANT SELECT ON judgements TO regress_view_owner;
INSERT INTO judgements VALUES (2, 3, 'different');
RESET ROLE;
SET ROLE regress_view_owner;
SELECT create_dedup_view('owned', 'SELECT id, tokens FROM items', 0.5, verdicts => 'TABLE judgements');
SELECT count(DISTINCT group_id) FROM owned;
RESET ROLE;
-- The table's owner runs code in no refresh, neither by policies nor by rules, with more than the rights of the view's owner, and cannot keep it from failing.
SET ROLE regress_judge;
CREATE TABLE seen (who text);
GRANT INSERT ON seen TO PUBLIC;
CREATE FUNCTION spy() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (current_user); RETURN true; EXCEPTION WHEN OTHERS THEN RAISE 'spied as %', current_user; END $$;
CREATE POLICY spied ON judgements USING (spy());
ALTER TABLE judgements ENABLE ROW LEVEL SECURITY;
RESET ROLE;
SELECT rows FROM refresh_dedup_view('owned');
TABLE seen;
DELETE FROM seen;
SET ROLE regress_judge;
ALTER TABLE judgements DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON judgements FROM regress_view_owner;
RESET ROLE;
SELECT rows FROM refresh_dedup_view('owned');
SELECT count(DISTINCT group_id) FROM owned;
SET client_min_messages = warning;
DROP OWNED BY regress_view_owner, regress_judge CASCADE;
DROP ROLE regress_view_owner, regress_judge;
RESET client_min_messages;
SELECT drop_dedup_view('tracked'), drop_dedup_view('plain');
SELECT count(*) AS left_over FROM pg_class WHERE relnamespace = 'dedup_verdict_test'::regnamespace AND relname ~ '^(tracked|plain)_';

-- Random changes of rows and verdicts: views of all kinds beside a full rebuild, and an oracle that unites the groups of one pair after the other.
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE docs (id int PRIMARY KEY, name text UNIQUE GENERATED ALWAYS AS (md5(id::text)) STORED, label text COLLATE caseless UNIQUE GENERATED ALWAYS AS ('d' || id) STORED, tokens int[]);
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY(SELECT n / 4 + j FROM generate_series(1, 4 + n % 4) j) $$;
INSERT INTO docs (id, tokens) SELECT i, tokens_of(draw(200, i)) FROM generate_series(1, 40) i;
CREATE TABLE judged (a int, b int, verdict text);
SELECT create_dedup_view('plain', 'SELECT id, tokens FROM docs', 0.5, verdicts => 'TABLE judged');
SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM docs', 0.5, track_changes => true, verdicts => 'TABLE judged');
SELECT create_dedup_view('named', 'SELECT name, tokens FROM docs', 0.5, track_changes => true, verdicts => 'SELECT md5(a::text), md5(b::text), verdict FROM judged');
SELECT create_dedup_view('labelled', 'SELECT label, tokens FROM docs', 0.5, track_changes => true, verdicts => 'SELECT ''D'' || a, ''d'' || b, verdict FROM judged');
SELECT create_dedup_view('first', 'SELECT id, tokens FROM docs ORDER BY name', 0.5, keep => 'first_row', track_changes => true, verdicts => 'TABLE judged');
CREATE FUNCTION expected() RETURNS TABLE (id int, group_id int) LANGUAGE plpgsql AS $$
DECLARE p record;
BEGIN
  CREATE TEMP TABLE IF NOT EXISTS labels (id int, label int);
  TRUNCATE labels;
  INSERT INTO labels SELECT d.id, d.id FROM docs d;
  FOR p IN SELECT x.label AS one, y.label AS other, q.* FROM (
      SELECT DISTINCT least(v.a, v.b) AS a, greatest(v.a, v.b) AS b, 9::float8 AS similarity FROM judged v WHERE verdict = 'same'
      UNION ALL SELECT * FROM similarity_self_join('SELECT id, tokens FROM docs', 0.5)) q, labels x, labels y WHERE x.id = q.a AND y.id = q.b
    ORDER BY q.similarity DESC, q.a, q.b LOOP
    IF NOT EXISTS (SELECT FROM judged v, labels x, labels y, labels one, labels other WHERE verdict = 'different' AND x.id = v.a AND y.id = v.b
      AND one.id = p.a AND other.id = p.b AND one.label <> other.label AND (x.label, y.label) IN ((one.label, other.label), (other.label, one.label))) THEN
      UPDATE labels SET label = (SELECT label FROM labels l WHERE l.id = p.a) WHERE label = (SELECT label FROM labels l WHERE l.id = p.b);
    END IF;
  END LOOP;
  RETURN QUERY SELECT l.id, (SELECT min(o.id) FROM labels o WHERE o.label = l.label) FROM labels l;
END $$;
-- The rows that a view has otherwise than a full rebuild.
CREATE FUNCTION differences(view text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE query text; verdicts text; key text; keep text := 'smallest_id'; result bigint;
BEGIN
  SELECT c.query, c.verdicts, c.key INTO query, verdicts, key FROM (VALUES ('named', 'SELECT name, tokens FROM docs', 'SELECT md5(a::text), md5(b::text), verdict FROM judged', 'text'),
    ('labelled', 'SELECT label, tokens FROM docs', 'SELECT ''D'' || a, ''d'' || b, verdict FROM judged', 'text')) c (name, query, verdicts, key) WHERE name = view;
  IF query IS NULL THEN query := 'SELECT id, tokens FROM docs ORDER BY name'; verdicts := 'TABLE judged'; key := 'bigint'; END IF;
  IF view = 'first' THEN keep := 'first_row'; END IF;
  EXECUTE format('SELECT count(*) FROM %I v FULL JOIN duplicate_groups(%L, 0.5, key => NULL::%s, keep => %L, max_group_share => 1, verdicts => %L) d ON v.id = d.id
    WHERE (v.group_id, v.is_representative, v.similarity) IS DISTINCT FROM (d.group_id, d.is_representative, d.similarity)', view, query, key, keep, verdicts) INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (step int, view text, differences bigint, oracle bigint, some_read bool, events text[]);
CREATE FUNCTION random_verdicts(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v text; some_read bool; events text[]; others bigint;
BEGIN
  SET LOCAL client_min_messages = error;
  FOR step IN first .. last LOOP
    IF step % 3 > 0 THEN
      DELETE FROM docs WHERE draw(20, id, step, 1) = 0;
      UPDATE docs SET tokens = tokens_of(draw(200, id, step, 3)) WHERE draw(15, id, step, 2) = 0;
      INSERT INTO docs (id, tokens) SELECT i, tokens_of(draw(200, i, step, 4)) FROM generate_series(1, 45) i WHERE draw(8, i, step, 5) = 0 ON CONFLICT DO NOTHING;
    END IF;
    IF step % 4 > 0 THEN
      DELETE FROM judged WHERE draw(4, coalesce(a, 0), coalesce(b, 0), step, 6) = 0;
      UPDATE judged SET verdict = CASE draw(3, a, b, step, 7) WHEN 0 THEN 'same' WHEN 1 THEN 'different' END WHERE draw(6, a, b, step, 8) = 0;
      INSERT INTO judged SELECT 1 + draw(46, i, step, 9), 1 + draw(46, i, step, 10), CASE WHEN draw(9, i, step, 11) < 3 THEN 'same' ELSE 'different' END FROM generate_series(1, draw(8, step)) i;
    END IF;
    FOREACH v IN ARRAY '{plain,tracked,named,labelled,first}'::text[] LOOP
      some_read := NULL;
      IF step % 7 = 0 THEN
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', v);
      ELSE
        SELECT read_rows < rows INTO some_read FROM refresh_dedup_view(v::regclass, step % 2 > 0);
      END IF;
      others := 0;
      IF v IN ('plain', 'tracked') THEN
        EXECUTE format('SELECT count(*) FROM %I v FULL JOIN expected() e ON v.id = e.id WHERE v.group_id IS DISTINCT FROM e.group_id', v) INTO others;
      END IF;
      EXECUTE format('SELECT array_agg(event) FROM %I', v || '_history') INTO events;
      INSERT INTO refreshes VALUES (step, v, differences(v), others, some_read, events);
    END LOOP;
    -- Entities and their history are those of full refreshes.
    SELECT count(*) FROM plain p FULL JOIN tracked t USING (id) WHERE p.entity_id IS DISTINCT FROM t.entity_id INTO others;
    INSERT INTO refreshes SELECT step, 'entities', others, count(*) FROM ((TABLE plain_history EXCEPT ALL TABLE tracked_history) UNION ALL (TABLE tracked_history EXCEPT ALL TABLE plain_history)) d;
    DELETE FROM plain_history;
    DELETE FROM tracked_history;
  END LOOP;
END $$;
SELECT random_verdicts(1, 9);
SELECT view, count(*), sum(differences) AS differences, sum(oracle) AS oracle, bool_or(some_read) AS some_read FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
SELECT bool_or('merge' = ANY (events)) AS merges, bool_or('split' = ANY (events)) AS splits FROM refreshes WHERE view = 'tracked' AND step % 3 = 0;
SELECT count(*) > 0 AS verdicts_bind FROM tracked t JOIN duplicate_groups('SELECT id, tokens FROM docs', 0.5) d USING (id) WHERE t.group_id <> d.group_id;
SET client_min_messages = warning;
DROP SCHEMA dedup_verdict_test CASCADE;
