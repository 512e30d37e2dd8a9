-- Joins as functions, against plain SQL.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA functions_test;
SET search_path = functions_test, public;
SET simjoin.enable_join = off;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Skewed tokens, near copies, repeated tokens, empty sets and NULLs. The ids have no order, and some are negative.
CREATE TABLE sets AS
SELECT (id * 7919 % 1009 - 300)::smallint AS id, CASE WHEN id % 37 = 0 THEN NULL ELSE tokens END AS tokens
FROM (SELECT id, ARRAY(SELECT draw(draw(50, base, j, 1) + 1, base, j, 2) FROM generate_series(1, draw(12, base)) j
                       WHERE id = base OR draw(6, id, j) > 0) AS tokens
      FROM (SELECT id, CASE WHEN draw(3, id, 3) = 0 THEN draw(id, id, 4) ELSE id END AS base
            FROM generate_series(1, 150) id) b) s;
CREATE TABLE others AS
SELECT id::bigint * 3000000000 AS id, tokens || CASE WHEN id % 2 = 0 THEN '{7}'::int[] END AS tokens FROM sets WHERE id % 3 <> 0;
-- The similarity by each measure of each pair that shares a token.
CREATE FUNCTION distinct_tokens(tokens int[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT count(DISTINCT t) FROM unnest(tokens) t $$;
CREATE TABLE measures (measure text);
INSERT INTO measures VALUES ('jaccard'), ('cosine'), ('dice'), ('overlap'), ('overlap_coefficient'), ('containment');
CREATE VIEW set_tokens AS SELECT DISTINCT id, unnest(tokens) AS token, distinct_tokens(tokens) AS size FROM sets;
CREATE VIEW other_tokens AS SELECT DISTINCT id, unnest(tokens) AS token, distinct_tokens(tokens) AS size FROM others;
CREATE TABLE shared_self AS
SELECT l.id::bigint AS a, r.id::bigint AS b, count(*)::float8 AS o, l.size AS n, r.size AS m
FROM set_tokens l JOIN set_tokens r USING (token) WHERE l.id <> r.id GROUP BY l.id, r.id, l.size, r.size;
CREATE TABLE shared AS
SELECT l.id::bigint AS a, r.id::bigint AS b, count(*)::float8 AS o, l.size AS n, r.size AS m
FROM set_tokens l JOIN other_tokens r USING (token) GROUP BY l.id, r.id, l.size, r.size;
CREATE FUNCTION similarity(measure text, o float8, n float8, m float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE measure WHEN 'jaccard' THEN o / (n + m - o) WHEN 'cosine' THEN o / sqrt(n * m)
                       WHEN 'dice' THEN 2 * o / (n + m) WHEN 'overlap_coefficient' THEN o / least(n, m)
                       WHEN 'containment' THEN o / n ELSE o END $$;
CREATE TABLE expected_self AS SELECT measure, a, b, similarity(measure, o, n, m) FROM measures, shared_self
WHERE a < b OR measure = 'containment';
CREATE TABLE expected AS SELECT measure, a, b, similarity(measure, o, n, m) FROM measures, shared;

-- The number of rows that two queries do not share.
CREATE FUNCTION differences(x text, y text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH x AS (%s), y AS (%s)
                  SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d', x, y)
    INTO result;
  RETURN result;
END $$;

-- similarity_self_join: a < b, each pair once. A containment is one of a in b.
CREATE TABLE thresholds (measure text, threshold float8);
INSERT INTO thresholds
SELECT measure, t FROM measures, unnest(ARRAY[1, 0.9, 0.8, 0.65, 0.55, 0.5, 0.1, 0.01]) t WHERE measure <> 'overlap'
UNION ALL SELECT 'overlap', t FROM unnest(ARRAY[1, 0.5, 2, 2.5, 6, 100]) t;
SELECT measure, count(*) AS joins, sum(differences(
  format('SELECT * FROM similarity_self_join(''SELECT id, %s FROM sets'', %s, %L)', tokens, threshold, measure),
  format('SELECT a, b, similarity FROM expected_self WHERE measure = %L AND similarity >= %s', measure, threshold))) AS differences
FROM thresholds JOIN unnest(ARRAY['tokens', 'tokens::bigint[]', 'tokens::text[]']) tokens
  ON tokens = 'tokens' OR threshold IN (0.9, 0.55, 2)
GROUP BY measure ORDER BY measure COLLATE "C";
SELECT measure, threshold, (SELECT count(*) FROM expected_self e WHERE e.measure = t.measure AND similarity >= threshold) > 20 AS many
FROM thresholds t WHERE threshold IN (0.5, 1, 2) ORDER BY measure COLLATE "C", threshold;

-- similarity_join.
SELECT measure, count(*) AS joins, sum(differences(
  format('SELECT * FROM similarity_join(''SELECT id, %s FROM sets'', ''SELECT id, %1$s FROM others'', %s, %L)', tokens, threshold, measure),
  format('SELECT a, b, similarity FROM expected WHERE measure = %L AND similarity >= %s', measure, threshold))) AS differences
FROM thresholds JOIN unnest(ARRAY['tokens', 'tokens::bigint[]', 'tokens::text[]']) tokens
  ON tokens = 'tokens' OR threshold IN (0.9, 0.55, 2)
GROUP BY measure ORDER BY measure COLLATE "C";

-- similarity_neighbors: the k most similar, ties by b.
SELECT measure, count(*) AS joins, sum(differences(
  format('SELECT * FROM similarity_neighbors(''SELECT id, tokens FROM sets'', ''SELECT id, tokens FROM others'', %s, %s, %L)',
         k, least, measure),
  format('SELECT a, b, similarity, rank::int FROM (
            SELECT *, row_number() OVER (PARTITION BY a ORDER BY similarity DESC, b) AS rank
            FROM expected WHERE measure = %L AND similarity >= %s) r WHERE rank <= %s', measure, least, k))) AS differences
FROM measures, unnest(ARRAY[1, 3, 1000]) k, unnest(ARRAY[0, 0.5]) least
GROUP BY measure ORDER BY measure COLLATE "C";

-- With ties all rows that are as similar as the k-th.
SELECT measure, count(*) AS joins, sum(differences(
  format('SELECT * FROM similarity_neighbors(''SELECT id, tokens FROM sets'', ''SELECT id, tokens FROM others'', %s, %s, %L, ties => true)',
         k, least, measure),
  format('SELECT a, b, similarity, place::int FROM (
            SELECT *, rank() OVER (PARTITION BY a ORDER BY similarity DESC) AS rank,
                   row_number() OVER (PARTITION BY a ORDER BY similarity DESC, b) AS place
            FROM expected WHERE measure = %L AND similarity >= %s) r WHERE rank <= %s', measure, least, k))) AS differences
FROM measures, unnest(ARRAY[1, 2, 3, 10, 1000]) k, unnest(ARRAY[0, 0.5]) least
GROUP BY measure ORDER BY measure COLLATE "C";
SELECT count(*), max(rank) FROM similarity_neighbors('VALUES (1, ARRAY[0])', 'SELECT i, ARRAY[0, i % 5] FROM generate_series(1, 1000) i', 201, 0, 'dice', ties => true);
SELECT a, b, rank FROM similarity_neighbors('VALUES (1, ''a b'')', 'VALUES (''x''::text, ''a''), (''y'', ''b''), (''z'', ''c'')', 1, 0, NULL::int, NULL::text, tokens => 'words', ties => true);
SELECT a, b, rank FROM similarity_neighbors('VALUES (1, ''a b'')', 'VALUES (7, ''a''), (3, ''b'')', 1, 0, tokens => 'words', ties => true);
SELECT * FROM similarity_neighbors('VALUES (1, ARRAY[1])', 'VALUES (1, ARRAY[1])', 1, 0, measure => 'jaccard', ties => NULL);

-- Every algorithm gives the same pairs.
CREATE FUNCTION pairs_with(algorithm text, threads int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('simjoin.algorithm', algorithm, true), set_config('simjoin.cpu_threads', threads::text, true);
  RETURN (SELECT count(*) || ' ' || md5(string_agg(p::text, ';' ORDER BY p))
          FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6) p);
END $$;
SELECT count(*) AS runs, count(DISTINCT pairs_with(algorithm, threads)) AS results
FROM pg_settings, unnest(enumvals) algorithm, unnest(ARRAY[1, 2]) threads WHERE name = 'simjoin.algorithm';
RESET simjoin.algorithm;
RESET simjoin.cpu_threads;

-- Small inputs.
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets WHERE false', 0.5);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', 0.5);
SELECT * FROM similarity_self_join('SELECT i, NULL::int[] FROM generate_series(1, 3) i', 0.5);
SELECT * FROM similarity_self_join('SELECT i, ''{}''::int[] FROM generate_series(1, 3) i', 0.5);
SELECT * FROM similarity_self_join('VALUES (9, ''{1,2}''::int[]), (8, ''{2,1}'')', 1);
SELECT * FROM similarity_join('SELECT 1, ''{1}''::text[] WHERE false', 'SELECT 1, ''{1}''::text[]', 0.5);
SELECT * FROM similarity_neighbors('SELECT 1, ''{1}''::text[]', 'SELECT 1, ''{1}''::text[] WHERE false', 5);
SELECT * FROM similarity_neighbors('SELECT 1, ''{a}''::text[]', 'VALUES (1, ''{b}''::text[]), (2, NULL), (3, ''{a,c}'')', 5);

-- NULL arguments are errors. The threshold of overlap is a count. A closing semicolon does no harm.
SELECT * FROM similarity_self_join(NULL, 0.5);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::int[]', NULL);
SELECT * FROM similarity_self_join('SELECT i, ARRAY[1, 2, i] FROM generate_series(1, 3) i;', 2, measure => 'overlap') ORDER BY 1, 2;

-- Neighbours are kept within the memory limit.
SET simjoin.memory_limit = '2MB';
SELECT count(*) FROM similarity_neighbors('SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 10);
SELECT count(*) FROM similarity_neighbors('SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 1000);
SELECT count(*) FROM similarity_neighbors('SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 1000) i', 10, 0, 'jaccard', ties => true);
RESET simjoin.memory_limit;
-- Ids that occur twice are joined twice in similarity_join and similarity_neighbors.
SELECT * FROM similarity_join('VALUES (1, ''{1}''::int[]), (1, ''{1}'')', 'VALUES (2, ''{1}''::int[])', 1);
SELECT * FROM similarity_neighbors('VALUES (1, ''{1}''::int[])', 'VALUES (2, ''{1}''::int[]), (2, ''{1}'')', 5);

-- Domains, views, set-returning and computed columns; extreme ids.
CREATE DOMAIN document_id AS int;
CREATE DOMAIN token_set AS text[] CHECK (cardinality(VALUE) < 10);
SELECT * FROM similarity_self_join('SELECT i::document_id, ARRAY[''a'', (i / 2)::text]::token_set FROM generate_series(1, 3) i', 0.5);
SELECT * FROM similarity_self_join(
  'VALUES (9223372036854775807, shingles(''near duplicate'')), (-9223372036854775808, shingles(''Near  duplicate''))', 0.9);

-- The query has the snapshot and the rights of the caller.
BEGIN;
INSERT INTO sets VALUES (20000, '{1001,1002}'), (20001, '{1001,1002}');
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets WHERE id >= 20000', 1);
ROLLBACK;
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets WHERE id >= 20000', 1);
CREATE ROLE regress_simjoin_user;
GRANT USAGE ON SCHEMA functions_test TO regress_simjoin_user;
SET ROLE regress_simjoin_user;
SELECT * FROM similarity_self_join('SELECT id, tokens FROM functions_test.sets', 1);
RESET ROLE;
DROP OWNED BY regress_simjoin_user;
DROP ROLE regress_simjoin_user;

-- In a larger query: once for each outer row, limited, nested, in PL/pgSQL.
SELECT t, count(p.a) > 0 AS pairs, max(p.similarity) FROM unnest(ARRAY[0.9, 1]) t
LEFT JOIN LATERAL similarity_self_join('SELECT id, tokens FROM sets', t) p ON true GROUP BY t ORDER BY t;
SELECT count(*) FROM (SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets', 0.5) LIMIT 3) p;
SELECT count(*) > 0 AS nested FROM similarity_self_join(
  'SELECT row_number() OVER (), ARRAY[a, b] FROM similarity_self_join(''SELECT id, tokens FROM sets'', 0.8)', 0.3);
DO $$
DECLARE pair record; n int := 0;
BEGIN
  FOR pair IN SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets', 0.8) LOOP n := n + 1; END LOOP;
  ASSERT n = (SELECT count(*) FROM expected_self WHERE measure = 'jaccard' AND similarity >= 0.8);
END $$;

-- A result larger than work_mem.
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT (a, b)) FROM similarity_self_join('SELECT i, ARRAY[i % 3] FROM generate_series(1, 300) i', 1);
RESET work_mem;

DROP SCHEMA functions_test CASCADE;
