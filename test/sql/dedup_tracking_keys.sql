-- Dedup views that track changes of rows whose ids are no integers, against duplicate_groups.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA tracked_keys;
SET search_path = tracked_keys, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 <> 0 THEN ARRAY(SELECT n / 3 + j FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;
CREATE DOMAIN code AS text CHECK (VALUE ~ '^k');
CREATE TYPE place AS (shelf int, label text);
CREATE TYPE "Odd ""type" AS ENUM ('red', 'green', 'blue');
CREATE COLLATION "Odd ""order" FROM "C";
-- Keys of many types, whose orders are all different. Each column has an index.
CREATE TABLE docs (n int PRIMARY KEY, priority int, tokens int[], uuid uuid UNIQUE, txt text UNIQUE, c text COLLATE "C" UNIQUE, vc varchar(40) UNIQUE, ch char(40) UNIQUE,
  num numeric UNIQUE, "real" float8 UNIQUE, place place UNIQUE, code code UNIQUE, odd text COLLATE "Odd ""order" UNIQUE, bytes bytea UNIQUE, span int4range UNIQUE,
  "Nam""e" name UNIQUE);
CREATE FUNCTION add_docs(first int, count int, seed int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO docs SELECT n, draw(100, n, seed), tokens_of(draw(1200, n, seed, 1)), md5('u' || n)::uuid, md5('t' || n), md5('c' || n), md5('v' || n), md5('h' || n),
    CASE n WHEN 3 THEN 'NaN' ELSE draw(1000, n, 1) + n / 100000.0 END,
    CASE n WHEN 3 THEN 'NaN' WHEN 6 THEN 'Infinity' WHEN 9 THEN '-Infinity' ELSE draw(1000, n, 2) + n / 131072.0 END,
    CASE WHEN n % 7 > 0 THEN ROW(draw(5, n, 3), md5('p' || n))::place ELSE ROW(n, NULL)::place END, 'k' || md5('d' || n), md5('o' || n),
    decode(repeat(md5('b' || n), 20), 'hex'), int4range(draw(1000, n, 4), 1000 + n), 'N"' || md5('n' || n)
  FROM generate_series(first + 1, first + count) n $$;
SELECT add_docs(0, 400, 1);
CREATE TABLE views (view text, type text, query text, method text, keep text);
INSERT INTO views SELECT 'of_' || replace(key, '"', ''), type, format('SELECT %I, tokens FROM docs WHERE priority < 95%s', key, CASE keep WHEN 'first_row' THEN ' ORDER BY priority, n' END), method, keep FROM (VALUES
  ('uuid', 'uuid', 'components', 'smallest_id'), ('txt', 'text', 'star', 'smallest_id'), ('c', 'text', 'best_link', 'smallest_id'),
  ('vc', 'varchar', 'components', 'first_row'), ('ch', 'char', 'star', 'first_row'), ('num', 'numeric', 'best_link', 'first_row'),
  ('real', 'float8', 'components', 'smallest_id'), ('place', 'place', 'star', 'smallest_id'), ('code', 'code', 'components', 'first_row'),
  ('odd', 'text', 'star', 'smallest_id'), ('bytes', 'bytea', 'best_link', 'smallest_id'), ('span', 'int4range', 'components', 'smallest_id'),
  ('Nam"e', 'name', 'star', 'first_row')) v (key, type, method, keep);
SELECT count(create_dedup_view(format('%I', view), query, 0.7, method => method, keep => keep, max_group_share => 1, track_changes => true)) FROM views;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), collname FROM pg_attribute LEFT JOIN pg_collation c ON c.oid = attcollation
WHERE attrelid IN ('of_vc_rows'::regclass, 'of_vc_changes'::regclass, 'of_odd_rows'::regclass, 'of_odd_changes'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text COLLATE "C", attnum;
-- The rows that only one of a view and a new one has, looking at ids as they are shown, and the same for the pairs.
CREATE FUNCTION differences(v views) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH full_rebuild AS (SELECT d::text FROM duplicate_groups(%1$L, 0.7, key => NULL::%2$s, method => %3$L, keep => %4$L, max_group_share => 1) d),
    kept AS (SELECT ROW(id, group_id, is_representative, similarity)::text FROM %5$I), pairs AS (SELECT p::text FROM similarity_self_join(%1$L, 0.7, key => NULL::%2$s) p),
    kept_pairs AS (SELECT ROW(least(x.key, y.key), greatest(x.key, y.key), similarity)::text
      FROM %6$I p JOIN %7$I x ON x.id = p.a JOIN %7$I y ON y.id = p.b)
    SELECT (SELECT count(*) FROM ((TABLE kept EXCEPT ALL TABLE full_rebuild) UNION ALL (TABLE full_rebuild EXCEPT ALL TABLE kept)) d)
         + (SELECT abs((SELECT count(*) FROM pairs) - (SELECT count(*) FROM kept_pairs)))
         + (SELECT count(*) FROM (TABLE kept_pairs EXCEPT ALL TABLE pairs) d WHERE %2$L NOT IN (''numeric'', ''char''))',
    v.query, v.type, v.method, v.keep, v.view, v.view || '_pairs', v.view || '_rows') INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, step int, joined bigint, rows bigint, read_rows bigint, removed bigint, new_pairs bigint, differences bigint);
