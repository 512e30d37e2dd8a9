-- Ids of any type in the functions over queries, against the same functions with integers.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA keys_test;
SET search_path = keys_test, public;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE DOMAIN code AS text CHECK (VALUE ~ '^k');
CREATE DOMAIN number AS bigint;
CREATE TYPE place AS (shelf int, label text);
DO $$ BEGIN
  EXECUTE 'CREATE TYPE colour AS ENUM (' || (SELECT string_agg(quote_literal('c' || i * 7919 % 1009), ', ') FROM generate_series(1, 200) i) || ')';
END $$;
-- Near copies with keys of many types, whose orders are all different. `id` is a random permutation.
CREATE TABLE sets AS
SELECT id, tokens, ('kc' || md5(id::text))::code AS code, md5('u' || id)::uuid AS uuid, md5('t' || id) AS txt,
       md5('c' || id) COLLATE "C" AS c, md5('v' || id)::varchar(40) AS vc, (draw(1000000, id, 9) - 500000 + id / 1000.0)::numeric AS num,
       (draw(1000000, id, 8) + id / 512.0)::float8 AS real, ROW(draw(5, id, 7), md5('p' || id))::place AS place,
       (enum_range(NULL::colour))[id] AS colour,
       ARRAY[draw(5, id, 5), id] AS arr, timestamptz '2020-01-01' + draw(1000000, id, 4) * interval '1 s' + id * interval '1 us' AS t,
       (draw(100000, id, 3) * 1000 + id)::int AS i4, (draw(20, id, 2) * 1000 + id)::smallint AS i2,
       (draw(100000, id, 1) * 1000 + id)::number AS dom, jsonb_build_object('k', draw(1000, id, 10), 'id', id) AS json,
       repeat(md5('l' || id), 100) AS long
FROM (SELECT id, ARRAY(SELECT j + draw(300, base, 1) / 6 * 2 FROM generate_series(1, 9) j WHERE id = base OR draw(6, id, j) > 0) AS tokens
      FROM (SELECT id, CASE WHEN draw(2, id, 3) = 0 THEN 1 + draw(id, id, 4) ELSE id END AS base FROM generate_series(1, 200) id) b) s
ORDER BY draw(100000, id, 20);
UPDATE sets SET tokens = NULL WHERE id % 37 = 0;
CREATE TABLE others AS SELECT * FROM sets WHERE id % 3 <> 0;

CREATE FUNCTION differences(x text, y text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH x AS (%s), y AS (%s)
                  SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d', x, y)
    INTO result;
  RETURN result;
END $$;

-- A function with a key gives what it gives with the ranks of the keys, in the order of ORDER BY. The results are compared by `id`.
CREATE TABLE keys (name text, type text);
INSERT INTO keys VALUES ('uuid', 'uuid'), ('txt', 'text'), ('c', 'text'), ('vc', 'varchar'), ('vc', 'text'), ('num', 'numeric'), ('real', 'float8'),
  ('place', 'place'), ('place', 'record'), ('colour', 'colour'), ('arr', 'int[]'), ('t', 'timestamptz'), ('code', 'code'),
  ('code', 'text'), ('i4', 'int'), ('i4', 'bigint'), ('i2', 'smallint'), ('i2', 'int'), ('dom', 'number'), ('dom', 'bigint'), ('json', 'jsonb'),
  ('long', 'text');
CREATE FUNCTION ranked(key text, source text) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT rank() OVER (ORDER BY %I), tokens FROM %s', key, source) $$;
-- Replaces both keys of pairs by ids, and both ranks.
CREATE FUNCTION by_id(call text, key text, columns text, x text, y text) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT x.id, y.id, %1$s FROM %2$s p JOIN sets x ON x.%3$I = p.%4$I JOIN sets y ON y.%3$I = p.%5$I', columns, call, key, x, y) $$;
CREATE FUNCTION by_rank(call text, key text, columns text, x text, y text, right_source text) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT x.id, y.id, %1$s FROM %2$s p JOIN (SELECT id, rank() OVER (ORDER BY %3$I) AS number FROM sets) x ON x.number = p.%4$I
                  JOIN (SELECT id, rank() OVER (ORDER BY %3$I) AS number FROM %6$s) y ON y.number = p.%5$I',
                 columns, call, key, x, y, right_source) $$;

