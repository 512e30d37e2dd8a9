-- Matches of the rows of two tables: best_matches over pairs, similarity_match over sets.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA matching_test;
SET search_path = matching_test, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
CREATE FUNCTION differences(query text, expected text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH found AS MATERIALIZED (%s), expected AS MATERIALIZED (%s)
                  SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE found)) d',
                 query, expected) INTO result;
  RETURN result;
END $$;

-- What each method keeps of the same pairs.
CREATE TABLE few (a int, b int, similarity float8);
INSERT INTO few VALUES (1, 1, 0.9), (1, 2, 0.8), (2, 1, 0.8), (3, 1, 0.9), (3, 4, 0.5), (4, 4, 0.5), (5, 5, 0);
SELECT method, array_agg(a || '-' || b ORDER BY a) AS matches, sum(similarity)
FROM unnest('{best,mutual,one_to_one,assignment}'::text[]) method, best_matches('TABLE few', method) GROUP BY method ORDER BY method;
-- The method is best unless it is given; the similarity is any number; the same id on both sides is two rows.
SELECT * FROM best_matches('SELECT a, b, similarity::numeric FROM few WHERE a < 3');
SELECT * FROM best_matches('VALUES (1::smallint, 1::bigint, 2), (1, 2, 3), (9223372036854775807, -9223372036854775808, 1)', 'one_to_one');
SELECT * FROM best_matches('SELECT a, b, similarity::real FROM few WHERE false', 'assignment');
-- The similarities of other components do not count, however large.
SELECT * FROM best_matches('VALUES (1, 1, 1e30::float8), (2, 2, 1e-10), (3, 3, 0.9)', 'assignment');
-- Of a repeated pair the greatest similarity counts.
SELECT method, a, b, similarity
FROM unnest('{best,mutual,one_to_one,assignment}'::text[]) method, best_matches('VALUES (1, 1, 0.5), (1, 1, 0.75), (1, 1, 0.25)', method);

-- Random pairs with many ties, against plain SQL.
CREATE TABLE pairs AS
SELECT draw(60, i, 1) - 20 AS a, draw(60, i, 2) * 1000000007::bigint AS b, draw(8, i, 3) / 8.0::float8 AS similarity FROM generate_series(1, 200) i;
CREATE FUNCTION greedy(a int[], b bigint[], similarity float8[]) RETURNS TABLE (left_id bigint, right_id bigint, kept float8) LANGUAGE plpgsql AS $$
DECLARE taken_a int[] = '{}'; taken_b bigint[] = '{}';
BEGIN
  FOR i IN 1 .. cardinality(a) LOOP
    CONTINUE WHEN a[i] = ANY (taken_a) OR b[i] = ANY (taken_b);
    taken_a = taken_a || a[i];
    taken_b = taken_b || b[i];
    RETURN QUERY SELECT a[i]::bigint, b[i], similarity[i];
  END LOOP;
END $$;
CREATE VIEW best_of_left AS SELECT DISTINCT ON (a) a::bigint, b, similarity FROM pairs ORDER BY a, similarity DESC, b;
CREATE VIEW best_of_right AS SELECT DISTINCT ON (b) a::bigint, b, similarity FROM pairs ORDER BY b, similarity DESC, a;
SELECT differences($$SELECT * FROM best_matches('TABLE pairs', 'best')$$, 'TABLE best_of_left') AS best,
       differences($$SELECT * FROM best_matches('TABLE pairs', 'mutual')$$, 'TABLE best_of_left INTERSECT TABLE best_of_right') AS mutual,
       differences($$SELECT * FROM best_matches('TABLE pairs', 'one_to_one')$$,
                   $$SELECT g.* FROM (SELECT array_agg(a ORDER BY similarity DESC, a, b) AS a, array_agg(b ORDER BY similarity DESC, a, b) AS b,
                                             array_agg(similarity ORDER BY similarity DESC, a, b) AS s FROM pairs) p, greedy(a, b, s) g$$) AS one_to_one;
-- An assignment is one-to-one, of pairs, and no other way to match the rows has a greater sum.
SELECT count(*) > 30 AS many, count(*) = count(DISTINCT a) AND count(*) = count(DISTINCT b) AS one_to_one,
       bool_and(EXISTS (SELECT FROM pairs p WHERE (p.a, p.b, p.similarity) = (m.a, m.b, m.similarity))) AS pairs,
       sum(similarity) > (SELECT sum(similarity) FROM best_matches('TABLE pairs', 'one_to_one')) AS more_than_greedy
