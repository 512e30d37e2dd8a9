-- FlyHash: golden values, consequences of the definition, neighbours, many at a time, and wrong arguments.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA flyhash_test;
SET search_path = flyhash_test, public;

-- Golden values: stored hashes depend on them, so they must never change.
SELECT flyhash('{1,2,3,4,5,6,7,8,9,10}', 40, 5, 3);
SELECT flyhash('{1.5,-2,0.25}', 10, 3, 2, -9223372036854775808);
SELECT md5(flyhash(ARRAY(SELECT ((i * i % 101 - 50) / 8.0)::real FROM generate_series(1, 784) i), 25088)::text) AS defaults,
       cardinality(flyhash(ARRAY(SELECT ((i * i % 101 - 50) / 8.0)::real FROM generate_series(1, 784) i), 25088));

-- Ties go to the lower position. All positions may win.
SELECT flyhash('{0,0,0}', 100, 4, 2) AS zeros, flyhash('{-7,-7}', 100, 4, 1) AS constant, flyhash('{3}', 5, 5) AS all;
SELECT flyhash('{1,0}', 200, 50, 1) && flyhash('{0,1}', 200, 50, 1) AS shared;

-- Defaults: a twentieth of the hash length wins, and a twentieth of the values is added up.
CREATE TABLE vectors AS
SELECT i AS id, ARRAY(SELECT sin(i * j * j)::real FROM generate_series(1, 60) j) AS vector FROM generate_series(1, 300) i;
SELECT bool_and(flyhash(vector, 500) = flyhash(vector, 500, 25, 3, 1)) AS defaults,
       bool_and(flyhash(vector, 500) = flyhash(vector, 500, NULL, NULL)) AS nulls,
       bool_or(flyhash(vector, 500) = flyhash(vector, 500, seed => 2)) AS another_seed,
       bool_or(flyhash(vector, 500) = flyhash(vector, 500, projection => 4)) AS another_projection,
       bool_and(flyhash(vector, 500) @> flyhash(vector, 500, winners => 10)) AS fewer_winners,
       bool_and(cardinality(flyhash(vector, 500, winners => 33)) = 33) AS winners
FROM vectors;
-- A scale that is a power of two does not matter, however large or small.
SELECT bool_and(flyhash(vector, 300) = flyhash(ARRAY(SELECT v * 2::real ^ e FROM unnest(vector) WITH ORDINALITY u (v, o) ORDER BY o)::real[], 300)) AS scale
FROM vectors, unnest('{-40,-1,7,100}'::int[]) e;
-- Arrays that begin elsewhere than at 1 are the same vectors.
SELECT flyhash('[0:2]={1,2,3}', 10, 2) = flyhash('{1,2,3}', 10, 2) AS same;
SELECT flyhash(NULL, 10) IS NULL AS vector, flyhash('{1}', NULL) IS NULL AS hash_length, flyhash('{1}', 10, seed => NULL) IS NULL AS seed;

-- Hashes of vectors of different lengths in one query do not disturb each other.
SELECT count(DISTINCT h) AS hashes, count(DISTINCT (n, h)) AS with_length
FROM generate_series(1, 20) i, LATERAL (SELECT 1 + i % 4 AS n) l,
     LATERAL (SELECT flyhash(ARRAY(SELECT j::real FROM generate_series(1, n) j), 64, 8, 1) AS h) f;

-- Many at a time: the hashes of the scalar function, with one thread or several, in one round or many.
SELECT count(*), bool_and(tokens = flyhash(vector, 700)) AS same
FROM flyhash_signatures('SELECT id, vector FROM vectors', 700) JOIN vectors USING (id);
SELECT count(*), bool_and(tokens = flyhash(vector, 700, 3, 50, 4)) AS same
FROM flyhash_signatures('SELECT id, vector FROM vectors', 700, 3, 50, 4) JOIN vectors USING (id);
SET simjoin.cpu_threads = 1;
SELECT count(*), bool_and(tokens = flyhash(vector, 700)) AS same
FROM flyhash_signatures('SELECT id::smallint, vector FROM vectors', 700, NULL) JOIN vectors USING (id);
RESET simjoin.cpu_threads;
SELECT count(*), count(DISTINCT id), bool_and(tokens = ARRAY(SELECT generate_series(0, 1999))) AS same
FROM flyhash_signatures('SELECT i, ARRAY[i % 3, 5]::real[] FROM generate_series(1, 9000) i', 2000, 2000);
SELECT * FROM flyhash_signatures('SELECT id, CASE WHEN id % 2 = 0 THEN vector END FROM vectors WHERE id < 5', 20, 2) ORDER BY id;
SELECT * FROM flyhash_signatures('SELECT id, vector FROM vectors WHERE false', 20);
SELECT * FROM flyhash_signatures('SELECT id, NULL::real[] FROM vectors WHERE id = 1', 20);
SELECT * FROM flyhash_signatures(NULL, 20);
SELECT * FROM flyhash_signatures('SELECT id, vector FROM vectors', NULL);

