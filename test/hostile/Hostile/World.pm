# The objects of the hostile role: tables, views and functions that calls read and write, and that may break them.
package Hostile::World;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(world_sql admin_sql relation_query);

# Objects that a superuser prepares: foreign tables with no server, and with this server if postgres_fdw is installed.
sub admin_sql
{
	my ($role, $database, $host, $port) = @_;
	return <<"SQL";
CREATE FOREIGN DATA WRAPPER regress_no_handler;
CREATE SERVER nowhere FOREIGN DATA WRAPPER regress_no_handler;
GRANT USAGE ON FOREIGN SERVER nowhere TO $role;
CREATE SCHEMA far;
CREATE TABLE far.sets AS SELECT i::bigint AS id, ARRAY[i % 5, i % 7, i % 11] AS s FROM generate_series(1, 50) i;
CREATE TABLE far.changes (first_id bigint, last_id bigint, written_by text GENERATED ALWAYS AS ('far away') STORED);
GRANT USAGE ON SCHEMA far TO $role;
GRANT ALL ON ALL TABLES IN SCHEMA far TO $role;
DO \$\$
BEGIN
  CREATE EXTENSION postgres_fdw SCHEMA far;
  CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '$database',
    options '-c lock_timeout=100ms -c statement_timeout=1s');
  CREATE USER MAPPING FOR $role SERVER loopback OPTIONS (user '$role', password_required 'false');
  GRANT USAGE ON FOREIGN SERVER loopback TO $role;
EXCEPTION WHEN OTHERS THEN
  CREATE SERVER loopback FOREIGN DATA WRAPPER regress_no_handler;
  GRANT USAGE ON FOREIGN SERVER loopback TO $role;
END \$\$;
SQL
}

