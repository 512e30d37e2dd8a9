-- Dedup views of sets with weights, against duplicate_groups.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA view_weights;
SET search_path = view_weights, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar. Some are NULL, empty, or have repeated tokens.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 = 0 THEN NULL WHEN n % 31 = 0 THEN '{}' ELSE
     ARRAY(SELECT n / 3 + j - CASE WHEN n % 5 = 0 AND j = 4 THEN 1 ELSE 0 END FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;
-- Weights of tenths. Some are 0, of all tokens or NULL.
CREATE FUNCTION weights_of(tokens int[], n int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 23 = 0 THEN NULL WHEN n % 19 = 0 THEN array_fill(0::real, ARRAY[coalesce(cardinality(tokens), 0)]) ELSE
     ARRAY(SELECT ((token % 4 + draw(2 + n % 2, n, token)) / 10.0)::real FROM unnest(tokens) token) END $$;
CREATE TABLE docs (id int PRIMARY KEY, priority int, tokens int[], weights real[]);
CREATE FUNCTION add_docs(first int, n int, seed int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO docs SELECT first + i, draw(100, i, seed), tokens_of(t), weights_of(tokens_of(t), draw(60, t, draw(3, i, seed, 2)))
  FROM generate_series(1, n) i, draw(110, i, seed, 1) t $$;
SELECT add_docs(0, 80, 1);
CREATE TABLE views AS SELECT measure || '_' || kind || '_' || method AS view, measure, threshold, method, keep, query, type
FROM (VALUES
  ('weighted_jaccard', 'integers', 'NULL::bigint', 0.6, 'components', 'smallest_id', 'SELECT id, tokens, weights FROM docs'),
  ('weighted_jaccard', 'bigints', 'NULL::bigint', 0.3, 'star', 'first_row', 'SELECT id, tokens::bigint[], weights FROM docs ORDER BY priority, id'),
  ('weighted_jaccard', 'texts', 'NULL::bigint', 1, 'best_link', 'smallest_id', 'SELECT id, tokens::text[], weights FROM docs'),
  ('weighted_jaccard', 'keys', 'NULL::uuid', 0.5, 'star', 'smallest_id', 'SELECT md5(id::text)::uuid, tokens, weights FROM docs'),
  ('weighted_cosine', 'integers', 'NULL::bigint', 0.8, 'star', 'smallest_id', 'SELECT id, tokens, weights FROM docs'),
  ('weighted_cosine', 'bigints', 'NULL::bigint', 0.6, 'components', 'smallest_id', 'SELECT id, tokens::bigint[], weights FROM docs'),
  ('weighted_cosine', 'texts', 'NULL::bigint', 1, 'best_link', 'first_row', 'SELECT id, tokens::text[], weights FROM docs ORDER BY priority, id'),
  ('weighted_cosine', 'keys', 'NULL::text', 0.9, 'best_link', 'first_row', 'SELECT md5(id::text), tokens, weights FROM docs ORDER BY priority, id'))
  v (measure, kind, type, threshold, method, keep, query);
SELECT count(create_dedup_view(view, query, threshold, measure, method, keep, 1)) FROM views;
SELECT groups.*, (SELECT count(*) FROM weighted_jaccard_integers_components) AS rows FROM (SELECT count(*) > 10 AS groups FROM weighted_jaccard_integers_components
  WHERE is_representative) groups;
CREATE FUNCTION differences(v views) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH full_rebuild AS (SELECT * FROM duplicate_groups(%L, %s, %s, measure => %L, method => %L, keep => %L, max_group_share => 1))
    SELECT count(*) FROM ((SELECT id, group_id, is_representative, similarity FROM %I EXCEPT ALL TABLE full_rebuild) UNION ALL (TABLE full_rebuild EXCEPT ALL SELECT id, group_id, is_representative, similarity FROM %I)) d',
    v.query, v.threshold, v.type, v.measure, v.method, v.keep, v.view, v.view) INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, joined bigint, kept bigint, removed bigint, new_pairs bigint, differences bigint);
INSERT INTO refreshes SELECT view, 0, 0, 0, 0, differences(v) FROM views v;
DO $$
DECLARE v views; f record;
BEGIN
  FOR step IN 1 .. 8 LOOP
    DELETE FROM docs WHERE draw(20, id, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(t), weights = weights_of(tokens_of(t), id) FROM draw(150, step, 3) t WHERE draw(20, id, step, 2) = 0;
    UPDATE docs SET weights = weights_of(tokens, draw(60, id, step, 3)) WHERE draw(20, id, step, 4) = 0;
    UPDATE docs SET priority = draw(100, id, step, 5) WHERE draw(10, id, step, 6) = 0;
    PERFORM add_docs(1000 * step, draw(12, step), step + 1);
    IF step = 4 THEN TRUNCATE docs; END IF;
    IF step = 5 THEN PERFORM add_docs(0, 80, 10); END IF;
    FOR v IN SELECT * FROM views LOOP
      SELECT * INTO f FROM refresh_dedup_view(v.view::regclass, step % 3 > 0);
      INSERT INTO refreshes VALUES (v.view, f.new_rows + f.changed_rows, f.rows - f.new_rows - f.changed_rows, f.removed_rows, f.new_pairs, differences(v));
    END LOOP;
  END LOOP;
END $$;
SELECT view, count(*) AS refreshes, sum(differences) AS differences, bool_or(joined > 0 AND kept > 3 * joined) AS little_joined,
       sum(removed) > 10 AS removed, sum(new_pairs) > 5 AS new_pairs
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
-- The stored pairs are those of a join.
SELECT count(*) AS differences FROM weighted_cosine_integers_star_pairs p
FULL JOIN similarity_self_join('SELECT id, tokens, weights FROM docs', 0.8, 'weighted_cosine') j USING (a, b, similarity) WHERE p.a IS NULL OR j.a IS NULL;
SELECT count(*) > 10 AS pairs FROM weighted_cosine_integers_star_pairs;
SELECT count(drop_dedup_view(view::regclass)) FROM views;

-- What a refresh joins: weights alone may change, and the order of tokens counts for nothing but the fingerprint.
CREATE TABLE bags (id int PRIMARY KEY, tokens text[], weights real[]);
INSERT INTO bags VALUES (1, '{a,b,c}', '{1,2,3}'), (2, '{a,b,c}', '{1,2,4}'), (3, '{c,d}', '{3,1}'), (4, '{a,e}', '{1,9}'), (5, NULL, '{1,2}'), (6, '{a}', NULL);
SELECT create_dedup_view('bag_groups', 'SELECT id, tokens, weights FROM bags', 0.6, 'weighted_jaccard');
SELECT * FROM bag_groups ORDER BY id;
UPDATE bags SET weights = '{2,9}' WHERE id = 4;
SELECT * FROM refresh_dedup_view('bag_groups');
UPDATE bags SET weights = '{1,2,30}' WHERE id = 2;
SELECT * FROM refresh_dedup_view('bag_groups');
UPDATE bags SET weights = '{2,1,30}', tokens = '{b,a,c}' WHERE id = 2;
INSERT INTO bags VALUES (7, '{c,c,b,a}', '{20,10,2,1}');
UPDATE bags SET weights = NULL WHERE id = 5;
UPDATE bags SET weights = '{1}' WHERE id = 6;
SELECT * FROM refresh_dedup_view('bag_groups');
SELECT * FROM bag_groups ORDER BY id;
SELECT * FROM refresh_dedup_view('bag_groups');
-- Weights that are stored out of line, and a domain over their type.
CREATE DOMAIN shares AS real[];
CREATE TABLE wide (id int PRIMARY KEY, tokens int[], weights shares);
ALTER TABLE wide ALTER weights SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, ARRAY(SELECT generate_series(1, 3000)), array_fill((i / 2)::real, ARRAY[3000]) FROM generate_series(1, 9) i;
SELECT create_dedup_view('wide_groups', 'SELECT id, tokens, weights FROM wide', 0.95, 'weighted_jaccard', max_group_share => 1);
UPDATE wide SET weights[3000] = 100 WHERE id = 9;
SELECT rows, changed_rows, new_pairs FROM refresh_dedup_view('wide_groups');
SELECT id, group_id FROM wide_groups ORDER BY id;
-- A similarity exactly at the threshold, of weights of tenths.
CREATE VIEW tenths AS SELECT 1 AS id, '{1,2,3}'::int[] AS tokens, '{0.1,0.1,0.1}'::real[] AS weights UNION ALL SELECT 2, '{3,2}', '{0.1,0.1}';
SELECT create_dedup_view('tenth_groups', 'TABLE tenths', weighted_jaccard_similarity('{1,2,3}'::int[], '{0.1,0.1,0.1}'::real[], '{3,2}'::int[], '{0.1,0.1}'::real[]),
  'weighted_jaccard');
SELECT * FROM tenth_groups ORDER BY id;

-- Weights are checked as in duplicate_groups, in a view's first rows and in changed ones.
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RETURN format(E'%s %s\nHINT: %s', SQLSTATE, SQLERRM, hint);
END $$;
CREATE FUNCTION without_function(message text) RETURNS text LANGUAGE sql AS
$$ SELECT regexp_replace(message, '(create_dedup_view|refresh_dedup_view|duplicate_groups)', 'FUNCTION', 'g') $$;
CREATE FUNCTION with_bag(tokens text, weights text, OUT told text, OUT refresh_tells_it boolean, OUT groups_tell_it boolean) LANGUAGE plpgsql AS $$
DECLARE query text := 'SELECT id, tokens, weights FROM bags';
BEGIN
  EXECUTE format('INSERT INTO bags VALUES (100, %s, %s)', tokens, weights);
  told := without_function(told(format('SELECT create_dedup_view(''bad'', %L, 0.6, ''weighted_cosine'')', query)));
  refresh_tells_it := without_function(told('SELECT refresh_dedup_view(''bag_groups'')')) = told;
  groups_tell_it := without_function(told(format('SELECT count(*) FROM duplicate_groups(%L, 0.6, ''weighted_cosine'')', query))) = told;
  RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  NULL;
END $$;
SELECT b.* FROM (VALUES
  ('''{a,b}''', '''{1,NaN}'''), ('''{a,b}''', '''{Infinity,1}'''), ('''{a,b}''', '''{-1,1}'''), ('''{a,b}''', '''{1}'''), ('''{a,b}''', '''{}'''), ('''{}''', '''{1}'''),
  ('''{a,b}''', '''{1,NULL}'''), ('''{a,b}''', '''{{1,2}}'''), ('''{a,NULL}''', '''{1,2}'''), ('''{{a},{b}}''', '''{1,2}'''),
  ('''{}''', '''{}'''), ('''{a,b}''', '''{-0,3.4e38}''')) v (tokens, weights), with_bag(tokens, weights) b;
-- Errors of the query, the measure and the threshold.
SELECT create_dedup_view('bad', 'SELECT id, tokens FROM bags', 0.6, 'weighted_jaccard');
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights::float8[] FROM bags', 0.6, 'weighted_jaccard');
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights, 1 FROM bags', 0.6, 'weighted_jaccard');
SELECT create_dedup_view('bad', 'SELECT id, weights, tokens FROM bags', 0.6, 'weighted_jaccard');
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights FROM bags', 0.6);
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights FROM bags', 1.1, 'weighted_cosine');
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights FROM bags', 0, 'weighted_jaccard');
SELECT create_dedup_view('bad', 'SELECT id, tokens, weights FROM bags', 0.6, 'weighted');
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'bad%';
-- The query of a view may be replaced. A view that tracks changes cannot be made by hand, either.
CREATE OR REPLACE VIEW bag_groups_source AS SELECT id, tokens, weights, 1 AS more FROM bags;
SELECT refresh_dedup_view('bag_groups');
DROP MATERIALIZED VIEW bag_groups;
SELECT relname FROM pg_class WHERE relname LIKE 'bag_groups%' AND relnamespace = 'view_weights'::regnamespace;
CREATE VIEW query AS SELECT id, tokens, weights FROM bags;
CREATE TABLE prints (id bigint, fingerprint uuid, size int, prefix int[]);
CREATE TABLE pairs (a bigint, b bigint, similarity float8);
CREATE TABLE changes (first_id bigint, last_id bigint);
CREATE TABLE orders (rows bigint, ordered_rows bigint, frequent int[]);
CREATE MATERIALIZED VIEW forged AS SELECT id, group_id, is_representative, similarity FROM dedup_view_groups('query', 'prints', 'pairs', 'changes', 'orders',
  '0.5', 'weighted_jaccard', 'components', 'smallest_id', '0.1') WITH NO DATA;
REFRESH MATERIALIZED VIEW forged;
SELECT refresh_dedup_view('forged');
-- Words that weigh by their rarity: the weights of all rows change with each row.
CREATE TABLE notes (id int PRIMARY KEY, body text);
INSERT INTO notes SELECT i, 'the words of note ' || i / 2 || ' are ' || i / 2 * 7 || ' ' || i / 2 * 11 FROM generate_series(1, 40) i;
SELECT create_dedup_view('note_groups', $$SELECT * FROM idf('SELECT id, body FROM view_weights.notes', tokens => 'words')$$, 0.9, 'weighted_jaccard');
DELETE FROM notes WHERE id = 2;
SELECT rows, new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('note_groups');
SELECT count(*) AS rows, count(*) FILTER (WHERE is_representative) AS groups FROM note_groups;
DROP SCHEMA view_weights CASCADE;
