-- Entities of dedup views: ids that stay, new ones, and the history, against an oracle.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA entity_test;
SET search_path = entity_test, public;

-- Groups are made by hand: rows with a common token are similar.
CREATE TABLE items (id int PRIMARY KEY, tokens int[]);
INSERT INTO items VALUES (1, '{1,2}'), (2, '{1,2}'), (3, '{7,8}'), (4, '{7,8}'), (5, '{7,8}'), (6, '{9}');
SELECT create_dedup_view('item_groups', 'SELECT id, tokens FROM items', 0.3, track_changes => true);
SELECT id, group_id, entity_id FROM item_groups ORDER BY id;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'entity_test'::regnamespace AND relkind IN ('r', 'S') AND relname LIKE 'item\_%' ORDER BY relname COLLATE "C";
-- A row that connects two groups: the larger one's id stays, although its group has another representative.
INSERT INTO items VALUES (7, '{1,2,7,8}');
SELECT new_rows, read_rows FROM refresh_dedup_view('item_groups');
SELECT id, group_id, entity_id FROM item_groups ORDER BY id;
-- It goes: the larger part keeps the id.
DELETE FROM items WHERE id = 7;
SELECT removed_rows, read_rows FROM refresh_dedup_view('item_groups');
SELECT id, group_id, entity_id FROM item_groups ORDER BY id;
-- Of equal ones the older id stays, and the part with the smallest id keeps it.
UPDATE items SET tokens = '{1,2,9}' WHERE id IN (1, 6);
DELETE FROM items WHERE id = 2;
SELECT changed_rows, removed_rows FROM refresh_dedup_view('item_groups');
UPDATE items SET tokens = ARRAY[1000 + id] WHERE id IN (1, 6);
SELECT changed_rows FROM refresh_dedup_view('item_groups');
SELECT id, group_id, entity_id FROM item_groups ORDER BY id;
-- A row is another entity's, and all rows of one are gone. A row that comes again is a new entity.
UPDATE items SET tokens = '{1006}' WHERE id = 3;
DELETE FROM items WHERE id = 1;
REFRESH MATERIALIZED VIEW item_groups;
INSERT INTO items VALUES (1, '{5}');
SELECT new_rows FROM refresh_dedup_view('item_groups', concurrently => false);
SELECT id, group_id, entity_id FROM item_groups ORDER BY id;
SELECT event, entity_id, to_entity_id, rows, at <= now() AS at FROM item_groups_history;
-- A refresh that is rolled back leaves all as it was.
BEGIN;
DELETE FROM items WHERE id > 1;
SELECT removed_rows FROM refresh_dedup_view('item_groups');
ROLLBACK;
SELECT count(*) FROM item_groups_history;
SELECT bool_and(v.entity_id = e.entity_id) AS same, count(*) FROM item_groups v FULL JOIN item_groups_entities e USING (id);

-- What an owner may do to the parts ends in an error, or in other ids, and not in a crash.
CREATE TABLE damage (statement text);
INSERT INTO damage VALUES ('UPDATE item_groups_entities SET entity_id = -1'), ('UPDATE item_groups_entities SET entity_id = 9223372036854775807'),
  ('ALTER SEQUENCE item_groups_entity_ids RESTART'), ('ALTER SEQUENCE item_groups_entity_ids OWNED BY NONE'),
  ('ALTER TABLE item_groups_entities DROP CONSTRAINT item_groups_entities_pkey; INSERT INTO item_groups_entities TABLE item_groups_entities'),
  ('ALTER TABLE item_groups_history RENAME rows TO others'), ('ALTER TABLE item_groups_entities ADD CHECK (entity_id = 1) NOT VALID'),
  ('DELETE FROM item_groups_entities'), ('INSERT INTO item_groups_entities VALUES (77, 77)'), ('DELETE FROM item_groups_history');
CREATE FUNCTION try(statement text, full_refresh bool) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  INSERT INTO items VALUES (50, '{50}');
  IF full_refresh THEN REFRESH MATERIALIZED VIEW item_groups; ELSE PERFORM refresh_dedup_view('item_groups'); END IF;
  RAISE EXCEPTION 'refreshed';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;
SELECT statement, try(statement, false) AS tracked, try(statement, true) AS "full" FROM damage;
SELECT drop_dedup_view('item_groups');
SELECT count(*) AS left_over FROM pg_class WHERE relnamespace = 'entity_test'::regnamespace AND relname LIKE 'item\_%';