SELECT name, type,
  differences(by_id(format('similarity_self_join(%L, 0.6, key => NULL::%s)', format('SELECT %I, tokens FROM sets', name), type), name,
                    'similarity', 'a', 'b'),
              by_rank(format('similarity_self_join(%L, 0.6)', ranked(name, 'sets')), name, 'similarity', 'a', 'b', 'sets')) AS self_join,
  differences(by_id(format('similarity_join(%L, %L, 0.6, NULL::%s, NULL::%3$s, ''dice'')', format('SELECT %I, tokens FROM sets', name),
                           format('SELECT %I, tokens FROM others', name), type), name, 'similarity', 'a', 'b'),
              by_rank(format('similarity_join(%L, %L, 0.6, ''dice'')', ranked(name, 'sets'), ranked(name, 'others')), name, 'similarity',
                      'a', 'b', 'others')) AS join,
  differences(by_id(format('similarity_neighbors(%L, %L, 2, 0.2, NULL::%s, NULL::%3$s)', format('SELECT %I, tokens FROM sets', name),
                           format('SELECT %I, tokens FROM others', name), type), name, 'similarity, p.rank', 'a', 'b'),
              by_rank(format('similarity_neighbors(%L, %L, 2, 0.2)', ranked(name, 'sets'), ranked(name, 'others')), name,
                      'similarity, p.rank', 'a', 'b', 'others')) AS neighbours,
  (SELECT sum(differences(
     by_id(format('duplicate_groups(%L, 0.6, key => NULL::%s, method => %L, keep => %L, max_group_share => 1)',
                  format('SELECT %I, tokens FROM sets ORDER BY id', name), type, method, keep), name,
           'is_representative, similarity', 'id', 'group_id'),
     by_rank(format('duplicate_groups(%L, 0.6, method => %L, keep => %L, max_group_share => 1)',
                    format('SELECT rank() OVER (ORDER BY %I), tokens FROM sets ORDER BY id', name), method, keep), name,
             'is_representative, p.similarity', 'id', 'group_id', 'sets')))
   FROM (VALUES ('components', 'smallest_id'), ('star', 'smallest_id'), ('best_link', 'first_row')) m (method, keep)) AS groups
FROM keys ORDER BY name COLLATE "C", type COLLATE "C";
-- There is something to find.
SELECT count(*) > 50 AS pairs FROM similarity_self_join('SELECT uuid, tokens FROM sets', 0.6, NULL::uuid);
SELECT count(*) > 20 AS duplicates FROM duplicate_groups('SELECT uuid, tokens FROM sets', 0.6, NULL::uuid, max_group_share => 1)
WHERE NOT is_representative;

-- The functions whose result has a row for each row, and joins by bands.
CREATE FUNCTION by_one_id(call text, key text, columns text) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT x.id, %s FROM %s p JOIN sets x ON x.%3$I = p.id', columns, call, key) $$;
CREATE FUNCTION query_of(key text, columns text) RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT %s, %s FROM sets ORDER BY sets.id', CASE key WHEN 'id' THEN 'id::bigint' ELSE quote_ident(key) END, columns) $$;
ALTER TABLE sets ADD weights real[], ADD vector real[];
UPDATE sets SET weights = ARRAY(SELECT 1 + draw(9, id, t) / 4.0 FROM unnest(tokens) t), vector = ARRAY(SELECT draw(99, id, j) FROM generate_series(1, 30) j);
UPDATE sets SET vector = NULL WHERE id % 41 = 0;
SELECT count(cluster_stream_create('stream_' || n, NULL::int[])) FROM generate_series(1, 44) n;
WITH calls AS (
  SELECT row_number() OVER () AS number, * FROM keys)
