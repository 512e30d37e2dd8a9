-- Verdicts that bind groups of duplicates, against an oracle.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET client_min_messages = notice;
CREATE SCHEMA verdict_test;
SET search_path = verdict_test, public;

-- A chain 1 2 3 4, whose weakest pair is that of 2 and 3.
CREATE TABLE items (id int PRIMARY KEY, tokens int[]);
INSERT INTO items VALUES (1, '{1,2,3,4}'), (2, '{2,3,4}'), (3, '{3,4,5}'), (4, '{3,4,5,6}'), (9, '{90}');
CREATE TABLE verdicts (a int, b int, verdict text);
CREATE FUNCTION groups() RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8) LANGUAGE sql AS
$$ SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'SELECT a, b, verdict FROM verdicts') $$;
SELECT * FROM groups() ORDER BY id;
INSERT INTO verdicts VALUES (4, 1, 'different');
SELECT * FROM groups() ORDER BY id;
-- Rows that are the same have no similarity. A verdict that is not given yet says nothing, and rows may be missing.
INSERT INTO verdicts VALUES (4, 9, 'same'), (1, 2, NULL), (1, 77, 'same'), (2, 2, 'different');
SELECT * FROM groups() ORDER BY id;
-- The same is not what is different, itself or by a chain.
INSERT INTO verdicts VALUES (1, 4, 'same'), (9, 1, 'same');
SELECT * FROM groups() ORDER BY id;
-- Copies may be different.
TRUNCATE verdicts;
INSERT INTO items SELECT i, '{1,2,3,4}' FROM generate_series(11, 14) i;
INSERT INTO verdicts VALUES (12, 13, 'different'), (1, 12, 'different');
SELECT * FROM groups() ORDER BY id;
-- Other ids, texts, and the first row of a query.
SELECT * FROM duplicate_groups('SELECT ''n'' || id, array_to_string(tokens, '' '') FROM items WHERE id < 12 ORDER BY id DESC', 0.5, key => NULL::text,
  tokens => 'alnum', keep => 'first_row', verdicts => 'VALUES (''n4'', ''n1'', ''different''), (''n9'', ''n1'', ''same''), (''n9'', ''n8'', ''same'')') ORDER BY id;
SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => NULL);
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, method => 'star', verdicts => 'TABLE verdicts');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'SELECT 1, 2, ''perhaps''::text');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'SELECT 1, 2');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'SELECT ''1'', 2, ''same''');
SELECT * FROM duplicate_groups('SELECT id::text, tokens FROM items', 0.5, key => NULL::text, verdicts => 'SELECT 1, 2, ''same''');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'SELECT 1, NULL::int, ''same''');
SELECT * FROM duplicate_groups('SELECT id, tokens FROM items', 0.5, key => NULL::bigint, verdicts => 'DELETE FROM items RETURNING id, id, ''same''::text');

-- The query runs with the rights of the caller.
CREATE ROLE regress_verdicts;
GRANT USAGE ON SCHEMA verdict_test TO regress_verdicts;
GRANT SELECT ON items TO regress_verdicts;
SET ROLE regress_verdicts;
SELECT * FROM groups();
RESET ROLE;

-- Random rows and verdicts: one pair after the other unites groups, if they have no rows that are different.
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE FUNCTION expected() RETURNS TABLE (id int, group_id int) LANGUAGE plpgsql AS $$
DECLARE p record;
BEGIN
  CREATE TEMP TABLE labels ON COMMIT DROP AS SELECT i.id, i.id AS label FROM items i;
  FOR p IN SELECT x.label AS one, y.label AS other, q.* FROM (
      SELECT DISTINCT least(v.a, v.b) AS a, greatest(v.a, v.b) AS b, 9::float8 AS similarity FROM verdicts v WHERE verdict = 'same'
      UNION ALL SELECT * FROM similarity_self_join('SELECT id, tokens FROM items', 0.5)) q, labels x, labels y WHERE x.id = q.a AND y.id = q.b
    ORDER BY q.similarity DESC, q.a, q.b LOOP
    IF NOT EXISTS (SELECT FROM verdicts v, labels x, labels y, labels one, labels other WHERE verdict = 'different' AND x.id = v.a AND y.id = v.b
      AND one.id = p.a AND other.id = p.b AND (x.label, y.label) IN ((one.label, other.label), (other.label, one.label))) THEN
      UPDATE labels SET label = (SELECT label FROM labels l WHERE l.id = p.a) WHERE label = (SELECT label FROM labels l WHERE l.id = p.b);
    END IF;
  END LOOP;
  RETURN QUERY SELECT l.id, (SELECT min(o.id) FROM labels o WHERE o.label = l.label) FROM labels l;
END $$;
SET client_min_messages = error;
CREATE TABLE results (seed int, differences bigint, groups bigint, unbound bigint);
DO $$
BEGIN
  FOR seed IN 1 .. 8 LOOP
    TRUNCATE items, verdicts;
    INSERT INTO items SELECT i, ARRAY(SELECT draw(60, i, seed) + j FROM generate_series(1, 6) j WHERE draw(6, i, j, seed) > 0) FROM generate_series(1, 40) i;
    INSERT INTO verdicts SELECT 1 + draw(40, i, seed, 1), 1 + draw(40, i, seed, 2), CASE draw(3, i, seed, 3) WHEN 0 THEN 'same' ELSE 'different' END
      FROM generate_series(1, 25) i;
    DELETE FROM verdicts WHERE a = b;
    INSERT INTO results SELECT seed, (SELECT count(*) FROM groups() g FULL JOIN expected() e USING (id) WHERE g.group_id IS DISTINCT FROM e.group_id),
      (SELECT count(DISTINCT group_id) FROM groups()), (SELECT count(DISTINCT group_id) FROM duplicate_groups('SELECT id, tokens FROM items', 0.5));
    DROP TABLE labels;
  END LOOP;
END $$;
SELECT count(*), sum(differences) AS differences, count(*) FILTER (WHERE groups <> unbound) AS bound FROM results;
DROP SCHEMA verdict_test CASCADE;
DROP ROLE regress_verdicts;
