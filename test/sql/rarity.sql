-- Tokens that weigh by their rarity: the measures idf_jaccard and idf_cosine, and tables of weights.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA rarity_test;
SET search_path = rarity_test, public;
SET jit = off;

CREATE TABLE names (id int PRIMARY KEY, side text, name text);
INSERT INTO names
SELECT i, CASE WHEN i % 3 = 0 THEN 'r' ELSE 'l' END,
       concat_ws(' ', 'word' || i % 7, 'name' || i / 4, 'rare' || i / 2, CASE WHEN i % 2 = 0 THEN 'ltd' END, CASE WHEN i % 5 > 1 THEN 'company' END, 'name' || i / 4)
FROM generate_series(1, 150) i;
-- NULL, blank, copies, hostile texts.
INSERT INTO names VALUES (1000, 'l', NULL), (1001, 'r', NULL), (1002, 'l', ''), (1003, 'r', '  '), (1004, 'l', E'ltd\\''";--'), (1005, 'r', E'LTD\\''";--');
INSERT INTO names SELECT 2000 + i, CASE i % 3 WHEN 0 THEN 'r' ELSE 'l' END, 'the same name ltd' FROM generate_series(1, 12) i;
ANALYZE names;
CREATE VIEW sets AS SELECT id, side, token_set(name, 'alnum') AS ints, token_set64(name, 'alnum64') AS bigints, string_to_array(nullif(trim(name), ''), ' ') AS texts, name FROM names;

-- The pairs of rows that a condition selects, one by one, with weights that SQL counts in the rows of both sides.
CREATE FUNCTION pairs(sets text, measure text, condition text, threshold float8) RETURNS TABLE (a bigint, b bigint, similarity float8) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($q$
    WITH s AS MATERIALIZED (SELECT id, side, %1$I AS tokens FROM sets WHERE cardinality(%1$I) > 0),
    df AS MATERIALIZED (SELECT t, (ln((1 + (SELECT count(*) FROM s)::float8) / (1 + count(DISTINCT id))) + 1)::real AS weight FROM s, unnest(tokens) t GROUP BY t),
    w AS MATERIALIZED (SELECT id, side, array_agg(t) AS tokens, array_agg(weight) AS weights FROM (SELECT DISTINCT id, side, t FROM s, unnest(tokens) t) d JOIN df USING (t) GROUP BY id, side)
    SELECT l.id::bigint, r.id::bigint, x FROM w l JOIN w r ON %2$s, LATERAL (SELECT %3$I(l.tokens, l.weights, r.tokens, r.weights) AS x OFFSET 0) y WHERE x >= %4$s
  $q$, sets, condition, replace(measure, 'idf', 'weighted') || '_similarity', threshold);