SELECT name, type,
  differences(by_one_id(format('minhash_signatures(%L, 16, 1, key => NULL::%s)', query_of(name, 'tokens'), type), name, 'signature'),
              'SELECT id, minhash(tokens, 16) FROM sets') AS signatures,
  differences(by_one_id(format('weighted_minhash_signatures(%L, 16, 1, key => NULL::%s)', query_of(name, 'tokens, weights'), type), name, 'signature'),
              'SELECT id, weighted_minhash(tokens, weights, 16) FROM sets') AS weighted,
  differences(by_id(format('minhash_self_join(%L, 0.6, 128, NULL, NULL, true, 1, key => NULL::%s)', format('SELECT %I, tokens FROM sets', name), type), name,
                    'similarity', 'a', 'b'),
              by_rank(format('minhash_self_join(%L, 0.6)', ranked(name, 'sets')), name, 'similarity', 'a', 'b', 'sets')) AS self_join,
  differences(by_id(format('minhash_join(%L, %L, 0.6, 128, NULL, NULL, true, 1, left_key => NULL::%s, right_key => NULL::%3$s)', format('SELECT %I, tokens FROM sets', name),
                           format('SELECT %I, tokens FROM others', name), type), name, 'similarity', 'a', 'b'),
              by_rank(format('minhash_join(%L, %L, 0.6)', ranked(name, 'sets'), ranked(name, 'others')), name, 'similarity',
                      'a', 'b', 'others')) AS join,
  differences(by_one_id(format('flyhash_signatures(%L, 100, NULL, NULL, 1, key => NULL::%s)', query_of(name, 'vector'), type), name, 'p.tokens'),
              'SELECT id, flyhash(vector, 100) FROM sets') AS flyhash,
  differences(by_one_id(format('tf_idf(%L, 5, key => NULL::%s)', query_of(name, 'tokens::text[]'), type), name, 'terms, p.weights'),
              'SELECT * FROM tf_idf(''SELECT id, tokens::text[] FROM sets ORDER BY id'', 5)') AS tf_idf,
  differences(by_one_id(format('tf_idf(%L, NULL::int[], NULL, key => NULL::%s)', query_of(name, 'tokens'), type), name, 'terms, p.weights'),
              'SELECT * FROM tf_idf(''SELECT id, tokens FROM sets ORDER BY id'', NULL::int[])') AS of_kind,
  differences(by_one_id(format('idf(%L, NULL::int[], key => NULL::%s)', query_of(name, 'tokens'), type), name, 'terms, p.weights'),
              'SELECT * FROM idf(''SELECT id, tokens FROM sets ORDER BY id'', NULL::int[])') AS idf,
  differences(by_one_id(format('cluster_documents(%L, 0.3, 20, 64, key => NULL::%s)', query_of(name, 'tokens, weights'), type), name,
                        'cluster, similarity'),
              'SELECT * FROM cluster_documents(''SELECT id, tokens, weights FROM sets ORDER BY id'', 0.3, batch => 64)') AS clusters,
  differences(by_one_id(format('cluster_stream(''stream_%s'', %L, 0.3, 20, 64, key => NULL::%s)', number, query_of(name, 'tokens, weights'), type),
                        name, 'cluster, similarity'),
              format('SELECT * FROM cluster_stream(''stream_%s'', ''SELECT id, tokens, weights FROM sets ORDER BY id'', 0.3, batch => 64)', 22 + number))
    AS stream
FROM calls ORDER BY name COLLATE "C", type COLLATE "C";
SELECT count(*) > 20 AS pairs, pg_typeof(min(a::text)::uuid) FROM minhash_self_join('SELECT uuid, tokens FROM sets', 0.6, 128, NULL, NULL, true, 1, key => NULL::uuid);
SELECT count(DISTINCT cluster) BETWEEN 10 AND 190 AS some FROM cluster_documents('SELECT uuid, tokens, weights FROM sets', 0.3, 20, 64, key => NULL::uuid);
SELECT DISTINCT pg_typeof(id) FROM minhash_signatures('SELECT id::smallint, tokens FROM sets', 128, 1, key => NULL::int);
SELECT DISTINCT pg_typeof(id) FROM tf_idf('SELECT id, tokens FROM sets', NULL::int[]);
SELECT DISTINCT pg_typeof(a), pg_typeof(b) FROM minhash_join('SELECT id, tokens FROM sets', 'SELECT uuid, tokens FROM others', 0.6, 128, NULL, NULL, true, 1, NULL::bigint, right_key => NULL::uuid);
-- Keys without an order serve where rows are not compared by them.
SELECT count(*), count(DISTINCT id::text) FROM minhash_signatures('SELECT point(id, 0), tokens FROM sets', 8, 1, key => NULL::point);
SELECT * FROM minhash_self_join('SELECT point(id, 0), tokens FROM sets', 0.6, 128, NULL, NULL, true, 1, key => NULL::point);
SELECT * FROM minhash_self_join('SELECT id % 9 || ''x'', tokens FROM sets', 0.6, 128, NULL, NULL, true, 1, key => NULL::text);
-- Keys go to a file and are read again while others are added.
SET simjoin.memory_limit = '1MB';
SELECT count(*), count(*) FILTER (WHERE id <> '7' || repeat(md5(s.number::text), 20)) AS wrong,
       count(*) FILTER (WHERE signature IS DISTINCT FROM minhash(CASE WHEN s.number % 5 > 0 THEN ARRAY[s.number] END, 16000)) AS signed_wrongly
