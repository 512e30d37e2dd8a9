-- Dedup views whose ids are no integers, against duplicate_groups.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA view_keys;
SET search_path = view_keys, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 <> 0 THEN ARRAY(SELECT n / 3 + j FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;
CREATE DOMAIN code AS text CHECK (VALUE ~ '^k');
CREATE TYPE place AS (shelf int, label text);
CREATE TYPE "Odd ""type" AS ENUM ('red', 'green', 'blue');
CREATE COLLATION "Odd ""order" FROM "C";

CREATE TABLE docs (id int PRIMARY KEY, priority int, tokens int[]);
INSERT INTO docs SELECT i * 3, draw(100, i, 1), tokens_of(draw(200, i, 2)) FROM generate_series(1, 60) i;
-- Keys of many types, whose orders are all different.
CREATE TABLE keys AS
SELECT id, md5('u' || id)::uuid AS uuid, md5('t' || id) AS txt, md5('c' || id) COLLATE "C" AS c, md5('v' || id)::varchar(40) AS vc, md5('h' || id)::char(40) AS ch,
  (draw(1000, id, 1) + id / 100000.0)::numeric AS num,
  CASE id WHEN 3 THEN 'NaN' WHEN 6 THEN 'Infinity' WHEN 9 THEN '-Infinity' ELSE draw(1000, id, 2) + id / 131072.0 END::float8 AS "real",
  CASE WHEN id % 7 > 0 THEN ROW(draw(5, id, 3), md5('p' || id))::place ELSE ROW(id, NULL)::place END AS place, ('k' || md5('d' || id))::code AS code,
  ARRAY(SELECT (ARRAY['red', 'green', 'blue'])[1 + draw(3, id, j)]::"Odd ""type" FROM generate_series(1, 40) j) AS arr,
  md5('o' || id) COLLATE "Odd ""order" AS odd, decode(repeat(md5('b' || id), 20), 'hex') AS bytes
FROM (SELECT * FROM generate_series(1, 180) id UNION ALL SELECT 1000 * step + i FROM generate_series(1, 8) step, generate_series(1, 12) i) ids;
CREATE TABLE views (view text, type text, query text, method text, keep text);
INSERT INTO views SELECT 'of_' || key, type, format('SELECT %I, tokens FROM docs JOIN keys USING (id) ORDER BY priority, id', key), method, keep FROM (VALUES
  ('uuid', 'uuid', 'components', 'smallest_id'), ('txt', 'text', 'star', 'smallest_id'), ('c', 'text', 'best_link', 'smallest_id'),
  ('vc', 'varchar', 'components', 'first_row'), ('ch', 'char', 'star', 'first_row'), ('num', 'numeric', 'best_link', 'first_row'),
  ('real', 'float8', 'components', 'smallest_id'), ('place', 'place', 'star', 'smallest_id'), ('code', 'code', 'components', 'first_row'),
  ('arr', '"Odd ""type"[]', 'components', 'smallest_id'), ('odd', 'text', 'star', 'smallest_id'), ('bytes', 'bytea', 'best_link', 'smallest_id')) v (key, type, method, keep);
SELECT count(create_dedup_view(view, query, 0.7, method => method, keep => keep, max_group_share => 1)) FROM views;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), collname FROM pg_attribute LEFT JOIN pg_collation c ON c.oid = attcollation
WHERE attrelid IN (SELECT oid FROM pg_class WHERE relname = ANY (SELECT unnest(ARRAY[view, view || '_rows']) FROM views) AND relnamespace = 'view_keys'::regnamespace)
  AND attname IN ('id', 'group_id', 'key') AND atttypid <> 'int8'::regtype ORDER BY attrelid::regclass::text COLLATE "C", attnum;
CREATE FUNCTION differences(view text, type text, query text, method text, keep text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH full_rebuild AS (SELECT * FROM duplicate_groups(%L, 0.7, key => NULL::%s, method => %L, keep => %L, max_group_share => 1))
    SELECT count(*) FROM ((SELECT id, group_id, is_representative, similarity FROM %I EXCEPT ALL TABLE full_rebuild) UNION ALL (TABLE full_rebuild EXCEPT ALL SELECT id, group_id, is_representative, similarity FROM %I)) d',
    query, type, method, keep, view, view) INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, joined bigint, kept bigint, removed bigint, new_pairs bigint, differences bigint);