-- Random changes and refreshes. Pairs of a former entity and a group go on in the order of the rows that they share.
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE TABLE docs (id int PRIMARY KEY, name text UNIQUE GENERATED ALWAYS AS (md5(id::text)) STORED, tokens int[]);
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY[n, n + 1, n + 2] $$;
INSERT INTO docs (id, tokens) SELECT i, tokens_of(draw(90, i)) FROM generate_series(1, 60) i;
SELECT create_dedup_view('plain', 'SELECT id, tokens FROM docs', 0.5);
SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM docs', 0.5, track_changes => true);
SELECT create_dedup_view('named', 'SELECT name, tokens FROM docs', 0.2, method => 'star', track_changes => true);
CREATE TABLE former (view text, id text COLLATE "C", entity_id bigint);
CREATE TABLE highest (view text PRIMARY KEY, entity_id bigint);
CREATE FUNCTION remember(v text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM former WHERE view = v;
  EXECUTE format('INSERT INTO former SELECT %L, id::text, entity_id FROM %I', v, v);
  INSERT INTO highest SELECT v, max(f.entity_id) FROM former f WHERE view = v
    ON CONFLICT (view) DO UPDATE SET entity_id = greatest(excluded.entity_id, highest.entity_id);
END $$;
SELECT count(remember(v)) FROM unnest('{plain,tracked,named}'::text[]) v;
-- Returns how much is wrong: groups without an entity of their own, entities that others should have, and the history.
CREATE FUNCTION faults(v text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE p record; entities bigint[] := '{}'; groups text[] := '{}'; last bigint := (SELECT entity_id FROM highest WHERE view = v); result bigint;
BEGIN
  CREATE TEMP TABLE IF NOT EXISTS present (id text COLLATE "C", group_id text, entity_id bigint);
  TRUNCATE present;
  EXECUTE format('INSERT INTO present SELECT id::text, group_id::text, entity_id FROM %I', v);
  FOR p IN SELECT f.entity_id, group_id FROM former f JOIN present n USING (id) WHERE view = v GROUP BY 1, 2
    ORDER BY count(*) DESC, f.entity_id, CASE v WHEN 'named' THEN min(id) ELSE to_char(min(id::numeric) FILTER (WHERE v <> 'named'), '000000') END LOOP
    CONTINUE WHEN p.entity_id = ANY (entities) OR p.group_id = ANY (groups);
    entities := entities || p.entity_id;
    groups := groups || p.group_id;
  END LOOP;
  SELECT count(*) FROM present n LEFT JOIN unnest(groups, entities) e (group_id, entity_id) USING (group_id)
    WHERE n.entity_id IS DISTINCT FROM e.entity_id AND (e.entity_id IS NOT NULL OR n.entity_id <= last) INTO result;
  SELECT result + abs(count(DISTINCT group_id) - count(DISTINCT entity_id)) + abs(count(DISTINCT group_id) - count(DISTINCT (group_id, entity_id))) FROM present INTO result;
  EXECUTE format($query$ WITH expected AS (
    SELECT CASE WHEN n.entity_id > $2 THEN 'split' WHEN f.entity_id IN (SELECT entity_id FROM present) THEN 'move' ELSE 'merge' END AS event,
      f.entity_id, n.entity_id AS to_entity_id, count(*) AS rows
    FROM former f JOIN present n USING (id) WHERE view = $1 AND f.entity_id <> n.entity_id GROUP BY 1, 2, 3
    UNION ALL SELECT 'removal', entity_id, NULL, count(*) FROM former f WHERE view = $1
      AND NOT EXISTS (SELECT FROM former o JOIN present p USING (id) WHERE view = $1 AND o.entity_id = f.entity_id) GROUP BY f.entity_id),
    noted AS (SELECT event, entity_id, to_entity_id, rows FROM %I)
    SELECT $3 + (SELECT count(*) FROM ((TABLE expected EXCEPT ALL TABLE noted) UNION ALL (TABLE noted EXCEPT ALL TABLE expected)) d) $query$,
    v || '_history') INTO result USING v, last, result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, step int, faults bigint, events text[], some_read bool);
CREATE FUNCTION random_refreshes(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v text; f record; events text[];
BEGIN
  FOR step IN first .. last LOOP
    DELETE FROM docs WHERE draw(30, id, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(draw(90, id, step, 3)) WHERE draw(15, id, step, 2) = 0;
    INSERT INTO docs (id, tokens) SELECT 100 * step + i, tokens_of(draw(90, i, step, 4)) FROM generate_series(1, draw(5, step)) i;
    FOREACH v IN ARRAY '{plain,tracked,named}'::text[] LOOP
      IF step % 10 = 0 THEN
        EXECUTE format('REFRESH MATERIALIZED VIEW %I', v);
      ELSE
        SELECT * INTO f FROM refresh_dedup_view(v::regclass, step % 3 > 0);
      END IF;
      EXECUTE format('SELECT array_agg(event) FROM %I', v || '_history') INTO events;
      INSERT INTO refreshes VALUES (v, step, faults(v), events, f.read_rows < f.rows AND step % 10 > 0);
      EXECUTE format('DELETE FROM %I', v || '_history');
      PERFORM remember(v);
    END LOOP;
  END LOOP;
END $$;
SELECT random_refreshes(1, 20);
SELECT view, count(*), sum(faults) AS faults, bool_or(some_read) AS some_read, bool_or('merge' = ANY (events)) AS merges, bool_or('split' = ANY (events)) AS splits,
  bool_or('move' = ANY (events)) AS moves, bool_or('removal' = ANY (events)) AS removals
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
SELECT count(*) AS differences FROM plain p FULL JOIN tracked t USING (id, group_id, entity_id) WHERE p.similarity IS DISTINCT FROM t.similarity;
DROP SCHEMA entity_test CASCADE;