FROM minhash_signatures(
  'SELECT ''7'' || repeat(md5(i::text), 20), CASE WHEN i % 5 > 0 THEN ARRAY[i] END FROM generate_series(1, 2500) i', 16000, 1, key => NULL::text) p
JOIN (SELECT i AS number, '7' || repeat(md5(i::text), 20) AS key FROM generate_series(1, 2500) i) s ON s.key = p.id;
RESET simjoin.memory_limit;
-- Texts and tsvectors, as in similarity_self_join.
SELECT * FROM minhash_self_join('VALUES (''a''::text, ''one two three''), (''b'', ''Three, two, one'')', 0.9, 128, NULL, NULL, true, 1, key => NULL::text, tokens => 'words');
SELECT * FROM minhash_join('VALUES (1, ''one two three'')', 'VALUES (''b''::text, ''Three, two, one'')', 0.9, 128, NULL, NULL, true, 1, NULL::int, right_key => NULL::text, tokens => 'words');
SELECT * FROM similarity_self_join('VALUES (''a''::text, ''two one''::tsvector)', 0.5);
SELECT id, signature = minhash(shingles('one two three', 4), 8) AS same
FROM minhash_signatures('VALUES (''a''::text, ''one two three''), (''b'', NULL)', 8, 1, key => NULL::text, tokens => 'shingles(4)');
SELECT id, signature = minhash('{one,two}'::text[], 8) AS same FROM minhash_signatures('VALUES (1, ''two one''::tsvector)', 8);
SELECT * FROM minhash_signatures('VALUES (1, ''one two'')');
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[])', 0.5, 128, NULL, NULL, true, 1, NULL::int, tokens => 'words');
SELECT * FROM tf_idf('VALUES (1, ''one two'')');
-- What is no id, NULL, untyped.
SELECT * FROM minhash_signatures('SELECT uuid, tokens FROM sets');
SELECT * FROM cluster_documents('SELECT uuid, tokens, weights FROM sets', 0.5);
SELECT * FROM tf_idf('SELECT uuid, tokens::text[] FROM sets');
SELECT * FROM flyhash_signatures('SELECT uuid, vector FROM sets', 100);
SELECT * FROM flyhash_signatures('SELECT uuid, tokens FROM sets', 100, NULL, NULL, 1, key => NULL::uuid);
SELECT * FROM minhash_signatures('SELECT NULLIF(uuid, uuid), tokens FROM sets', 128, 1, key => NULL::uuid);
SELECT * FROM minhash_signatures(NULL, 128, 1, key => NULL::uuid);
SELECT * FROM weighted_minhash_signatures('SELECT 1', NULL);
SELECT * FROM minhash_self_join(NULL, 0.5);
SELECT * FROM cluster_documents('SELECT 1', NULL);
SELECT * FROM cluster_stream('stream_1', NULL, 0.5);
SELECT * FROM cluster_stream(NULL, 'SELECT 1', 0.5);
PREPARE untyped_signatures AS SELECT id FROM minhash_signatures($1, $2, $3);
EXECUTE untyped_signatures('VALUES (2, ARRAY[1])', 8, 1);
PREPARE untyped_bands AS SELECT * FROM minhash_self_join($1, $2, $3, $4, $5, $6, $7);
EXECUTE untyped_bands('VALUES (2, ARRAY[1]), (1, ARRAY[1])', 0.5, 16, 16, 1, true, 1);
PREPARE untyped_clusters AS SELECT * FROM cluster_documents($1, $2, $3, $4);
EXECUTE untyped_clusters('VALUES (2, ARRAY[1], ARRAY[1]::real[])', 0.5, 16, 16);
SELECT id FROM minhash_signatures('VALUES (2, ARRAY[1])', 8::smallint, 1);
SELECT * FROM tf_idf('VALUES (2, ARRAY[1])', NULL::int[], 5);

-- Results have the type of the key.
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b FROM similarity_self_join('SELECT code, tokens FROM sets', 0.6, key => NULL::code);
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b FROM similarity_self_join('SELECT i2, tokens FROM sets', 0.6, NULL::int);
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b
FROM similarity_join('SELECT uuid, tokens FROM sets', 'SELECT place, tokens FROM others', 0.6, NULL::uuid, NULL::place);
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b
FROM similarity_neighbors('SELECT id, tokens FROM sets', 'SELECT ROW(uuid, id), tokens FROM others', 1, 0, NULL::bigint, NULL::record);
SELECT DISTINCT pg_typeof(id) AS id, pg_typeof(group_id) AS group_id FROM duplicate_groups('SELECT colour, tokens FROM sets', 0.6, NULL::colour);