END $$;
-- Returns how many rows two queries have, and how many rows one of them has alone.
CREATE FUNCTION compared(result text, expected text, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT (SELECT count(*) FROM (%1$s) f), (SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d)', result, expected)
    INTO rows, differences;
END $$;
SELECT n, measure, c.* FROM (VALUES
  (1, 'SELECT a, b, similarity FROM similarity_self_join(''SELECT id, ints FROM sets'', 0.6, measure => ''<m>'')',
   'SELECT * FROM pairs(''ints'', ''<m>'', ''l.id < r.id'', 0.6)'),
  (2, 'SELECT a, b, similarity FROM similarity_self_join(''SELECT id, name FROM names'', 0.6, tokens => ''alnum64'', measure => ''<m>'')',
   'SELECT * FROM pairs(''bigints'', ''<m>'', ''l.id < r.id'', 0.6)'),
  (3, 'SELECT a, b, similarity FROM similarity_join(''SELECT id, texts FROM sets WHERE side = ''''l'''''', ''SELECT id, texts FROM sets WHERE side = ''''r'''''', 0.4, measure => ''<m>'')',
   'SELECT * FROM pairs(''texts'', ''<m>'', ''l.side = ''''l'''' AND r.side = ''''r'''''', 0.4)'),
  (4, 'SELECT a::bigint, b::bigint, similarity FROM similarity_join(''SELECT id::text, name FROM names WHERE side = ''''r'''''', ''SELECT id::text, name FROM names WHERE side = ''''l'''''', 0.4,
         left_key => NULL::text, right_key => NULL::text, tokens => ''alnum'', measure => ''<m>'')',
   'SELECT * FROM pairs(''ints'', ''<m>'', ''l.side = ''''r'''' AND r.side = ''''l'''''', 0.4)'),
  (5, 'SELECT a, b, similarity, rank::bigint FROM similarity_neighbors(''SELECT id, name FROM names WHERE side = ''''l'''''', ''SELECT id, name FROM names WHERE side = ''''r'''''', 2, 0, tokens => ''alnum'', measure => ''<m>'')',
   'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY a ORDER BY similarity DESC, b) AS rank FROM pairs(''ints'', ''<m>'', ''l.side = ''''l'''' AND r.side = ''''r'''''', 1e-9)) r WHERE rank <= 2'),
  (6, 'SELECT a, b, similarity FROM similarity_match(''SELECT id, name FROM names WHERE side = ''''l'''''', ''SELECT id, name FROM names WHERE side = ''''r'''''', 0.3, tokens => ''alnum'', measure => ''<m>'', method => ''best'')',
   'SELECT DISTINCT ON (a) * FROM (SELECT * FROM pairs(''ints'', ''<m>'', ''l.side = ''''l'''' AND r.side = ''''r'''''', 0.3)) p ORDER BY a, similarity DESC, b'),
  (7, 'SELECT id, group_id FROM duplicate_groups(''SELECT id, name FROM names'', 0.6, tokens => ''alnum'', measure => ''<m>'')',
   'SELECT n.id::bigint, coalesce(g.component, n.id) FROM names n LEFT JOIN connected_components(''SELECT a, b FROM pairs(''''ints'''', ''''<m>'''', ''''l.id < r.id'''', 0.6)'') g ON g.node = n.id')
) q(n, result, expected), unnest('{idf_jaccard,idf_cosine}'::text[]) measure,
  compared(replace(result, '<m>', measure), '(' || replace(expected, '<m>', measure) || ')') c ORDER BY measure DESC, n;
-- The same as with weights made before, beyond the memory limit, and with any number of threads.
CREATE TABLE weighed AS SELECT * FROM idf('SELECT id, name FROM names', NULL::int[], tokens => 'alnum');
SELECT threads, c.* FROM unnest('{1,3}'::int[]) threads, set_config('simjoin.cpu_threads', threads::text, false), compared(
  'SELECT a, b, similarity FROM similarity_self_join(''SELECT id, name FROM names'', 0.5, tokens => ''alnum'', measure => ''idf_cosine'')',
  'SELECT a, b, similarity FROM similarity_self_join(''SELECT * FROM weighed'', 0.5, ''weighted_cosine'')') c;
RESET simjoin.cpu_threads;
-- Copies are not joined, but count: without them, all tokens of the name are rarer.
SELECT count(*), count(DISTINCT similarity), round(min(similarity)::numeric, 6) AS least
FROM duplicate_groups('SELECT i, CASE WHEN i < 500 THEN ''a name'' WHEN i = 500 THEN ''a name too'' ELSE ''other '' || i END FROM generate_series(1, 600) i', 0.2,
                      tokens => 'alnum', measure => 'idf_jaccard', max_group_share => 1)
WHERE id = 500;
SELECT round(weighted_jaccard_similarity('{a,name,too}'::text[], ARRAY[a, n, t], '{a,name}'::text[], ARRAY[a, n])::numeric, 6) AS expected
FROM (SELECT (ln(601.0 / 501) + 1)::real AS a, (ln(601.0 / 501) + 1)::real AS n, (ln(601.0 / 2) + 1)::real AS t) w;
-- Two names with copies: the rows that are similar to them have the similarities of the join of all rows.
CREATE TABLE families AS
SELECT i AS id, CASE WHEN i <= 60 THEN 'a name' WHEN i = 61 THEN 'a name too' WHEN i <= 80 THEN 'b thing' WHEN i = 81 THEN 'b thing too' ELSE 'other ' || i END AS name
FROM generate_series(1, 120) i;
SELECT g.id, g.group_id, g.similarity = p.similarity AS same, round(g.similarity::numeric, 4) AS similarity
FROM duplicate_groups('SELECT id, name FROM families', 0.38, tokens => 'alnum', measure => 'idf_jaccard', max_group_share => 1) g
JOIN similarity_self_join('SELECT id, name FROM families', 0.38, tokens => 'alnum', measure => 'idf_jaccard') p ON p.a = g.group_id AND p.b = g.id
WHERE g.id IN (61, 81) ORDER BY g.id;
-- Nothing to join.
SELECT count(*) FROM similarity_join('SELECT 1, NULL::int[]', 'SELECT 1, ''{}''::int[]', 0.5, measure => 'idf_cosine');
SELECT * FROM similarity_join('SELECT 1, ''{7}''::int[] WHERE false', 'SELECT 1, ''{7}''::int[]', 0.5, measure => 'idf_jaccard');

-- A table of weights, for rows that come later.
CREATE MATERIALIZED VIEW word_weights AS SELECT * FROM token_weights('SELECT id, texts FROM rarity_test.sets');
CREATE UNIQUE INDEX ON word_weights (token);
SELECT count(*) AS differences FROM (
  SELECT id, t, w FROM (SELECT id, terms, weights FROM idf('SELECT id, texts FROM rarity_test.sets')) i, unnest(terms, weights) u(t, w)
  EXCEPT SELECT id, t, w FROM sets, unnest(texts, idf_weights(texts, 'word_weights')) u(t, w)) d;
SELECT idf_weights('{ltd,nobody,ltd}'::text[], 'word_weights') = ARRAY[a.weight, b.weight, a.weight] AS as_given, idf_weights('{}'::text[], 'word_weights') AS of_none,
       idf_weights(NULL::text[], 'word_weights') IS NULL AS of_null, b.rows, b.weight = (ln(1 + (SELECT count(*) FROM sets WHERE cardinality(texts) > 0)::float8) + 1)::real AS heaviest
FROM word_weights a, word_weights b WHERE a.token = 'ltd' AND b.token IS NULL;
CREATE MATERIALIZED VIEW piece_weights AS SELECT * FROM token_weights('SELECT id, name FROM rarity_test.names', NULL::int[], tokens => 'shingles(3)');
-- The join operator weighs each row of both sides once.
EXPLAIN (COSTS OFF)
SELECT count(*) FROM names a JOIN names b ON a.id < b.id AND weighted_cosine_similarity(shingles(a.name, 3), idf_weights(shingles(a.name, 3), 'piece_weights'), shingles(b.name, 3), idf_weights(shingles(b.name, 3), 'piece_weights')) >= 0.8;
SELECT * FROM compared(
  'SELECT a.id::bigint, b.id::bigint FROM names a JOIN names b ON a.id < b.id AND weighted_cosine_similarity(shingles(a.name, 3), idf_weights(shingles(a.name, 3), ''piece_weights''), shingles(b.name, 3), idf_weights(shingles(b.name, 3), ''piece_weights'')) >= 0.8',
  'SELECT a, b FROM similarity_self_join(''SELECT id, name FROM names'', 0.8, tokens => ''shingles(3)'', measure => ''idf_cosine'')');
-- A call that comes again sees what has changed meanwhile.
CREATE TABLE few_weights (token bigint UNIQUE, weight numeric);
INSERT INTO few_weights VALUES (1, 2), (2, 0.5);
DO $$
DECLARE
  weights real[];
BEGIN
  FOR i IN 1 .. 4 LOOP
    weights := idf_weights('{1,2}'::bigint[], 'few_weights');
    RAISE WARNING 'round %: %', i, weights;
    IF i > 1 THEN UPDATE few_weights SET weight = weight + 1 WHERE token = 2; END IF;
  END LOOP;
END $$;
-- Every role reads with its own rights.
CREATE ROLE rarity_other;
GRANT USAGE ON SCHEMA rarity_test TO rarity_other;
SET ROLE rarity_other;
SELECT idf_weights('{1}'::bigint[], 'rarity_test.few_weights');
RESET ROLE;
-- Errors.
SELECT idf_weights('{1,3}'::bigint[], 'few_weights');
SELECT idf_weights('{1}'::int[], 'few_weights');
SELECT idf_weights('{1}'::int[], 'names');
ALTER TABLE few_weights DROP CONSTRAINT few_weights_token_key;
INSERT INTO few_weights VALUES (1, 3);
SELECT idf_weights('{1}'::bigint[], 'few_weights');
UPDATE few_weights SET weight = -1;
SELECT idf_weights('{1}'::bigint[], 'few_weights');
SELECT * FROM token_weights('SELECT id, ints FROM rarity_test.sets');
SELECT * FROM similarity_self_join('SELECT * FROM weighed', 0.5, measure => 'idf_cosine');
SELECT create_dedup_view('rarity_view', 'SELECT id, ints FROM rarity_test.sets', 0.5, 'idf_cosine');

DROP SCHEMA rarity_test CASCADE;
DROP ROLE rarity_other;