FROM best_matches('TABLE pairs', 'assignment') m;
CREATE TABLE small AS SELECT block, draw(4, i, 4) AS a, draw(4, block, i, 5) AS b, draw(6, block, i, 6) / 5.0::float8 AS similarity
FROM generate_series(1, 40) block, generate_series(1, 9) i;
WITH RECURSIVE matchings AS (
  SELECT block, 0 AS a, '{}'::int[] AS taken, 0::float8 AS total FROM (SELECT DISTINCT block FROM small) blocks
  UNION ALL SELECT m.block, m.a + 1, taken || coalesce(s.b, -1), total + coalesce(s.similarity, 0)
  FROM matchings m, LATERAL (SELECT b, similarity FROM small s WHERE s.block = m.block AND s.a = m.a AND b <> ALL (taken) UNION ALL SELECT NULL, NULL) s
  WHERE m.a < 4),
  greatest AS (SELECT block, max(total) AS total FROM matchings GROUP BY block),
  found AS (SELECT a / 10 AS block, sum(similarity) AS total FROM best_matches('SELECT block * 10 + a, block * 10 + b, similarity FROM small', 'assignment') GROUP BY 1)
SELECT count(*) AS blocks, count(*) FILTER (WHERE abs(g.total - coalesce(f.total, 0)) > 1e-9) AS differences FROM greatest g LEFT JOIN found f USING (block);