-- A composite key whose parts come apart again.
SELECT (a).shelf, (a).label, (b).shelf AS shelf_b FROM similarity_self_join(
  'VALUES (ROW(2, ''x'')::place, ARRAY[1,2,3]), (ROW(1, ''y'')::place, ARRAY[1,2,3])', 1, NULL::place);
SELECT a, b FROM similarity_self_join('VALUES (ROW(2, NULL)::place, ARRAY[1]), (ROW(2, ''y'')::place, ARRAY[1]), (ROW(NULL, NULL)::place, ARRAY[1])',
                                      1, NULL::place) ORDER BY a, b;

-- The order is that of the column's collation.
SELECT a, b FROM similarity_self_join('SELECT k COLLATE "C", ARRAY[1] FROM unnest(ARRAY[''a'', ''B'']) k', 1, key => NULL::text);
CREATE TABLE two (c text COLLATE "C", p text COLLATE "POSIX");
INSERT INTO two VALUES ('a', 'b'), ('c', 'd');
SELECT * FROM similarity_self_join('SELECT c || p, ARRAY[1] FROM two', 1, key => NULL::text);

-- Ties of neighbours and copies are in the order of keys, whatever the order of the rows.
SELECT count(DISTINCT rows) FROM generate_series(1, 5) n, LATERAL (
  SELECT array_agg(g ORDER BY g) AS rows FROM similarity_neighbors('SELECT uuid, tokens FROM sets',
    format('SELECT uuid, tokens || 5 FROM sets ORDER BY draw(100, id, %s)', n), 3, 0, NULL::uuid, NULL::uuid) g) x;
SELECT * FROM similarity_neighbors('VALUES (1, ARRAY[1])', 'VALUES (1.0, ARRAY[1]), (0.5, ARRAY[1]), (1.00, ARRAY[1])', 5, 0, NULL::int, NULL::numeric);
SELECT * FROM similarity_join('VALUES (''x''::text, ARRAY[1]), (''x'', ARRAY[1])', 'VALUES (2, ARRAY[1])', 1, NULL::text, NULL::int);

