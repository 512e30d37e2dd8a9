-- Jaro and Jaro-Winkler similarities of texts, and joins by them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA jaro_test;
SET search_path = jaro_test, public;

-- The examples of Winkler's papers.
SELECT a, b, round(jaro_similarity(a, b)::numeric, 3) AS jaro, round(jaro_winkler_similarity(a, b)::numeric, 3) AS winkler
FROM (VALUES ('MARTHA', 'MARHTA'), ('DIXON', 'DICKSONX'), ('DWAYNE', 'DUANE'), ('SHACKLEFORD', 'SHACKELFORD'), ('JON', 'JAN'), ('', ''), ('', 'a'), ('a', 'a'), ('ab', 'ba')) p (a, b);
SELECT jaro_similarity(NULL, 'a') IS NULL AS null_left, jaro_winkler_similarity('a', NULL) IS NULL AS null_right;
-- Characters count, and not bytes. Winkler's prefix counts above 0.7 alone, and up to four characters.
SELECT jaro_similarity('Müller', 'Mueller') AS accent, jaro_winkler_similarity('相似的', '相似') AS chinese, jaro_similarity(U&'e\0301', 'é') AS mark,
       jaro_winkler_similarity('abcx', 'abyz') = jaro_similarity('abcx', 'abyz') AS below, jaro_winkler_similarity('abcdefgh', 'abcdefxy') AS four;
SELECT jaro_keys('anna'), jaro_keys(''), jaro_keys('é') = jaro_keys(U&'\00e9') AS same;

CREATE TABLE people (id int PRIMARY KEY, grp int, t text);
SELECT setseed(0.7);
INSERT INTO people
SELECT i, i % 5, CASE i % 4 WHEN 0 THEN overlay(t placing 'q' from p for 1) WHEN 1 THEN overlay(t placing substr(t, p + 1, 1) || substr(t, p, 1) from p for 2)
                            WHEN 2 THEN overlay(t placing '' from p for 1) ELSE t END
FROM (SELECT i, 2 + (random() * 8)::int AS p,
             (ARRAY['Anna Schmidt ' || i / 12, 'Jürgen Groß ' || i / 12, '相似的字符串 ' || i / 12, md5((i / 12)::text)])[1 + i / 6 % 4] AS t
      FROM generate_series(1, 150) i) s;
INSERT INTO people VALUES (301, 0, ''), (302, 1, 'a'), (303, 2, NULL), (304, 0, ''), (305, 1, repeat('long ', 70)), (306, 2, repeat('long ', 69) || 'ling');
ANALYZE people;

-- A join finds candidates by characters in common, and the condition decides. Other plans are off, since the table is small.
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM people a JOIN people b ON a.id < b.id AND jaro_winkler_similarity(a.t, b.t) >= 0.9;
CREATE FUNCTION same_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan text := '';
  line text;
  joined text;
  looped text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO joined;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO looped;
  SET LOCAL simjoin.enable_join = on;
  RETURN CASE WHEN plan ~ 'SetSimilarityJoin' THEN 'taken, ' ELSE 'not taken, ' END
         || CASE WHEN joined = looped THEN split_part(joined, ' ', 1) || ' rows' ELSE 'other rows: ' || joined || ' and ' || looped END;
END $$;
SELECT c, same_rows('SELECT a.id, b.id AS other FROM people a JOIN people b ON a.id <> b.id AND ' || c)
FROM unnest(ARRAY['jaro_similarity(a.t, b.t) >= 0.75', 'jaro_similarity(a.t, b.t) > 0.9', '0.9 < jaro_similarity(b.t, a.t)', 'jaro_similarity(a.t, b.t) = 1', 'jaro_similarity(a.t, b.t) >= 1',
  'jaro_similarity(a.t, b.t) > 1', 'jaro_winkler_similarity(a.t, b.t) >= 0.85', 'jaro_winkler_similarity(a.t, b.t) >= 0.9', '0.95::float4 <= jaro_winkler_similarity(a.t, b.t)',
  'jaro_winkler_similarity(a.t, b.t)::numeric >= 0.9', '1 - jaro_winkler_similarity(a.t, b.t) <= 0.1', 'jaro_winkler_similarity(upper(a.t), upper(b.t::varchar)) >= 0.9',
  'jaro_winkler_similarity(a.t, b.t) >= 0.9 AND a.grp = b.grp', '(jaro_winkler_similarity(a.t, b.t) >= 0.95 OR edit_distance(a.t, b.t) <= 1)',
  '0.7 * jaro_winkler_similarity(a.t, b.t) + 0.3 * jaccard_similarity(a.t, b.t, ''shingles(3)'') >= 0.9', 'jaro_winkler_similarity(a.t, b.t) >= (SELECT 0.9)']) c;
SELECT same_rows('SELECT a.id, b.id AS other FROM people a LEFT JOIN (SELECT * FROM people WHERE grp > 0) b ON a.id <> b.id AND jaro_similarity(a.t, b.t) >= 0.95') AS left_join,
       same_rows('SELECT id FROM people a WHERE EXISTS (SELECT FROM people b WHERE a.id <> b.id AND jaro_winkler_similarity(a.t, b.t) >= 0.97)') AS semi_join,
       same_rows('SELECT id FROM people a WHERE NOT EXISTS (SELECT FROM people b WHERE a.id <> b.id AND jaro_winkler_similarity(a.t, b.t) >= 0.97)') AS anti_join;

-- A parameter may be the bound, also of a plan for all parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE alike(float8) AS SELECT count(*) FROM people a JOIN people b ON a.id < b.id AND jaro_winkler_similarity(a.t, b.t) >= $1;
EXPLAIN (COSTS OFF) EXECUTE alike(0.9);
CREATE FUNCTION same_counts() RETURNS TABLE (bound float8, pairs bigint, same bool) LANGUAGE plpgsql AS $$
BEGIN
  FOREACH bound IN ARRAY ARRAY[-1e308, -1, 0, 0.5, 0.8, 0.9, 1, 2, 1e308, 'Infinity', 'NaN', NULL] LOOP
    EXECUTE 'EXECUTE alike(' || coalesce(quote_literal(bound), 'NULL') || ')' INTO pairs;
    SELECT count(*) = pairs INTO same FROM people a, people b WHERE a.id < b.id AND jaro_winkler_similarity(a.t, b.t) + 0 * a.id * b.id >= bound;
    RETURN NEXT;
  END LOOP;
END $$;
SET enable_nestloop = on;
SELECT * FROM same_counts();
RESET plan_cache_mode;

-- Conditions of other forms are nested loops, and EXPLAIN says why.
CREATE FUNCTION reason(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*) FROM people a JOIN people b ON a.id <> b.id AND ' || condition LOOP
    IF line ~ 'SetSimilarityJoin|Not Used' THEN RETURN line; END IF;
  END LOOP;
  RETURN 'neither';
END $$;
SELECT c, reason(c)
FROM unnest(ARRAY['jaro_winkler_similarity(a.t, b.t) >= 0.84', 'jaro_similarity(a.t, b.t) >= 0.74', 'jaro_similarity(a.t, b.t) < 0.9', 'jaro_similarity(a.t, b.t) >= a.grp',
  'sqrt(jaro_similarity(a.t, b.t)) >= 0.9']) c;
DROP SCHEMA jaro_test CASCADE;