-- Neither the order of the pairs nor the number of threads matters.
CREATE FUNCTION matched(method text, query text, threads int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('simjoin.cpu_threads', threads::text, true);
  RETURN (SELECT md5(string_agg(m::text, ';')) FROM best_matches(query, method) m);
END $$;
SELECT method, count(DISTINCT matched(method, 'SELECT * FROM pairs ORDER BY ' || place, threads)) AS results
FROM unnest('{best,mutual,one_to_one,assignment}'::text[]) method, unnest('{"a, b","b DESC, a","similarity, md5(a::text)"}'::text[]) place,
  unnest('{1,2}'::int[]) threads GROUP BY method ORDER BY method;
RESET simjoin.cpu_threads;

-- Ids of any type, of a type for each side. Ties follow their order.
CREATE FUNCTION by_key(method text) RETURNS bigint LANGUAGE sql AS $$
  SELECT differences(format('SELECT ascii(a)::bigint - 64, to_number(b::text, ''9999'')::bigint, similarity
                             FROM best_matches(''SELECT chr(a + 64) COLLATE "C", lpad(b::text, 4, ''''0'''')::numeric, similarity FROM few'', NULL::text, NULL::numeric, %L)', method),
                     format('SELECT * FROM best_matches(''TABLE few'', %L)', method)) $$;
SELECT method, by_key(method) FROM unnest('{best,mutual,one_to_one,assignment}'::text[]) method;
SELECT pg_typeof(a), pg_typeof(b), a, b FROM best_matches('SELECT a, md5(b::text)::uuid, 1 FROM few WHERE a < 3', left_key => NULL::int, right_key => NULL::uuid);
SELECT pg_typeof(a), pg_typeof(b), a, b FROM best_matches($$VALUES ('x'::varchar, 2::smallint, 1), ('x', 1, 1)$$, NULL::text, NULL::bigint, 'mutual');

-- similarity_match: the matches among the pairs of similarity_join.
CREATE TABLE lefts AS
SELECT i AS id, ARRAY(SELECT DISTINCT draw(40, i, j, 7) FROM generate_series(1, 3 + i % 6) j ORDER BY 1) AS tokens FROM generate_series(-20, 120) i;
CREATE TABLE rights AS
SELECT i AS id, ARRAY(SELECT DISTINCT draw(40, i, j, 8) FROM generate_series(1, 3 + i % 5) j ORDER BY 1) AS tokens FROM generate_series(1, 90) i;
SELECT method, measure, differences(
  format('SELECT * FROM similarity_match(''TABLE lefts'', ''TABLE rights'', %s, %L, %L)', threshold, measure, method),
  format('SELECT * FROM best_matches(%L, %L)',
         format('SELECT * FROM similarity_join(''TABLE lefts'', ''TABLE rights'', %s, %L)', threshold, measure), method))
FROM (VALUES ('jaccard', 0.2), ('overlap', 2), ('containment', 0.5)) m (measure, threshold), unnest('{best,mutual,one_to_one,assignment}'::text[]) method
ORDER BY measure, method;
SELECT count(*) > 80 AS many FROM similarity_match('TABLE lefts', 'TABLE rights', 0.1);
-- Texts, keys, both, weights.
SELECT * FROM similarity_match('VALUES (1, ''a b c''), (2, ''a b'')', 'VALUES (7, ''a b c d''), (8, ''a b'')', 0.3, tokens => 'words', method => 'one_to_one');
SELECT * FROM similarity_match('VALUES (''x''::text, ARRAY[1, 2]), (''y'', ARRAY[1])', 'VALUES (''2020-01-01''::date, ARRAY[1]), (''2019-01-01'', ARRAY[1])', 0.5,
                               left_key => NULL::text, right_key => NULL::date, method => 'assignment');
SELECT * FROM similarity_match('VALUES (''x''::text, ''a b''), (''y'', ''a c'')', 'VALUES (1, ''a b'')', 0.3,
                               left_key => NULL::text, right_key => NULL::int, tokens => 'words', method => 'mutual', measure => 'dice');
SELECT * FROM similarity_match('VALUES (1, ARRAY[1, 2], ARRAY[3, 1]::real[])', 'VALUES (1, ARRAY[1], ARRAY[1]::real[]), (2, ARRAY[1, 3], ARRAY[3, 1]::real[])', 0.1,
                               'weighted_jaccard', 'one_to_one');
-- Calls without types are calls for integers and sets.
PREPARE untyped AS SELECT * FROM similarity_match($1, $2, $3, $4, $5);
EXECUTE untyped('VALUES (1, ARRAY[1])', 'VALUES (2, ARRAY[1])', 0.5, 'cosine', 'mutual');
DEALLOCATE untyped;
PREPARE untyped AS SELECT * FROM best_matches($1, $2);
EXECUTE untyped('VALUES (1, 2, 0.5)', 'assignment');
DEALLOCATE untyped;

-- NULL arguments are errors.
SELECT * FROM best_matches(NULL);
SELECT * FROM best_matches('TABLE few', NULL::int, NULL::int, NULL);
SELECT * FROM similarity_match('TABLE lefts', NULL, 0.5);
SELECT * FROM similarity_match('TABLE lefts', 'TABLE rights', NULL, NULL::int, NULL::int);

-- The rights of the caller, and the memory limit.
CREATE ROLE regress_simjoin_matcher;
GRANT USAGE ON SCHEMA matching_test TO regress_simjoin_matcher;
SET ROLE regress_simjoin_matcher;
SELECT * FROM best_matches('SELECT * FROM matching_test.few');
RESET ROLE;
DROP OWNED BY regress_simjoin_matcher;
DROP ROLE regress_simjoin_matcher;
SET simjoin.memory_limit = '2MB';
SELECT count(*) FROM best_matches('SELECT i / 1000, i % 1000, 1 FROM generate_series(1, 200000) i');
SELECT count(*) FROM best_matches('SELECT i / 1000, i % 1000, 1 FROM generate_series(1, 200000) i', 'one_to_one');
SELECT count(*) FROM best_matches('SELECT i / 1000, i % 1000, 1 FROM generate_series(1, 200000) i', 'assignment');
SELECT count(*) FROM best_matches('SELECT i / 1000, (i % 1000)::numeric, 1 FROM generate_series(1, 200000) i', NULL::int, NULL::numeric);
SELECT count(*) FROM similarity_match('SELECT i, ARRAY[1] FROM generate_series(1, 500) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 500) i', 0.5, method => 'one_to_one');
RESET simjoin.memory_limit;

-- Errors.
SELECT * FROM best_matches('TABLE few', 'greedy');
SELECT * FROM best_matches('SELECT a, b FROM few');
SELECT * FROM best_matches('SELECT a::text, b, similarity FROM few');
SELECT * FROM best_matches('SELECT a, b, similarity::text FROM few');
SELECT * FROM best_matches('SELECT a, b, similarity::text FROM few', NULL::int, NULL::int);
SELECT * FROM best_matches('SELECT a, b, similarity FROM few', NULL::uuid, NULL::int);
SELECT * FROM best_matches('SELECT a, ''()''::point, similarity FROM few', NULL::int, NULL::point);
SELECT * FROM best_matches('VALUES (1, NULL::int, 1)');
SELECT * FROM best_matches('VALUES (NULL::text, 2, 1)', NULL::text, NULL::int);
SELECT * FROM best_matches('VALUES (1, 2, NULL::real)');
SELECT * FROM best_matches('VALUES (1, 2, -0.5)');
SELECT * FROM best_matches('VALUES (1, 2, ''NaN''::numeric)', 'assignment');
SELECT * FROM best_matches('VALUES (1, 2, ''Infinity''::real)', 'one_to_one');
SELECT * FROM best_matches('few');
SELECT * FROM best_matches('DELETE FROM few RETURNING a, b, similarity');
SELECT * FROM similarity_match('TABLE lefts', 'TABLE rights', 0.5, 'euclid');
SELECT * FROM similarity_match('TABLE lefts', 'TABLE rights', 0.5, method => 'all');
SELECT * FROM similarity_match('TABLE lefts', 'TABLE rights', 0);
SELECT * FROM similarity_match('TABLE lefts', 'TABLE few', 0.5);
SELECT * FROM similarity_match('VALUES (1, ARRAY[1]), (1, ARRAY[2])', 'TABLE rights', 0.5);
SELECT * FROM similarity_match('TABLE lefts', 'VALUES (''x''::text, ARRAY[1]), (''x'', ARRAY[2])', 0.5, NULL::int, NULL::text);
SELECT * FROM similarity_match('TABLE lefts', 'TABLE rights', 0.5, NULL::text, NULL::text);
DROP SCHEMA matching_test CASCADE;