INSERT INTO refreshes SELECT view, 0, 0, 0, 0, 0, 0, differences(v) FROM views v;
DO $$
DECLARE v views; f record;
BEGIN
  FOR step IN 1 .. 7 LOOP
    DELETE FROM docs WHERE draw(100, n, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(draw(1200, n, step, 3)) WHERE draw(100, n, step, 2) = 0;
    UPDATE docs SET priority = draw(100, n, step, 5) WHERE draw(60, n, step, 4) = 0;
    UPDATE docs SET uuid = md5(step || 'u' || n)::uuid, txt = md5(step || 't' || n), c = md5(step || 'c' || n), vc = md5(step || 'v' || n), ch = md5(step || 'h' || n),
      num = num + step * 1000, "real" = -"real" - step, place = ROW(-step, n)::place, code = 'k' || step || n, odd = md5(step || 'o' || n), bytes = bytes || '\x00',
      span = int4range(-step, n), "Nam""e" = md5(step || 'n' || n) WHERE draw(100, n, step, 6) = 0;
    -- Equal keys that look different.
    UPDATE docs SET num = round(num, 6 + step), ch = trim(ch), vc = vc, "real" = CASE WHEN "real" = 0 THEN -"real" ELSE "real" END WHERE draw(60, n, step, 7) = 0;
    PERFORM add_docs(1000 * step, draw(12, step), step);
    IF step = 4 THEN TRUNCATE docs; END IF;
    IF step = 5 THEN PERFORM add_docs(0, 400, 2); END IF;
    FOR v IN SELECT * FROM views LOOP
      SELECT * INTO f FROM refresh_dedup_view(quote_ident(v.view)::regclass, step % 3 > 0);
      INSERT INTO refreshes VALUES (v.view, step, f.new_rows + f.changed_rows, f.rows, f.read_rows, f.removed_rows, f.new_pairs, differences(v));
    END LOOP;
  END LOOP;
END $$;
-- Full refreshes are those after TRUNCATE and after the many new rows.
SELECT view, count(*) AS refreshes, sum(differences) AS differences, array_agg(step ORDER BY step) FILTER (WHERE read_rows >= rows AND step > 0) AS full_ones,
       sum(removed) > 10 AS removed, sum(new_pairs) > 20 AS new_pairs
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
SELECT count(drop_dedup_view(quote_ident(view)::regclass)) FROM views WHERE view <> 'of_uuid';

-- What is noted, and which rows are read.
TABLE of_uuid_changes;
INSERT INTO docs (n, priority, tokens, uuid) VALUES (-1, 0, '{1000,1001}', '00000000-0000-0000-0000-000000000001'), (-2, 0, '{1001,1000}', '00000000-0000-0000-0000-000000000002');
UPDATE docs SET priority = 1 WHERE n = -1;
UPDATE docs SET uuid = '00000000-0000-0000-0000-000000000003' WHERE n = -2;
TABLE of_uuid_changes;
SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('of_uuid');
TABLE of_uuid_changes;
SELECT * FROM of_uuid WHERE id < '00000000-0000-0000-0000-000000000009' ORDER BY id;
-- A row that changes often is one changed row.
DO $$ BEGIN FOR i IN 1 .. 150 LOOP UPDATE docs SET tokens = ARRAY[i] WHERE n = -1; END LOOP; END $$;
SELECT count(*) FROM of_uuid_changes;
SELECT changed_rows, read_rows < 5 AS few_read FROM refresh_dedup_view('of_uuid');
-- Replicated changes, and rows that come and go. A row without an id is an error of the refresh.
SET session_replication_role = replica;
DELETE FROM docs WHERE n = -1;
UPDATE docs SET uuid = '00000000-0000-0000-0000-000000000004' WHERE n = -2;
RESET session_replication_role;
SELECT new_rows, removed_rows, read_rows FROM refresh_dedup_view('of_uuid');
UPDATE docs SET uuid = NULL WHERE n = -2;
SELECT refresh_dedup_view('of_uuid');
DELETE FROM docs WHERE n = -2;
SELECT removed_rows, read_rows = rows AS all_read FROM refresh_dedup_view('of_uuid');
SELECT differences(v) FROM views v WHERE view = 'of_uuid';
-- Two rows with the same new key, and with a stored one.
ALTER TABLE docs DROP CONSTRAINT docs_uuid_key;
CREATE INDEX docs_uuid ON docs (uuid);
INSERT INTO docs (n, priority, tokens, uuid) VALUES (-1, 0, '{1}', '00000000-0000-0000-0000-000000000005'), (-2, 0, '{2}', '00000000-0000-0000-0000-000000000005');
SELECT refresh_dedup_view('of_uuid');
DELETE FROM docs WHERE n = -2;
SELECT new_rows, read_rows < 5 AS few_read FROM refresh_dedup_view('of_uuid');
INSERT INTO docs (n, priority, tokens, uuid) VALUES (-2, 0, '{2}', '00000000-0000-0000-0000-000000000005');
SELECT refresh_dedup_view('of_uuid');
DELETE FROM docs WHERE n = -2;
-- Without an index on the ids, all rows are read.
DROP INDEX docs_uuid;
SELECT read_rows = rows AS all_read FROM refresh_dedup_view('of_uuid');
CREATE UNIQUE INDEX docs_uuid ON docs (uuid);
INSERT INTO docs (n, priority, tokens, uuid) VALUES (-2, 0, '{1}', '00000000-0000-0000-0000-000000000006');
-- Renamed and moved parts and an empty search path do no harm.
CREATE SCHEMA elsewhere;
ALTER TABLE of_uuid_rows SET SCHEMA elsewhere;
ALTER TABLE of_uuid_changes RENAME TO "Some changes";
ALTER VIEW of_uuid_source RENAME COLUMN uuid TO "The key";
ALTER MATERIALIZED VIEW of_uuid RENAME COLUMN id TO "Key";
SET search_path = pg_catalog;
SELECT new_rows, new_pairs, read_rows < 9 AS few_read FROM public.refresh_dedup_view('tracked_keys.of_uuid');
SET search_path = tracked_keys, public;
DROP MATERIALIZED VIEW of_uuid;
SELECT relname FROM pg_class WHERE relname ~ 'of_uuid' AND relnamespace IN ('tracked_keys'::regnamespace, 'elsewhere'::regnamespace) ORDER BY 1;

-- An operator = of the owner's is not taken for that of a type.
CREATE FUNCTION never(uuid, uuid) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT false';
CREATE OPERATOR = (leftarg = uuid, rightarg = uuid, procedure = never);
SELECT create_dedup_view('of_uuid', 'SELECT uuid, tokens FROM docs WHERE uuid IS NOT NULL', 0.7, max_group_share => 1, track_changes => true);
UPDATE docs SET tokens = '{1,2}' WHERE n = -1;
SELECT changed_rows, read_rows < 5 AS few_read FROM refresh_dedup_view('of_uuid');

-- Short queries are not compiled.
CREATE FUNCTION told_jit(int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'jit is %', current_setting('jit'); RETURN $1; END $$;
CREATE TABLE plain (id text PRIMARY KEY, tokens int[]);
SELECT create_dedup_view('of_plain', 'SELECT id, told_jit(tokens) FROM plain', 0.7, track_changes => true);
INSERT INTO plain VALUES ('a', '{1}');
SET jit = on;
SELECT new_rows FROM refresh_dedup_view('of_plain');
SHOW jit;
RESET jit;

-- Keys are fetched into arrays in parts, here of a single group of 2,500 rows.
CREATE TABLE chain (id text PRIMARY KEY, place int, tokens int[]);
INSERT INTO chain SELECT md5(i::text), -i, ARRAY(SELECT generate_series(i, i + 9)) FROM generate_series(1, 2500) i;
SELECT create_dedup_view('of_' || keep, 'SELECT id, tokens FROM chain' || CASE keep WHEN 'first_row' THEN ' ORDER BY place' ELSE '' END, 0.8, keep => keep, max_group_share => 1, track_changes => true)
FROM unnest('{smallest_id,first_row}'::text[]) keep;
DELETE FROM chain WHERE place = -1200;
INSERT INTO chain VALUES ('new', 0, '{1,2,3,4,5,6,7,8,9,11}');
SELECT new_rows, removed_rows, new_pairs FROM refresh_dedup_view('of_smallest_id');
SELECT new_rows, removed_rows, new_pairs FROM refresh_dedup_view('of_first_row');
SELECT keep, (SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM chain ORDER BY place', 0.8, key => NULL::text, keep => keep, max_group_share => 1) d
  WHERE d::text NOT IN (SELECT ROW(id, group_id, is_representative, similarity)::text FROM of_smallest_id UNION ALL SELECT ROW(id, group_id, is_representative, similarity)::text FROM of_first_row)) AS differences FROM unnest('{smallest_id,first_row}'::text[]) keep;
SELECT count(*), count(DISTINCT id), count(DISTINCT group_id) FROM of_first_row;
-- Notes of keys that take too much memory are not fetched.
INSERT INTO chain VALUES (repeat('x', 100000), 1, '{-1}');
DO $$ BEGIN FOR i IN 1 .. 30 LOOP UPDATE chain SET tokens = ARRAY[-i] WHERE place = 1; END LOOP; END $$;
SET simjoin.memory_limit = '16MB';
SELECT new_rows, read_rows = rows AS all_read FROM refresh_dedup_view('of_smallest_id');
RESET simjoin.memory_limit;
SELECT new_rows, read_rows < 10 AS few_read FROM refresh_dedup_view('of_first_row');

-- Ids are compared in their own collation.
ALTER TABLE of_first_row_rows ALTER key TYPE text COLLATE "C";
SELECT refresh_dedup_view('of_first_row');
ALTER TABLE of_first_row_rows ALTER key TYPE text COLLATE "default";
ALTER TABLE of_first_row_changes ALTER key TYPE text COLLATE "C";
SELECT refresh_dedup_view('of_first_row');
ALTER TABLE of_first_row_changes ALTER key TYPE text COLLATE "default";
SELECT new_rows, changed_rows FROM refresh_dedup_view('of_first_row');

-- A collation by which different texts are equal, where the server has such ones.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN RETURN; END IF;
  CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  CREATE TABLE names (name text COLLATE no_case PRIMARY KEY, tokens int[]);
  INSERT INTO names VALUES ('a', '{1}'), ('B', '{1}'), ('c', '{2}');
  PERFORM create_dedup_view('named', 'SELECT name, tokens FROM names', 0.7, track_changes => true);
  UPDATE names SET name = 'A' WHERE name = 'a';
  ASSERT (SELECT (new_rows, changed_rows, removed_rows, read_rows < 5) = (0, 0, 0, true) FROM refresh_dedup_view('named'));
  ASSERT (SELECT string_agg(id || group_id, ' ' ORDER BY id) = 'AA BA cc' FROM named);
  INSERT INTO names VALUES ('D', '{2}');
  PERFORM refresh_dedup_view('named');
  DELETE FROM names WHERE name = 'C';
  PERFORM refresh_dedup_view('named');
  ASSERT (SELECT string_agg(id || group_id, ' ' ORDER BY id) = 'AA BA DD' FROM named);
END $$;

-- What cannot be tracked.
CREATE TABLE arrays (id int[] PRIMARY KEY, tokens int[]);
CREATE DOMAIN steps AS int[];
CREATE TABLE paths (id steps, tokens int[]);
CREATE TABLE coloured (id "Odd ""type" PRIMARY KEY, tokens int[]);
SELECT create_dedup_view('bad', 'SELECT id, tokens FROM arrays', 0.7, track_changes => true);
SELECT create_dedup_view('bad', 'SELECT id, tokens FROM paths', 0.7, track_changes => true);
SELECT create_dedup_view('bad', 'SELECT md5(n::text), tokens FROM docs', 0.7, track_changes => true);
-- A type of the user's, and a table without an index on the ids.
SELECT create_dedup_view('colours', 'SELECT id, tokens FROM coloured', 0.7, track_changes => true);
INSERT INTO coloured VALUES ('green', '{1}'), ('red', '{1}');
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('colours');
TABLE colours ORDER BY id;
CREATE TABLE bare (id text, tokens int[]);
SELECT create_dedup_view('of_bare', 'SELECT id, tokens FROM bare', 0.7, track_changes => true);
INSERT INTO bare VALUES ('a', '{1}'), ('b', '{1}');
SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('of_bare');

-- Altered parts. Each refresh says what was altered.
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION after(alteration text, OUT write text, OUT refresh text, OUT drop text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE alteration;
  write := told('UPDATE docs SET tokens = tokens || 1 WHERE n = -1');
  refresh := told('SELECT refresh_dedup_view(''of_uuid'')');
  drop := told('SELECT drop_dedup_view(''of_uuid'')');
  RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  NULL;
END $$;
SELECT alteration, after.* FROM (VALUES
  ('SELECT 1'),
  ('ALTER TABLE of_uuid_rows ALTER key TYPE text'), ('ALTER TABLE of_uuid_rows RENAME key TO id2'), ('ALTER TABLE of_uuid_rows DROP size'),
  ('ALTER TABLE of_uuid_rows ALTER size TYPE bigint'), ('ALTER TABLE of_uuid_rows ADD more int'),
  ('ALTER TABLE of_uuid_changes ALTER key TYPE text'), ('ALTER TABLE of_uuid_changes ADD last_id uuid'), ('ALTER TABLE of_uuid_changes RENAME key TO first_id'),
  ('DROP INDEX of_uuid_rows_key_idx; ALTER TABLE of_uuid_rows ALTER key DROP NOT NULL; UPDATE of_uuid_rows SET key = NULL'),
  ('DROP INDEX of_uuid_rows_key_idx; UPDATE of_uuid_rows SET key = (SELECT uuid FROM docs WHERE n = -1)'),
  ('UPDATE of_uuid_rows SET key = ''00000000-0000-0000-0000-00000000000a'' WHERE key = (SELECT uuid FROM docs WHERE n = -1)'),
  ('UPDATE of_uuid_rows SET id = 9223372036854775807 WHERE key = (SELECT uuid FROM docs WHERE n = -1)'),
  ('UPDATE of_uuid_rows SET id = 9223372036854775807 WHERE key = (SELECT uuid FROM docs WHERE n = -1); INSERT INTO docs (n, uuid, tokens) VALUES (-9, md5(''9'')::uuid, ''{5}'')'),
  ('DELETE FROM of_uuid_rows'), ('DELETE FROM of_uuid_pairs'), ('INSERT INTO of_uuid_changes VALUES (md5(''none'')::uuid), (NULL)'), ('DROP INDEX of_uuid_rows_key_idx'))
  a (alteration), after(alteration);

DROP SCHEMA elsewhere CASCADE;
DROP SCHEMA tracked_keys CASCADE;