my $types_and_functions = <<'SQL';
CREATE TYPE pair AS (x int, y int);
CREATE TYPE color AS ENUM ('red', 'blue');
CREATE DOMAIN few_ints AS int[] CHECK (cardinality(VALUE) < 5);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE FUNCTION explode(i int) RETURNS int LANGUAGE plpgsql AS
$$ BEGIN IF i = 17 THEN RAISE 'seventeen' USING ERRCODE = 'P0017'; END IF; RETURN i; END $$;
CREATE FUNCTION meddle(statement text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 1; END $$;
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused' USING ERRCODE = 'P0018'; END $$;
SQL

my $tables = <<'SQL';
CREATE TABLE sets4 AS SELECT i::bigint AS id, array(SELECT (i / 4 + j * (1 + i % 2)) % 40 FROM generate_series(1, i % 9) j) AS s FROM generate_series(1, 60) i;
CREATE TABLE sets8 AS SELECT id, s::bigint[] FROM sets4;
CREATE TEXT SEARCH CONFIGURATION odd_words (PARSER = pg_catalog."default");
CREATE TABLE sets_text AS SELECT id, s::text[] FROM sets4;
CREATE TABLE nasty4 (id bigint, s int[]);
INSERT INTO nasty4 VALUES (1, NULL), (NULL, '{1}'), (2, '{1,NULL}'), (3, '{{1,2},{3,4}}'), (4, '[-3:-1]={1,2,3}'), (5, '{}'),
  (-9223372036854775808, '{2147483647,-2147483648}'), (9223372036854775807, '{1,1,1}');
CREATE TABLE nasty8 AS SELECT id, s::bigint[] || 9223372036854775807 AS s FROM nasty4 WHERE id IS DISTINCT FROM 3;
CREATE TABLE nasty_text AS SELECT id, s::text[] || ARRAY['', repeat('x', 100000)] AS s FROM nasty4 WHERE id IS DISTINCT FROM 3;
CREATE TABLE documents AS SELECT id, s AS terms, array(SELECT 1 / x::float4 FROM generate_series(1, cardinality(s)) x) AS weights FROM sets_text;
CREATE TABLE nasty_documents (id bigint, terms text[], weights float4[]);
INSERT INTO nasty_documents VALUES (1, '{a}', '{1,2}'), (2, '{a,b}', '{NaN,1}'), (3, '{a}', '{Infinity}'), (4, '{a,a}', '{3e38,3e38}'),
  (5, '{a,NULL}', '{1,1}'), (6, '{a}', '{NULL}'), (NULL, '{a}', '{1}'), (7, '{}', '{}'), (8, '{a}', '{-1}'), (9, NULL, NULL), (10, '{a,b}', '{0,1e-45}');
CREATE TABLE vectors AS SELECT i::bigint AS id, array(SELECT sin(i * j)::float4 FROM generate_series(1, 20) j) AS v FROM generate_series(1, 30) i;
CREATE TABLE nasty_vectors (id bigint, v float4[]);
INSERT INTO nasty_vectors VALUES (1, '{NaN}'), (2, '{Infinity,-Infinity}'), (3, '{}'), (4, NULL), (NULL, '{1}'), (5, '{3e38,3e38,3e38}'), (6, '{NULL}'),
  (7, '{{1},{2}}'), (8, '{1,2,3}'), (9, '{1e-45,0,-0}');
CREATE TABLE edges AS SELECT i::bigint AS a, (i * 7 % 40)::bigint AS b, (i % 5 + 1)::float8 AS w FROM generate_series(1, 120) i;
CREATE TABLE nasty_edges (a bigint, b bigint, w float8);
INSERT INTO nasty_edges VALUES (1, 2, 'NaN'), (1, 1, 1), (NULL, 2, 1), (2, NULL, NULL), (3, 4, 'Infinity'), (4, 3, -1), (5, 6, 0), (6, 5, 5e-324),
  (9223372036854775807, -9223372036854775808, 1.7e308), (7, 8, NULL);
CREATE TABLE docs (id int PRIMARY KEY, priority int, tokens int[]);
INSERT INTO docs SELECT i, i % 10, array(SELECT i / 3 + j FROM generate_series(1, 5) j) FROM generate_series(1, 40) i;
CREATE TABLE docs8 AS SELECT id::bigint, priority, tokens::bigint[] FROM docs;
ALTER TABLE docs8 ADD PRIMARY KEY (id);
CREATE TABLE docs_text AS SELECT id::smallint, priority, tokens::text[] FROM docs;
ALTER TABLE docs_text ADD PRIMARY KEY (id);
ALTER TABLE docs ADD key uuid DEFAULT gen_random_uuid();
ALTER TABLE docs8 ADD key uuid DEFAULT gen_random_uuid();
ALTER TABLE docs_text ADD key uuid DEFAULT gen_random_uuid();
CREATE INDEX ON docs (key);
CREATE INDEX ON docs8 (key);
CREATE INDEX ON docs_text (key);
CREATE TABLE domains (id positive, s few_ints);
INSERT INTO domains SELECT i, ARRAY[i, i + 1] FROM generate_series(1, 9) i;
CREATE TABLE partitioned (id bigint, s int[]) PARTITION BY RANGE (id);
CREATE TABLE partition_a PARTITION OF partitioned FOR VALUES FROM (0) TO (30);
CREATE TABLE partition_b PARTITION OF partitioned DEFAULT;
INSERT INTO partitioned SELECT * FROM sets4;
CREATE TABLE nothing (id bigint, s int[]);
CREATE TABLE no_columns ();
CREATE VIEW a_view AS SELECT id, s FROM sets4 WHERE id % 2 = 0;
CREATE MATERIALIZED VIEW a_matview AS SELECT id, s FROM sets4;
CREATE SEQUENCE a_sequence;
CREATE FOREIGN TABLE no_handler (id bigint, s int[]) SERVER nowhere;
CREATE FOREIGN TABLE far_away (id bigint, s int[]) SERVER loopback OPTIONS (schema_name 'far', table_name 'sets');
CREATE FOREIGN TABLE far_changes (first_id bigint, last_id bigint) SERVER loopback OPTIONS (schema_name 'far', table_name 'changes');
CREATE TABLE signatures AS SELECT id, minhash(s) AS signature FROM sets4;
SELECT cluster_stream_create('stream_text');
SELECT cluster_stream_create('stream_int', NULL::int[]);
SQL

# Tables like the parts of a dedup view except for their types, for the functions that take such parts.
my $forgeries = <<'SQL';
CREATE TABLE forged_rows (id bigint, fingerprint bigint);
INSERT INTO forged_rows SELECT i, 16 FROM generate_series(1, 40) i;
CREATE TABLE forged_null_rows (id bigint, fingerprint uuid, size int, prefix int[]);
INSERT INTO forged_null_rows SELECT i, NULL, NULL, '{NULL,1}' FROM generate_series(1, 40) i;
CREATE TABLE forged_text_rows (id text, fingerprint text, size text, prefix text);
INSERT INTO forged_text_rows SELECT i, i, i, i FROM generate_series(1, 40) i;
CREATE TABLE good_rows (id bigint PRIMARY KEY, fingerprint uuid NOT NULL, size int NOT NULL, prefix int[] NOT NULL);
INSERT INTO good_rows SELECT i, md5(i::text)::uuid, 3, ARRAY[i, i + 1] FROM generate_series(1, 40) i;
CREATE TABLE good_pairs (a bigint, b bigint, similarity float8 NOT NULL, PRIMARY KEY (a, b));
INSERT INTO good_pairs SELECT i, i + 1, 0.8 FROM generate_series(1, 60) i;
CREATE TABLE forged_pairs (a float8, b int[], similarity bigint);
INSERT INTO forged_pairs SELECT i, ARRAY[i], i FROM generate_series(1, 60) i;
CREATE TABLE forged_null_pairs (a bigint, b bigint, similarity float8);
INSERT INTO forged_null_pairs SELECT NULL, i, NULL FROM generate_series(1, 60) i;
CREATE TABLE good_changes (first_id bigint, last_id bigint);
INSERT INTO good_changes VALUES (1, 5), (7, 7);
CREATE TABLE forged_changes (first_id text, last_id int[]);
INSERT INTO forged_changes VALUES ('x', '{1}'), (NULL, NULL);
CREATE TABLE far_too_many_changes (first_id bigint, last_id bigint);
INSERT INTO far_too_many_changes VALUES (-9223372036854775808, 9223372036854775807), (NULL, 3), (5, 1);
CREATE TABLE good_order (rows bigint NOT NULL, ordered_rows bigint PRIMARY KEY, frequent int[] NOT NULL);
INSERT INTO good_order VALUES (40, 40, '{1,2}');
CREATE TABLE forged_order (rows bigint, ordered_rows bigint, frequent bigint);
INSERT INTO forged_order VALUES (40, 40, 16), (1, 1, 1);
CREATE TABLE forged_null_order (rows bigint, ordered_rows bigint, frequent int[]);
INSERT INTO forged_null_order VALUES (NULL, NULL, '{NULL,1}');
CREATE VIEW docs_source AS SELECT id, tokens FROM docs;
CREATE VIEW docs_source_8 AS SELECT id, tokens FROM docs8 ORDER BY priority;
CREATE VIEW odd_source AS SELECT id, ARRAY[tokens::text] AS tokens FROM docs;
SQL

# Statements that make a new world.
sub world_sql
{
	return "DROP SCHEMA IF EXISTS hostile CASCADE; CREATE SCHEMA hostile;\n$types_and_functions$tables$forgeries";
}

# A query for the names of all relations that the role has made.
sub relation_query
{
	return q{SELECT c.oid::regclass FROM pg_class c WHERE relnamespace = 'hostile'::regnamespace ORDER BY c.oid};
}

1;
