-- Dedup views of a hostile owner: altered parts, definitions made by hand, and dropped tables.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA parts_test;
CREATE ROLE regress_parts_owner;
GRANT USAGE, CREATE ON SCHEMA parts_test TO regress_parts_owner;
SET search_path = parts_test, public;
SET ROLE regress_parts_owner;

-- Only refreshes can call the function of dedup views. It takes only relations that are made like parts and owned by the owner of the view.
CREATE VIEW query AS SELECT 1 AS id, '{1,2}'::int[] AS tokens;
CREATE TABLE rows_by_number (id bigint, fingerprint bigint);
INSERT INTO rows_by_number VALUES (1, 16);
CREATE TABLE no_prints (id bigint, fingerprint uuid);
INSERT INTO no_prints VALUES (1, NULL);
CREATE TABLE pairs (a bigint, b bigint, similarity float8);
CREATE TABLE pairs_by_name (a text, b text, similarity text);
INSERT INTO pairs_by_name VALUES ('a', 'b', 'c');
CREATE TABLE prints (id bigint, fingerprint uuid);
SELECT * FROM dedup_view_groups('query', 'no_prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'rows_by_number', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'no_prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs_by_name', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('prints', 'prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'query', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', '4294967295', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('4294967295', 'prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', 'NaN', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '7');
CREATE MATERIALIZED VIEW forged AS SELECT g.*, 1 AS more FROM dedup_view_groups('query', 'prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1') g;
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', '0.5', 'jaccard', 'components', 'smallest_id', '0.1')
  UNION ALL SELECT 1, 1, true, 1 FROM generate_series(1, 100000);
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', '-', '-', 'prints', 'pairs', '-', '-', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', '-', '-', '4294967295', 'pairs', '-', '-', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', 'prints', 'pairs', '-', '-', '-', '-', '-', '-', '0.5', 'jaccard', 'components', 'smallest_id', '0.1');
CREATE MATERIALIZED VIEW forged AS SELECT * FROM dedup_view_groups('query', '4294967295', '0', '0.5', 'jaccard', 'components', 'smallest_id', '0.1') WITH NO DATA;
SELECT drop_dedup_view('forged');

-- Changed parts give an error or wrong groups, and do no other harm.
CREATE TABLE docs (id int PRIMARY KEY, tokens int[]);
INSERT INTO docs SELECT i, ARRAY[i / 2, i / 2 + 1, i / 2 + 2] FROM generate_series(1, 12) i;
SELECT create_dedup_view('v', 'SELECT id, tokens FROM docs', 0.5, track_changes => true);
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION after(alteration text, OUT writing text, OUT refresh text, OUT full_refresh text, OUT drop text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE alteration;
  writing := told('INSERT INTO docs VALUES (100, ''{1,2,3}''), (101, ''{7,8}''); DELETE FROM docs WHERE id = 7');
  refresh := told('SELECT refresh_dedup_view(''v'')');
  full_refresh := told('REFRESH MATERIALIZED VIEW v');
  IF refresh = 'done' AND full_refresh = 'done' AND EXISTS (SELECT FROM v FULL JOIN duplicate_groups('SELECT id, tokens FROM docs', 0.5) d USING (id)
    WHERE (v.group_id, v.is_representative, v.similarity) IS DISTINCT FROM (d.group_id, d.is_representative, d.similarity)) THEN
    refresh := 'wrong';
  END IF;
  drop := told('SELECT drop_dedup_view(''v'')');
  RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  NULL;
END $$;
CREATE FUNCTION does_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
-- Is declared immutable, and is not.
CREATE SEQUENCE drawn;
CREATE FUNCTION liar(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT n + nextval(''parts_test.drawn'')::int % 2';
-- Does something while a refresh, which may have a search path of its own, reads the query.
CREATE FUNCTION execute(statement text) RETURNS void LANGUAGE plpgsql SET search_path = parts_test, public AS 'BEGIN EXECUTE statement; END';
CREATE FUNCTION doing(statement text, n int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN IF n = 100 THEN PERFORM parts_test.execute(statement); END IF; RETURN true; END $$;
CREATE FUNCTION read_doing(statement text) RETURNS text LANGUAGE sql AS
$$ SELECT format('CREATE OR REPLACE VIEW v_source AS SELECT id, tokens FROM docs WHERE doing(%L, id)', statement) $$;
\pset format unaligned
\pset fieldsep '\n   '
\pset tuples_only on
SELECT alteration, (a).* FROM (SELECT alteration, after(alteration) AS a FROM unnest(ARRAY[
  'SELECT',
  'ALTER TABLE v_rows ALTER fingerprint DROP NOT NULL; UPDATE v_rows SET fingerprint = NULL',
  'ALTER TABLE v_rows ALTER fingerprint TYPE bigint USING 16',
  'ALTER TABLE v_rows RENAME fingerprint TO print',
  'ALTER TABLE v_rows DROP CONSTRAINT v_rows_pkey; INSERT INTO v_rows TABLE v_rows',
  'UPDATE v_rows SET size = -5',
  'UPDATE v_rows SET prefix = prefix || NULL::int',
  'UPDATE v_rows SET prefix = ARRAY[prefix, prefix]',
  'UPDATE v_rows SET prefix = array_cat(prefix, array_fill(7, ''{100}''))',
  'UPDATE v_rows SET prefix = ''{}'', fingerprint = gen_random_uuid()',
  'UPDATE v_rows SET id = -id',
  'TRUNCATE v_rows',
  'ALTER TABLE v_rows ALTER prefix TYPE bigint[]',
  'ALTER TABLE v_rows SET UNLOGGED',
  'ALTER TABLE v_rows ADD more int',
  'ALTER TABLE v_rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
  'CREATE TRIGGER nothing BEFORE INSERT ON v_rows FOR EACH ROW EXECUTE FUNCTION does_nothing()',
  'CREATE TABLE more_rows (CHECK (id > 0)) INHERITS (v_rows); INSERT INTO more_rows SELECT * FROM v_rows',
  'ALTER TABLE v_pairs ALTER similarity TYPE text',
  'ALTER TABLE v_pairs ALTER similarity DROP NOT NULL; UPDATE v_pairs SET similarity = NULL',
  'UPDATE v_pairs SET similarity = ''NaN''',
  'UPDATE v_pairs SET similarity = ''-Infinity''',
  'UPDATE v_pairs SET a = b, b = a',
  'UPDATE v_pairs SET b = 1000 + b WHERE a = 4',
  'ALTER TABLE v_pairs DROP CONSTRAINT v_pairs_pkey, ALTER a DROP NOT NULL; UPDATE v_pairs SET a = NULL',
  'ALTER TABLE v_pairs DROP CONSTRAINT v_pairs_pkey; INSERT INTO v_pairs TABLE v_pairs',
  'CREATE RULE nothing AS ON INSERT TO v_pairs DO INSTEAD NOTHING',
  'ALTER TABLE v_order ALTER frequent DROP NOT NULL; UPDATE v_order SET frequent = NULL',
  'ALTER TABLE v_order ALTER frequent TYPE bigint[]',
  'ALTER TABLE v_order ALTER frequent TYPE bigint USING 16',
  'UPDATE v_order SET frequent = ''{1,NULL}''',
  'UPDATE v_order SET frequent = array_fill(7, ''{100000}'')',
  'UPDATE v_order SET frequent = array_fill(7, ''{1000}'')',
  'UPDATE v_order SET rows = -1',
  'UPDATE v_order SET rows = 9223372036854775807, ordered_rows = 9223372036854775807',
  'INSERT INTO v_order VALUES (1, 1, ''{}'')',
  'DELETE FROM v_order',
  'INSERT INTO v_changes VALUES (-9223372036854775808, 9223372036854775807)',
  'INSERT INTO v_changes VALUES (5, 1), (NULL, 3)',
  'INSERT INTO v_changes SELECT 1, 12 FROM generate_series(1, 1000)',
  'ALTER TABLE v_changes ALTER first_id TYPE text',
  'ALTER TABLE v_changes DROP last_id, ADD last_id bigint GENERATED ALWAYS AS (1) STORED',
  'ALTER TABLE v_changes ALTER last_id SET NOT NULL, ALTER last_id ADD GENERATED ALWAYS AS IDENTITY',
  'ALTER TABLE v_changes ADD CHECK (first_id > 200)',
  'CREATE OR REPLACE VIEW v_source AS SELECT id, tokens FROM docs UNION ALL SELECT 3, ''{1}''',
  'CREATE OR REPLACE VIEW v_source AS SELECT id, tokens, 1 AS more FROM docs',
  'CREATE OR REPLACE VIEW v_source AS SELECT liar(id) AS id, tokens FROM docs',
  read_doing('SELECT refresh_dedup_view(''v'')'),
  read_doing('REFRESH MATERIALIZED VIEW v'),
  read_doing('SELECT dedup_view_groups(''v_source'', ''v_rows'', ''v_pairs'', ''v_changes'', ''v_order'', ''v_entities'', ''v_history'', ''-'', ''-'', ''0.5'', ''jaccard'', ''components'', ''smallest_id'', ''0.1'')'),
  read_doing('DELETE FROM v_changes'),
  read_doing('DELETE FROM v_rows'),
  read_doing('UPDATE v_pairs SET similarity = ''NaN'''),
  read_doing('UPDATE v_order SET frequent = ''{NULL}'''),
  read_doing('ALTER TABLE v_pairs ALTER a TYPE text'),
  read_doing('ALTER TABLE v_pairs RENAME TO old_pairs; CREATE TABLE v_pairs (a text, b text, similarity text); INSERT INTO v_pairs VALUES (''a'', ''b'', ''c'')'),
  read_doing('TRUNCATE v_order'),
  read_doing('DROP TABLE v_rows CASCADE'),
  read_doing('CREATE OR REPLACE VIEW v_source AS SELECT id, tokens FROM docs'),
  read_doing('DROP TABLE docs CASCADE'),
  read_doing('INSERT INTO docs VALUES (102, ''{7}'')'),
  read_doing('SELECT drop_dedup_view(''v'')')]) WITH ORDINALITY t (alteration, n) ORDER BY n) e;
\pset tuples_only off
\pset format aligned

-- An id that occurs a hundred thousand times, unnoticed by triggers: as an affected row, as a candidate, as a changed row.
SELECT create_dedup_view('ordered', 'SELECT id, tokens FROM docs ORDER BY id', 0.5, keep => 'first_row', track_changes => true);
ALTER TABLE docs DROP CONSTRAINT docs_pkey;
ALTER TABLE docs DISABLE TRIGGER USER;
INSERT INTO docs SELECT 7, '{3,4,5}' FROM generate_series(1, 100000);
ALTER TABLE docs ENABLE TRIGGER USER, ENABLE REPLICA TRIGGER simjoin_replicated_insert, ENABLE REPLICA TRIGGER simjoin_replicated_change,
  ENABLE ALWAYS TRIGGER simjoin_truncate;
INSERT INTO docs VALUES (100, '{3,4,5}');
SELECT refresh_dedup_view('ordered');
SELECT refresh_dedup_view('v');
REFRESH MATERIALIZED VIEW v;
DELETE FROM docs WHERE id IN (7, 100);
INSERT INTO docs VALUES (7, '{3,4,5}');

-- Two views have no part in common, and a view that names a part but does not own it does not get it.
CREATE MATERIALIZED VIEW second AS SELECT * FROM dedup_view_groups('v_source', 'v_rows', 'v_pairs', 'v_changes', 'v_order', '0.5', 'jaccard', 'components',
  'smallest_id', '0.1') WITH NO DATA;
REFRESH MATERIALIZED VIEW second;
SELECT refresh_dedup_view('second');
SET client_min_messages = notice;
SELECT drop_dedup_view('second');
RESET ROLE;
CREATE TABLE precious (id bigint, fingerprint uuid);
CREATE TABLE precious_pairs (a bigint, b bigint, similarity float8);
CREATE VIEW precious_query AS SELECT 1 AS id, '{1}'::int[] AS tokens;
GRANT ALL ON precious, precious_pairs, precious_query TO regress_parts_owner;
SET ROLE regress_parts_owner;
CREATE MATERIALIZED VIEW trap AS SELECT * FROM dedup_view_groups('precious_query', 'precious', 'precious_pairs', '0.5', 'jaccard', 'components',
  'smallest_id', '0.1') WITH NO DATA;
REFRESH MATERIALIZED VIEW trap;
RESET ROLE;
SELECT drop_dedup_view('trap');
SELECT count(*) AS kept FROM pg_class WHERE oid IN ('precious'::regclass, 'precious_pairs'::regclass, 'precious_query'::regclass);
SELECT drop_dedup_view('v');
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'v\_%';
DROP TABLE precious, precious_pairs;
DROP VIEW precious_query;
SET client_min_messages = warning;
SET ROLE regress_parts_owner;

-- Names of parts avoid existing names, and long ones do not collide.
DROP MATERIALIZED VIEW ordered;
CREATE TABLE ordered_rows (id int);
SELECT create_dedup_view('ordered', 'SELECT id, tokens FROM docs', 0.5);
SELECT create_dedup_view(repeat('x', 58) || n, 'SELECT id, tokens FROM docs', 0.5, track_changes => true) FROM generate_series(1, 2) n;
SELECT relname FROM pg_class WHERE relname ~ '^(ordered|xxx)' AND relkind IN ('r', 'v', 'm') ORDER BY relname COLLATE "C";
SELECT rows, new_rows FROM refresh_dedup_view((repeat('x', 58) || 2)::regclass);
SELECT count(drop_dedup_view((repeat('x', 58) || n)::regclass)) FROM generate_series(1, 2) n;
SELECT drop_dedup_view('ordered');
TABLE ordered_rows;

-- The query is one SELECT.
SELECT create_dedup_view('bad', 'SELECT id, tokens FROM docs; CREATE TABLE written (a int)', 0.5);
SELECT create_dedup_view('bad', '', 0.5);
SELECT create_dedup_view('bad', 'DELETE FROM docs RETURNING *', 0.5);
SELECT create_dedup_view('bad', 'WITH gone AS (DELETE FROM docs RETURNING *) SELECT id, tokens FROM gone', 0.5);
SELECT create_dedup_view('bad', 'SELECT id, tokens INTO written FROM docs', 0.5);
SELECT create_dedup_view('bad', 'SELECT id, tokens FROM docs WITH CHECK OPTION', 0.5);
SELECT create_dedup_view('good', 'VALUES (1, ''{1}''::int[]), (2, ''{1}'') -- two rows', 0.5);
SELECT count(*) FROM good;

-- A trigger made by hand does no harm.
CREATE TABLE named (name text, tokens int[]);
CREATE VIEW named_source AS SELECT name, tokens FROM named;
CREATE TABLE named_rows (LIKE no_prints);
CREATE MATERIALIZED VIEW by_name AS SELECT * FROM dedup_view_groups('named_source', 'named_rows', 'pairs', 'pairs', 'pairs', '0.5', 'jaccard', 'components',
  'smallest_id', '0.1') WITH NO DATA;
-- Views whose queries have no columns do no harm either.
CREATE VIEW nothing AS SELECT FROM named;
CREATE MATERIALIZED VIEW of_nothing AS SELECT * FROM dedup_view_groups('nothing', 'named_rows', 'pairs', 'pairs', 'pairs', '0.5', 'jaccard', 'components',
  'smallest_id', '0.1') WITH NO DATA;
CREATE VIEW hidden AS SELECT FROM named ORDER BY cardinality(tokens);
CREATE MATERIALIZED VIEW of_hidden AS SELECT * FROM dedup_view_groups('hidden', 'named_rows', 'pairs', 'pairs', 'pairs', '0.5', 'jaccard', 'components',
  'smallest_id', '0.1') WITH NO DATA;
CREATE TRIGGER by_hand AFTER INSERT ON named FOR EACH ROW EXECUTE FUNCTION dedup_view_changes();
INSERT INTO named VALUES ('a', '{1}');
TABLE pairs;
SELECT refresh_dedup_view('of_nothing');
SELECT create_dedup_view('bad', 'SELECT FROM named', 0.5, track_changes => true);
SELECT create_dedup_view('bad', 'SELECT FROM named ORDER BY name', 0.5, track_changes => true);

-- Changes of a table are also recorded for the views of a new owner, from the change of owner on.
CREATE TABLE common (id int PRIMARY KEY, tokens int[]);
RESET ROLE;
CREATE ROLE regress_parts_member IN ROLE regress_parts_owner;
SET ROLE regress_parts_member;
SELECT create_dedup_view('of_member', 'SELECT id, tokens FROM common', 0.5, track_changes => true);
RESET ROLE;
INSERT INTO common VALUES (1, '{1}');
REVOKE regress_parts_owner FROM regress_parts_member;
INSERT INTO common VALUES (2, '{1}');
GRANT regress_parts_owner TO regress_parts_member;
INSERT INTO common VALUES (3, '{1}');
TABLE of_member_changes;
DROP SCHEMA parts_test CASCADE;
DROP ROLE regress_parts_member, regress_parts_owner;