-- Small inputs, NULL arguments.
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets WHERE false', 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets LIMIT 1', 0.5, NULL::uuid);
SELECT * FROM duplicate_groups('SELECT ''only''::text, ARRAY[1]', 0.5, key => NULL::text, max_group_share => 1);
SELECT * FROM similarity_neighbors('SELECT ''x''::text, ARRAY[1]', 'SELECT uuid, tokens FROM sets WHERE false', 2, 0, NULL::text, NULL::uuid);
SELECT * FROM similarity_self_join(NULL, 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', NULL, NULL::uuid);
SELECT * FROM duplicate_groups('SELECT uuid, tokens FROM sets', 0.5, NULL::uuid, keep => NULL);
-- Only the type of the key counts.
SELECT * FROM similarity_self_join('VALUES (''a''::text, ARRAY[1]), (''b'', ARRAY[1])', 1, key => 'anything'::text);

-- Calls without types mean integers, as before.
PREPARE untyped AS SELECT * FROM similarity_self_join($1, $2, $3) ORDER BY 1, 2;
EXECUTE untyped('VALUES (2, ARRAY[1]), (1, ARRAY[1])', 1, 'dice');
SELECT * FROM similarity_self_join('VALUES (2, ARRAY[1]), (1, ARRAY[1])', '1', 'dice');
PREPARE untyped_groups AS SELECT * FROM duplicate_groups($1, $2, $3, $4, $5, $6) ORDER BY 1;
EXECUTE untyped_groups('VALUES (2, ARRAY[1]), (1, ARRAY[1])', 1, 'dice', 'star', 'first_row', 1);
PREPARE untyped_join AS SELECT * FROM similarity_join($1, $2, $3, $4);
EXECUTE untyped_join('VALUES (2, ARRAY[1])', 'VALUES (1, ARRAY[1])', 1, 'dice');
PREPARE untyped_neighbors AS SELECT * FROM similarity_neighbors($1, $2, $3, $4, $5);
EXECUTE untyped_neighbors('VALUES (2, ARRAY[1])', 'VALUES (1, ARRAY[1])', 1, 0, 'dice');

-- Prepared statements, cursors, views, PL/pgSQL, once for each outer row.
PREPARE typed (text, float8) AS SELECT count(*) > 0 AS some FROM similarity_self_join($1, $2, NULL::uuid);
EXECUTE typed('SELECT uuid, tokens FROM sets', 0.7);
EXECUTE typed('SELECT uuid, tokens FROM others', 0.6);
BEGIN;
DECLARE pairs SCROLL CURSOR FOR SELECT * FROM similarity_self_join('SELECT i, ARRAY[1] FROM unnest(ARRAY[''b'', ''a'', ''c'']) i', 1, key => NULL::text)
  ORDER BY a, b;
FETCH 2 FROM pairs;
FETCH BACKWARD 1 FROM pairs;
COMMIT;
CREATE VIEW pairs AS SELECT * FROM similarity_self_join('SELECT txt, tokens FROM keys_test.sets', 0.7, key => NULL::text);
SELECT count(*) > 0 AS some FROM pairs;
DO $$
DECLARE pair record; n int := 0;
BEGIN
  FOR pair IN SELECT * FROM similarity_self_join('SELECT txt, tokens FROM sets', 0.7, key => NULL::text) LOOP
    n := n + 1;
    ASSERT pair.a < pair.b;
  END LOOP;
  ASSERT n = (SELECT count(*) FROM pairs);
END $$;
SELECT (similarity_self_join('SELECT k, ARRAY[1] FROM unnest(ARRAY[''y'', ''x'']) k', 1, key => NULL::text)).*;
SELECT t, count(p.a) > 0 AS some FROM unnest(ARRAY[0.7, 1]) t
LEFT JOIN LATERAL similarity_self_join('SELECT num, tokens FROM sets', t, NULL::numeric) p ON true GROUP BY t ORDER BY t;

-- Keys lie in files where memory is short.
SET simjoin.memory_limit = '2MB';
SELECT count(*) FROM similarity_self_join('SELECT md5(i::text) || repeat(''x'', 500), ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 2001) i', 1, key => NULL::text)
JOIN (SELECT least(x, y) AS a, greatest(x, y) AS b
      FROM (SELECT md5((2 * i)::text) || repeat('x', 500) AS x, md5((2 * i + 1)::text) || repeat('x', 500) AS y FROM generate_series(1, 1000) i) s) e USING (a, b);
SELECT count(*), count(DISTINCT group_id), count(*) FILTER (WHERE id >= group_id) AS in_order
FROM duplicate_groups('SELECT md5(i::text) || repeat(''x'', 500), ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 2001) i', 1, key => NULL::text);
SELECT count(*), count(DISTINCT b) FROM similarity_neighbors(
  'SELECT md5(i::text)::uuid, ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 3001) i',
  'SELECT md5(i::text) || repeat(''x'', 500), ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 3001) i', 1, 0.5, NULL::uuid, NULL::text);
RESET simjoin.memory_limit;

-- An equality that lies, and an order that does: some rows, no harm.
CREATE TYPE liar AS (n int);
CREATE FUNCTION liar_lt(liar, liar) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n * 7919 % 13 < ($2).n * 7907 % 11';
CREATE FUNCTION liar_cmp(liar, liar) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n * 7919 % 13 - ($2).n * 7907 % 11 + 30';
CREATE OPERATOR <<< (LEFTARG = liar, RIGHTARG = liar, FUNCTION = liar_lt);
CREATE OPERATOR <<= (LEFTARG = liar, RIGHTARG = liar, FUNCTION = liar_lt);
CREATE OPERATOR === (LEFTARG = liar, RIGHTARG = liar, FUNCTION = liar_lt);
CREATE OPERATOR >>= (LEFTARG = liar, RIGHTARG = liar, FUNCTION = liar_lt);
CREATE OPERATOR >>> (LEFTARG = liar, RIGHTARG = liar, FUNCTION = liar_lt);
CREATE OPERATOR CLASS liars DEFAULT FOR TYPE liar USING btree AS
  OPERATOR 1 <<<, OPERATOR 2 <<=, OPERATOR 3 ===, OPERATOR 4 >>=, OPERATOR 5 >>>, FUNCTION 1 liar_cmp(liar, liar);
SELECT count(*) FROM similarity_self_join('SELECT ROW(i)::liar, ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 201) i', 1, NULL::liar);
SELECT count(*) FROM duplicate_groups('SELECT ROW(i)::liar, ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 201) i', 1, NULL::liar);
CREATE OR REPLACE FUNCTION liar_cmp(liar, liar) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0';
SELECT count(*) FROM similarity_self_join('SELECT ROW(i)::liar, ARRAY[i / 2 * 2, i / 2 * 2 + 1] FROM generate_series(2, 201) i', 1, NULL::liar);
CREATE OR REPLACE FUNCTION liar_cmp(liar, liar) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'no order today'; END $$;
SELECT * FROM similarity_self_join('SELECT ROW(i)::liar, ARRAY[i] FROM generate_series(2, 201) i', 1, NULL::liar);

-- Errors.
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', 0.5);
SELECT * FROM similarity_join('SELECT uuid, tokens FROM sets', 'SELECT id, tokens FROM sets', 0.5);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM sets', 'SELECT place, tokens FROM sets', 5);
SELECT * FROM duplicate_groups('SELECT place, tokens FROM sets', 0.5);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', 0.5, NULL::text, 'jaccard');
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets', 0.5, NULL::smallint);
SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets', 0.5, NULL::number);
SELECT * FROM similarity_self_join('SELECT txt, tokens FROM sets', 0.5, NULL::code, 'jaccard');
SELECT * FROM similarity_join('SELECT id, tokens FROM sets', 'SELECT uuid, tokens FROM sets', 0.5, NULL::bigint, NULL::int);
SELECT * FROM similarity_self_join('SELECT uuid FROM sets', 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT uuid, txt FROM sets', 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT uuid, tokens, 1 FROM sets', 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT NULLIF(uuid, uuid), tokens FROM sets', 0.5, NULL::uuid);
SELECT * FROM similarity_self_join('VALUES (''a''::text, ARRAY[1]), (''b'', ARRAY[1]), (''a'', ARRAY[2])', 0.5, key => NULL::text);
SELECT * FROM duplicate_groups('VALUES (1.0, ARRAY[1]), (2, ARRAY[1]), (1.00, ARRAY[2])', 0.5, NULL::numeric);
SELECT * FROM similarity_self_join('VALUES (3, ARRAY[1]), (3, ARRAY[1])', 0.5, NULL::int);
SELECT * FROM similarity_self_join('VALUES (point(1, 2), ARRAY[1])', 0.5, NULL::point);
SELECT * FROM similarity_self_join('VALUES (ROW(point(1, 2)), ARRAY[1]), (ROW(point(1, 3)), ARRAY[1])', 0.5, NULL::record);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', 0.5, key => NULL);
-- A key of a type like text, given by its place, is taken for the measure: an error instead of no rows.
SELECT * FROM similarity_self_join('SELECT txt, tokens FROM sets', 0.5, NULL::text);
SELECT * FROM duplicate_groups('SELECT txt, tokens FROM sets', 0.5, NULL::code);
SELECT * FROM densest_subgraph('SELECT a, b FROM pairs', 3, NULL::varchar);
SELECT * FROM pagerank('SELECT a, b FROM pairs', 0.85, NULL::text);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', 2, NULL::uuid);
SELECT * FROM similarity_self_join('SELECT uuid, tokens FROM sets', 1, NULL::uuid, 'euclid');
-- A key without an order, where none is needed.
SELECT * FROM similarity_join('VALUES (point(1, 2), ARRAY[1])', 'VALUES (point(3, 4), ARRAY[1])', 0.5, NULL::point, NULL::point);

-- Graphs, whose nodes are the ranks of keys or the keys themselves.
CREATE TABLE edges AS SELECT x.txt AS a, y.txt AS b, x.uuid AS ua, y.uuid AS ub, x.rank AS ra, y.rank AS rb, draw(10, i, 12) / 4.0 AS w
FROM generate_series(1, 250) i, (SELECT *, rank() OVER (ORDER BY txt COLLATE "C") FROM sets) x, (SELECT *, rank() OVER (ORDER BY txt COLLATE "C") FROM sets) y
WHERE x.id = 1 + draw(200, i, 10) / 2 * 2 AND y.id = 1 + draw(200, i, 11) / 2 * 2;
CREATE VIEW ranked_nodes AS SELECT txt COLLATE "C" AS txt, rank() OVER (ORDER BY txt COLLATE "C") FROM sets;
SELECT differences('SELECT c.rank, n.rank FROM connected_components(''SELECT a COLLATE "C", b FROM edges'', key => NULL::text, nodes => ''SELECT txt FROM sets'') p
                      JOIN ranked_nodes c ON c.txt = component JOIN ranked_nodes n ON n.txt = node',
                   'SELECT * FROM connected_components(''SELECT ra, rb FROM edges'', nodes => ''SELECT rank FROM ranked_nodes'')') AS components,
       differences('SELECT n.rank, p.rank FROM pagerank(''SELECT a COLLATE "C", b, w FROM edges'', 0.8, key => NULL::text, nodes => ''SELECT txt FROM sets'') p
                      JOIN ranked_nodes n ON n.txt = node',
                   'SELECT * FROM pagerank(''SELECT ra, rb, w FROM edges'', 0.8, nodes => ''SELECT rank FROM ranked_nodes'')') AS ranks,
       differences('SELECT n.rank, p.rank FROM pagerank(''SELECT a COLLATE "C", b FROM edges'', 0.8, key => NULL::text, method => ''random_walk'', directed => false) p
                      JOIN ranked_nodes n ON n.txt = node',
                   'SELECT * FROM pagerank(''SELECT ra, rb FROM edges'', 0.8, method => ''random_walk'', directed => false)') AS walks,
       differences('SELECT n.rank, degree FROM densest_subgraph(''SELECT a COLLATE "C", b, w FROM edges'', 9, key => NULL::text) JOIN ranked_nodes n ON n.txt = node',
                   'SELECT * FROM densest_subgraph(''SELECT ra, rb, w FROM edges'', 9)') AS densest,
       differences('SELECT * FROM densest_subgraph_density(''SELECT a COLLATE "C", b, w FROM edges'', 9, key => NULL::text)',
                   'SELECT * FROM densest_subgraph_density(''SELECT ra, rb, w FROM edges'', 9)') AS density;
SELECT nodes FROM densest_subgraph_density('SELECT ua, ub, w FROM edges', 9, NULL::uuid);
SELECT count(*) AS edges, count(DISTINCT component) < count(*) AS connected, count(DISTINCT node) AS nodes, bool_and(component <= node) AS smallest
FROM connected_components('SELECT ua, ub FROM edges', NULL::uuid), (SELECT count(*) AS edges FROM edges) e GROUP BY edges;
SELECT * FROM connected_components('VALUES (ROW(1, ''x'')::place, ROW(0, ''y'')::place)', NULL::place);
SELECT * FROM connected_components('SELECT a, b FROM edges WHERE false', key => NULL::text);
SELECT component, node, pg_typeof(node) FROM connected_components('VALUES (2::smallint, 1)', NULL::int);
PREPARE untyped_components AS SELECT * FROM connected_components($1, $2) ORDER BY node;
EXECUTE untyped_components('VALUES (2, 1)', NULL);
PREPARE untyped_ranks AS SELECT node, round(rank::numeric, 3) FROM pagerank($1, $2, $3, $4, $5, $6, $7, $8) ORDER BY node;
EXECUTE untyped_ranks('VALUES (2, 1)', 0.85, 'power', true, 1e-9, 10, 1, NULL);
PREPARE untyped_densest AS SELECT * FROM densest_subgraph($1, $2, $3) ORDER BY node;
EXECUTE untyped_densest('VALUES (2, 1)', 2, 'greedy');
SELECT * FROM connected_components('SELECT a, b FROM edges');
SELECT * FROM pagerank('SELECT ua, ub FROM edges');
SELECT * FROM connected_components('SELECT a, ua FROM edges', key => NULL::text);
SELECT * FROM connected_components('SELECT a FROM edges', key => NULL::text);
SELECT * FROM connected_components('SELECT a, b, b FROM edges', key => NULL::text);
SELECT * FROM connected_components('SELECT ua, ub FROM edges', NULL::uuid, 'SELECT NULLIF(uuid, uuid) FROM sets');
SELECT * FROM connected_components('SELECT ua, ub FROM edges', NULL::uuid, 'SELECT id FROM sets');
SET simjoin.memory_limit = '1MB';
SELECT count(*), count(DISTINCT component) FROM connected_components(
  'SELECT md5((i / 2)::text) || repeat(''x'', 200), md5((i / 2 + 1000)::text) || repeat(''x'', 200) FROM generate_series(0, 1999) i', key => NULL::text);
SELECT count(*) FROM connected_components('SELECT md5(i::text)::uuid, md5((i + 1)::text)::uuid FROM generate_series(1, 100000) i', NULL::uuid);
RESET simjoin.memory_limit;

-- A NOTICE names the group by its key.
SET client_min_messages = notice;
SELECT count(*) FROM duplicate_groups('SELECT md5(i::text)::uuid, ARRAY[1] FROM generate_series(1, 200) i', 0.5, NULL::uuid);
SET client_min_messages = warning;
DROP SCHEMA keys_test CASCADE;