-- Neighbours. 40 clusters of 10 vectors of 50 values: of the 9 nearest by hash, how many are of the same
-- cluster? At random it would be 9 of 399, a fortieth.
CREATE FUNCTION noise(int, int, int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT x - floor(x) - 0.5 FROM (SELECT sin($1 * 12.9898 + $2 * 78.233 + $3 * 37.719) * 43758.5453 AS x) s $$;
CREATE TABLE clustered AS
SELECT c * 10 + m AS id, c AS cluster, ARRAY(SELECT (noise(c, -1, d) + 0.7 * noise(c, m, d))::real FROM generate_series(1, 50) d) AS vector
FROM generate_series(0, 39) c, generate_series(0, 9) m;
CREATE TABLE hashed AS
SELECT id, cluster, tokens FROM flyhash_signatures('SELECT id, vector FROM clustered', 2000, 100, 5) JOIN clustered USING (id);
CREATE TABLE near AS
SELECT a, b, rank FROM similarity_neighbors('SELECT id, tokens FROM hashed', 'SELECT id, tokens FROM hashed', 10) WHERE a <> b;
SELECT avg((x.cluster = y.cluster)::int) > 0.9 AS precise
FROM near JOIN hashed x ON x.id = near.a JOIN hashed y ON y.id = near.b;
-- Some vectors' neighbours by distance, and how many of those by hash are among them: at random a fortieth.
CREATE TABLE exact AS
SELECT a.id AS a, near.id AS b
FROM clustered a, LATERAL (SELECT b.id FROM clustered b WHERE b.id <> a.id
                           ORDER BY (SELECT sum((u - v) ^ 2) FROM unnest(a.vector, b.vector) p (u, v)), b.id LIMIT 9) near
WHERE a.id % 10 = 0;
SELECT count(*) FILTER (WHERE exact.a IS NOT NULL) > 0.6 * count(*) AS precise, count(*) BETWEEN 320 AND 360 AS found
FROM near LEFT JOIN exact USING (a, b) WHERE a % 10 = 0;
-- Neighbours by the join operator, at an overlap that almost no vectors of different clusters reach.
SELECT count(*) > 1200 AS pairs, avg((x.cluster = y.cluster)::int) > 0.98 AS precise
FROM hashed x JOIN hashed y ON x.id < y.id AND overlap_count(x.tokens, y.tokens) >= 30;

-- Generated columns and parallel queries.
CREATE TABLE stored (vector real[], tokens int[] GENERATED ALWAYS AS (flyhash(vector, 100, 10, 2)) STORED);
INSERT INTO stored SELECT vector FROM vectors;
SELECT count(*), bool_and(tokens = flyhash(vector, 100, 10, 2)) AS same FROM stored;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT sum((flyhash(vector, 100))[1]) FROM vectors;
SELECT sum((flyhash(vector, 100))[1]) = (SELECT sum(tokens[1]) FROM flyhash_signatures('SELECT id, vector FROM vectors', 100)) AS same FROM vectors;
COMMIT;

-- Wrong vectors.
SELECT flyhash('{1,NaN}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{Infinity}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1,-Infinity,2}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1,NULL}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{{1,2},{3,4}}', 10);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash(array_fill(1::real, ARRAY[65536]), 10);
\echo :LAST_ERROR_SQLSTATE
SELECT cardinality(flyhash(array_fill(1::real, ARRAY[65535]), 10, 2, 65535)) AS largest;
-- Wrong numbers.
SELECT flyhash('{1}', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1}', 1048577);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1}', 10, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1}', 10, 11);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1,2}', 10, 1, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1,2}', 10, 1, 3);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash('{1,2}', 10, 1, 65536);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash(NULL, 10, 11);
\echo :LAST_ERROR_SQLSTATE
SELECT flyhash(array_fill(1::real, ARRAY[65535]), 1000000, 1);
\echo :LAST_ERROR_SQLSTATE
-- Wrong queries.
SELECT * FROM flyhash_signatures('SELECT id, vector FROM vectors', 20, 21);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT id, vector FROM vectors', 20, 2, 61);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT i, array_fill(1::real, ARRAY[i]) FROM generate_series(3, 4) i', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1, ''{1,NaN}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1, ''{1,NULL}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1, ''{}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT NULL::int, ''{1}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1, ''{1}''::float8[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1.5, ''{1}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('SELECT 1, ''{1}''::real[]; SELECT 2, ''{2}''::real[]', 20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM flyhash_signatures('CREATE TABLE t (id int)', 20);
\echo :LAST_ERROR_SQLSTATE

DROP SCHEMA flyhash_test CASCADE;