DO $$
DECLARE v record; f record;
BEGIN
  FOR step IN 1 .. 8 LOOP
    DELETE FROM docs WHERE draw(20, id, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(draw(200, id, step, 3)) WHERE draw(20, id, step, 2) = 0;
    UPDATE docs SET priority = draw(100, id, step, 5) WHERE draw(10, id, step, 4) = 0;
    INSERT INTO docs SELECT 1000 * step + i, draw(100, i, step, 6), tokens_of(draw(200, i, step, 7)) FROM generate_series(1, draw(12, step)) i;
    IF step = 4 THEN TRUNCATE docs; END IF;
    IF step = 5 THEN INSERT INTO docs SELECT i, i, tokens_of(draw(200, i, 8)) FROM generate_series(1, 60) i; END IF;
    FOR v IN SELECT * FROM views LOOP
      SELECT * INTO f FROM refresh_dedup_view(v.view::regclass, step % 3 > 0);
      INSERT INTO refreshes VALUES (v.view, f.new_rows + f.changed_rows, f.rows - f.new_rows - f.changed_rows, f.removed_rows, f.new_pairs,
        differences(v.view, v.type, v.query, v.method, v.keep));
    END LOOP;
  END LOOP;
END $$;
SELECT view, count(*) AS refreshes, sum(differences) AS differences, bool_or(joined > 0 AND kept > 3 * joined) AS little_joined,
       sum(removed) > 10 AS removed, sum(new_pairs) > 20 AS new_pairs
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
-- The stored pairs are those of a join, by the keys of the stored rows.
SELECT count(*) AS differences FROM (SELECT least(x.key, y.key) AS a, greatest(x.key, y.key) AS b, similarity
                                     FROM of_uuid_pairs p JOIN of_uuid_rows x ON x.id = p.a JOIN of_uuid_rows y ON y.id = p.b) p
FULL JOIN similarity_self_join('SELECT uuid, tokens FROM docs JOIN keys USING (id)', 0.7, key => NULL::uuid) j USING (a, b, similarity) WHERE p.a IS NULL OR j.a IS NULL;
SELECT count(*) > 10 AS pairs FROM of_uuid_pairs;
-- Keys that do not fit into memory go to files.
SET simjoin.memory_limit = '1MB';
SELECT create_dedup_view('many', 'SELECT repeat(md5(i::text), 30), ARRAY[i / 2, -1 - i / 2] FROM generate_series(1, 2000) i', 0.7);
SELECT rows, new_rows, new_pairs FROM refresh_dedup_view('many');
RESET simjoin.memory_limit;
WITH keys AS (SELECT n / 2 AS half, repeat(md5(n::text), 30) AS key FROM generate_series(1, 2000) n)
SELECT count(*) AS rows, count(*) FILTER (WHERE group_id IS DISTINCT FROM smallest) AS wrong
FROM (SELECT key, min(key) OVER (PARTITION BY half) AS smallest FROM keys) k FULL JOIN many ON id = key;
SELECT drop_dedup_view('many');

-- Keys that are equal are one key. The view has it as the query has it.
CREATE TABLE prices (price numeric PRIMARY KEY, tokens int[]);
INSERT INTO prices VALUES (1.0, '{1,2}'), (2, '{1,2}'), (3, '{4}');
SELECT create_dedup_view('priced', 'SELECT price, tokens FROM prices', 0.7);
UPDATE prices SET price = 1.000 WHERE price = 1;
UPDATE prices SET price = 4 WHERE price = 2;
SELECT * FROM refresh_dedup_view('priced');
SELECT * FROM priced ORDER BY id;
REFRESH MATERIALIZED VIEW priced WITH NO DATA;
DELETE FROM prices WHERE price = 3;
INSERT INTO prices VALUES (-1, '{1,2}');
SELECT * FROM refresh_dedup_view('priced');
SELECT * FROM priced ORDER BY id;
-- Parts may be renamed and moved, a refresh rolled back. Types and functions are found under any search path.
CREATE SCHEMA elsewhere;
ALTER TABLE of_place_rows SET SCHEMA elsewhere;
ALTER MATERIALIZED VIEW of_place RENAME TO places;
ALTER TYPE place SET SCHEMA elsewhere;
ALTER TYPE elsewhere.place RENAME ATTRIBUTE label TO name CASCADE;
BEGIN;
DELETE FROM docs WHERE id % 2 = 0;
SET LOCAL search_path = pg_catalog;
SELECT removed_rows > 10 AS removed FROM public.refresh_dedup_view('view_keys.places');
ROLLBACK;
SELECT new_rows, removed_rows, new_pairs FROM refresh_dedup_view('places');
SELECT differences('places', 'elsewhere.place', query, method, keep) FROM views WHERE view = 'of_place';
SELECT count(drop_dedup_view(CASE view WHEN 'of_place' THEN 'places' ELSE view END::regclass)) FROM views WHERE view <> 'of_uuid';
-- A type that is dropped takes the views of its keys along.
CREATE TYPE colour AS ENUM ('red');
SELECT create_dedup_view('coloured', 'SELECT ''red''::colour, ARRAY[1]', 0.7);
DROP TYPE colour;
DROP TYPE colour CASCADE;
DROP MATERIALIZED VIEW of_uuid;
SELECT relname FROM pg_class WHERE relname ~ '_(source|rows|pairs)$' AND relnamespace IN ('view_keys'::regnamespace, 'elsewhere'::regnamespace) ORDER BY 1;

-- A domain with a collation of its own, which does not take all its values any more.
CREATE DOMAIN checked AS text COLLATE "C" CHECK (VALUE <> 'never');
CREATE TABLE checked_docs (id checked PRIMARY KEY, tokens int[]);
INSERT INTO checked_docs VALUES ('a', '{1}'), ('B', '{1}'), ('c', '{1}');
SELECT create_dedup_view('checks', 'SELECT id, tokens FROM checked_docs', 0.7);
ALTER DOMAIN checked ADD CHECK (VALUE <> 'a') NOT VALID;
DELETE FROM checked_docs WHERE id = 'c';
SELECT rows, removed_rows FROM refresh_dedup_view('checks');
SELECT * FROM checks ORDER BY id;
SELECT drop_dedup_view('checks');

-- A collation by which different texts are equal, where the server has such ones.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN RETURN; END IF;
  CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  CREATE TABLE names (name text COLLATE no_case, tokens int[]);
  INSERT INTO names VALUES ('a', '{1}'), ('B', '{1}'), ('c', '{2}');
  PERFORM create_dedup_view('named', 'SELECT name, tokens FROM names', 0.7);
  UPDATE names SET name = upper(name);
  ASSERT (SELECT (rows, new_rows, removed_rows) = (3, 0, 0) FROM refresh_dedup_view('named'));
  ASSERT (SELECT string_agg(id || group_id, ' ' ORDER BY id) = 'AA BA CC' FROM named);
  INSERT INTO names VALUES ('b', '{3}');
  PERFORM refresh_dedup_view('named');
  RAISE EXCEPTION 'equal keys are no error';
EXCEPTION WHEN cardinality_violation THEN
  ASSERT SQLERRM ~ 'the id [bB] occurs more than once', SQLERRM;
END $$;

-- Errors.
SELECT create_dedup_view('bad', 'SELECT NULLIF(price, 4), tokens FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT trunc(price / 3), tokens FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT ''7''::xid, tokens FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT to_json(price), tokens FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT ROW(price), tokens FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT price::text FROM prices', 0.7);
SELECT create_dedup_view('bad', 'SELECT tokens, price FROM prices', 0.7);
INSERT INTO prices VALUES (5, '{5}');
ALTER TABLE prices DROP CONSTRAINT prices_pkey;
INSERT INTO prices VALUES (5.0, '{5}');
SELECT refresh_dedup_view('priced');
DELETE FROM prices WHERE price = 5;
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'bad%';
SELECT dedup_view_groups_of_keys('priced_source', 'priced_rows', 'priced_pairs', '-', '-', 'priced_entities', 'priced_history', '-', '-', '0.7', 'jaccard', 'components', 'smallest_id', '0.1');
SELECT * FROM dedup_view_groups_of_keys('priced_source', 'priced_rows', 'priced_pairs', '-', '-', 'priced_entities', 'priced_history', '-', '-', '0.7', 'jaccard', 'components', 'smallest_id', '0.1') g (a numeric, b numeric, c bool, d float8);

-- Altered parts, and views made by hand.
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION after(alteration text, OUT refresh text, OUT drop text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE alteration;
  refresh := told('SELECT refresh_dedup_view(''priced'')');
  drop := told('SELECT drop_dedup_view(''priced'')');
  RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  NULL;
END $$;
-- Does something while a refresh, which may have a search path of its own, reads the query.
CREATE FUNCTION execute(statement text) RETURNS boolean LANGUAGE plpgsql SET search_path = view_keys, public AS 'BEGIN EXECUTE statement; RETURN true; END';
CREATE FUNCTION read_doing(statement text) RETURNS text LANGUAGE sql AS
$$ SELECT format('CREATE OR REPLACE VIEW priced_source AS SELECT price, tokens FROM prices WHERE price < 4 OR view_keys.execute(%L)', statement) $$;
SELECT refresh_dedup_view('priced') IS NOT NULL AS refreshed;
\pset format unaligned
\pset fieldsep '\n   '
\pset tuples_only on
SELECT alteration, (a).* FROM (SELECT alteration, after(alteration) AS a FROM unnest(ARRAY[
  'SELECT',
  'ALTER TABLE priced_rows ALTER key DROP NOT NULL; UPDATE priced_rows SET key = NULL',
  'ALTER TABLE priced_rows ALTER key TYPE text',
  'ALTER TABLE priced_rows ALTER key TYPE bigint',
  'ALTER TABLE priced_rows ALTER key TYPE numeric(10,3)',
  'ALTER TABLE priced_rows RENAME key TO price',
  'ALTER TABLE priced_rows DROP key',
  'ALTER TABLE priced_rows DROP key, ADD key numeric',
  'ALTER TABLE priced_rows ADD more int',
  'ALTER TABLE priced_rows ADD UNIQUE (key)',
  'ALTER TABLE priced_rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
  'UPDATE priced_rows SET key = 1',
  'UPDATE priced_rows SET key = key + 100',
  'UPDATE priced_rows SET id = -id',
  'UPDATE priced_rows SET id = 9223372036854775807 WHERE key = 1; INSERT INTO prices VALUES (7, ''{7}'')',
  'ALTER TABLE priced_rows DROP CONSTRAINT priced_rows_pkey; UPDATE priced_rows SET id = 1',
  'ALTER TABLE priced_rows DROP CONSTRAINT priced_rows_pkey; INSERT INTO priced_rows TABLE priced_rows',
  'DELETE FROM priced_rows WHERE key = 1',
  'DELETE FROM priced_pairs',
  'CREATE OR REPLACE VIEW priced_source AS SELECT price, tokens FROM prices UNION ALL SELECT 1, ''{1}''',
  'CREATE OR REPLACE VIEW priced_source AS SELECT price, tokens, 1 AS more FROM prices',
  read_doing('SELECT refresh_dedup_view(''priced'')'),
  read_doing('UPDATE priced_rows SET key = key + 100'),
  read_doing('ALTER TABLE priced_rows ALTER key TYPE text'),
  read_doing('ALTER TABLE priced_rows RENAME TO old_rows; CREATE TABLE priced_rows (id bigint, fingerprint uuid, key text)'),
  read_doing('SELECT dedup_view_groups_of_keys(''priced_source'', ''priced_rows'', ''priced_pairs'', ''-'', ''-'', ''priced_entities'', ''priced_history'', ''-'', ''-'', ''0.7'', ''jaccard'', ''components'', ''smallest_id'', ''0.1'')'),
  read_doing('SELECT * FROM dedup_view_groups(''priced_source'', ''priced_rows'', ''priced_pairs'', ''0.7'', ''jaccard'', ''components'', ''smallest_id'', ''0.1'')'),
  read_doing('SELECT * FROM dedup_view_groups_of_keys(''priced_source'', ''priced_rows'', ''priced_pairs'', ''-'', ''-'', ''priced_entities'', ''priced_history'', ''-'', ''-'', ''0.7'', ''jaccard'', ''components'', ''smallest_id'', ''0.1'')
    g (id bytea, group_id bytea, a text, b text, c text)')]) WITH ORDINALITY t (alteration, n) ORDER BY n) e;
CREATE VIEW query AS SELECT 'a'::text AS id, '{1,2}'::int[] AS tokens;
CREATE TABLE prints (id bigint, fingerprint uuid);
CREATE TABLE key_prints (id bigint, fingerprint uuid, key text);
CREATE TABLE pairs (a bigint, b bigint, similarity float8);
-- A view that wants these columns, with this table of rows.
CREATE FUNCTION forged(rows text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE MATERIALIZED VIEW forged AS SELECT id, group_id, is_representative, similarity FROM dedup_view_groups_of_keys(''query'', %L, ''pairs'', ''-'', ''-'', ''-'', ''-'', ''-'', ''-'',
    ''0.5'', ''jaccard'', ''components'', ''smallest_id'', ''0.1'') g (%s)', rows, columns);
  RAISE 'made';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT rows, columns, forged(rows, columns) FROM (VALUES
  ('key_prints', 'id text, group_id text, is_representative bool, similarity float8'),
  ('prints', 'id text, group_id text, is_representative bool, similarity float8'),
  ('key_prints', 'id bytea, group_id bytea, is_representative bool, similarity float8'),
  ('key_prints', 'id text, group_id bytea, is_representative bool, similarity float8'),
  ('key_prints', 'id text, group_id text, is_representative text, similarity float8'),
  ('key_prints', 'id text, group_id text, is_representative bool, similarity numeric'),
  ('key_prints', 'id text, group_id text, is_representative bool, similarity float8, more text'),
  ('key_prints', 'id bigint, group_id bigint, is_representative bool, similarity float8'),
  ('prints', 'id bigint, group_id bigint, is_representative bool, similarity float8'),
  ('key_prints', 'id varchar, group_id varchar, is_representative bool, similarity float8')) f (rows, columns);
\pset tuples_only off
\pset format aligned
-- A view that numbers the rows is none of ours.
CREATE MATERIALIZED VIEW forged AS SELECT id, group_id, is_representative, similarity FROM ROWS FROM (
  dedup_view_groups_of_keys('query', 'key_prints', 'pairs', '-', '-', '-', '-', '-', '-', '0.5', 'jaccard', 'components', 'smallest_id', '0.1')
  AS (id text, group_id text, is_representative bool, similarity float8)) WITH ORDINALITY AS g (id, group_id, is_representative, similarity, n);
-- The query has other ids than the view.
ALTER TABLE key_prints ALTER key TYPE uuid USING NULL;
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups_of_keys('query', 'key_prints', 'pairs', '-', '-', '-', '-', '-', '-', '0.5', 'jaccard', 'components', 'smallest_id', '0.1')
  g (id uuid, group_id uuid, is_representative bool, similarity float8);

-- Rights: the owner of the view needs the type of the keys for making it, readers need nothing but the view.
CREATE ROLE regress_view_keys;
GRANT USAGE, CREATE ON SCHEMA view_keys TO regress_view_keys;
GRANT SELECT ON prices TO regress_view_keys;
CREATE TYPE mine AS (price numeric);
REVOKE USAGE ON TYPE mine FROM PUBLIC;
SET ROLE regress_view_keys;
SELECT count(*) FROM priced;
SELECT create_dedup_view('owned', 'SELECT ROW(price)::mine, tokens FROM prices', 0.7);
SELECT create_dedup_view('owned', 'SELECT price, tokens FROM prices', 0.7);
SELECT rows, new_rows FROM refresh_dedup_view('owned');
RESET ROLE;
DROP OWNED BY regress_view_keys;
DROP ROLE regress_view_keys;
DROP SCHEMA elsewhere CASCADE;
DROP SCHEMA view_keys CASCADE;
