-- Dedup views of sets with weights that track changes, against duplicate_groups.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA tracked_weights;
SET search_path = tracked_weights, public;
CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Tokens that follow from a small number: sets of near numbers are similar. Some are NULL, empty, or have repeated tokens.
CREATE FUNCTION tokens_of(n int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 29 = 0 THEN NULL WHEN n % 31 = 0 THEN '{}' ELSE
     ARRAY(SELECT n / 3 + j - CASE WHEN n % 5 = 0 AND j = 4 THEN 1 ELSE 0 END FROM generate_series(1, 8) j WHERE draw(7, n, j) > 0) END $$;
-- Weights of tenths, of very different sums. Some are 0, of all tokens or NULL.
CREATE FUNCTION weights_of(tokens int[], n int) RETURNS real[] LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN n % 23 = 0 THEN NULL WHEN n % 19 = 0 THEN array_fill(0::real, ARRAY[coalesce(cardinality(tokens), 0)]) ELSE
     ARRAY(SELECT ((token % 4 + draw(2 + n % 2, n, token)) / 10.0 * 10 ^ (n % 3 * 3))::real FROM unnest(tokens) token) END $$;
CREATE TABLE docs (id int PRIMARY KEY, key uuid UNIQUE, priority int, tokens int[], weights real[], words text[] GENERATED ALWAYS AS (tokens::text[]) STORED);
CREATE FUNCTION add_docs(first int, n int, seed int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO docs SELECT first + i, md5((first + i)::text)::uuid, draw(100, i, seed), tokens_of(t), weights_of(tokens_of(t), draw(60, t, draw(3, i, seed, 2)))
  FROM generate_series(1, n) i, draw(900, i, seed, 1) t $$;
SELECT add_docs(0, 500, 1);
CREATE TABLE views AS SELECT measure || '_' || kind || '_' || method AS view, measure, threshold, method, keep, query, type
FROM (VALUES
  ('weighted_jaccard', 'integers', 'NULL::bigint', 0.6, 'components', 'smallest_id', 'SELECT id, tokens, weights FROM docs'),
  ('weighted_jaccard', 'low', 'NULL::bigint', 0.05, 'star', 'smallest_id', 'SELECT id, tokens, weights FROM docs WHERE priority > 50'),
  ('weighted_jaccard', 'bigints', 'NULL::bigint', 0.3, 'star', 'first_row', 'SELECT id, tokens::bigint[], weights FROM docs ORDER BY priority, id'),
  ('weighted_jaccard', 'texts', 'NULL::bigint', 1, 'best_link', 'smallest_id', 'SELECT id, words, weights FROM docs'),
  ('weighted_jaccard', 'keys', 'NULL::uuid', 0.5, 'star', 'first_row', 'SELECT key, tokens, weights FROM docs ORDER BY priority, id'),
  ('weighted_cosine', 'integers', 'NULL::bigint', 0.8, 'star', 'smallest_id', 'SELECT id, tokens, weights FROM docs'),
  ('weighted_cosine', 'bigints', 'NULL::bigint', 0.6, 'components', 'smallest_id', 'SELECT id, tokens::bigint[], weights FROM docs'),
  ('weighted_cosine', 'texts', 'NULL::bigint', 1, 'best_link', 'first_row', 'SELECT id, words, weights FROM docs ORDER BY priority, id'),
  ('weighted_cosine', 'keys', 'NULL::uuid', 0.9, 'best_link', 'smallest_id', 'SELECT key, words, weights FROM docs WHERE priority > 5'))
  v (measure, kind, type, threshold, method, keep, query);
SELECT count(create_dedup_view(view, query, threshold, measure, method, keep, 1, track_changes => true)) FROM views;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid IN ('weighted_jaccard_integers_components_rows'::regclass, 'weighted_cosine_keys_best_link_rows'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text COLLATE "C", attnum;
-- The rows that only one of a view and a new one has, and how many pairs it has more or fewer than a join.
CREATE FUNCTION differences(v views) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
  EXECUTE format('WITH full_rebuild AS (SELECT * FROM duplicate_groups(%1$L, %2$s, %3$s, measure => %4$L, method => %5$L, keep => %6$L, max_group_share => 1)),
    new_pairs AS (SELECT similarity FROM similarity_self_join(%1$L, %2$s, %3$s, measure => %4$L)), pairs AS (SELECT similarity FROM %8$I)
    SELECT (SELECT count(*) FROM ((SELECT id, group_id, is_representative, similarity FROM %7$I EXCEPT ALL TABLE full_rebuild) UNION ALL (TABLE full_rebuild EXCEPT ALL SELECT id, group_id, is_representative, similarity FROM %7$I)) d)
         + (SELECT count(*) FROM ((TABLE pairs EXCEPT ALL TABLE new_pairs) UNION ALL (TABLE new_pairs EXCEPT ALL TABLE pairs)) d)',
    v.query, v.threshold, v.type, v.measure, v.method, v.keep, v.view, v.view || '_pairs') INTO result;
  RETURN result;
END $$;
CREATE TABLE refreshes (view text, step int, joined bigint, rows bigint, read_rows bigint, removed bigint, new_pairs bigint, differences bigint);
INSERT INTO refreshes SELECT view, 0, 0, 0, 0, 0, 0, differences(v) FROM views v;
DO $$
DECLARE v views; f record;
BEGIN
  FOR step IN 1 .. 8 LOOP
    DELETE FROM docs WHERE draw(100, id, step, 1) = 0;
    UPDATE docs SET tokens = tokens_of(t), weights = weights_of(tokens_of(t), id) FROM draw(900, step, 3) t WHERE draw(100, id, step, 2) = 0;
    UPDATE docs SET weights = weights_of(tokens, draw(60, id, step, 3)) WHERE draw(60, id, step, 4) = 0;
    UPDATE docs SET priority = draw(100, id, step, 5) WHERE draw(60, id, step, 6) = 0;
    UPDATE docs SET key = md5(step || 'k' || id)::uuid WHERE draw(100, id, step, 7) = 0;
    PERFORM add_docs(1000 * step, draw(12, step), step + 1);
    IF step = 4 THEN TRUNCATE docs; END IF;
    IF step = 5 THEN PERFORM add_docs(0, 500, 10); END IF;
    FOR v IN SELECT * FROM views LOOP
      SELECT * INTO f FROM refresh_dedup_view(v.view::regclass, step % 3 > 0);
      INSERT INTO refreshes VALUES (v.view, step, f.new_rows + f.changed_rows, f.rows, f.read_rows, f.removed_rows, f.new_pairs, differences(v));
    END LOOP;
  END LOOP;
END $$;
SELECT view, count(*) AS refreshes, sum(differences) AS differences, array_agg(step ORDER BY step) FILTER (WHERE read_rows >= rows AND step > 0) AS full_ones,
       sum(removed) > 10 AS removed, sum(new_pairs) > 5 AS new_pairs
FROM refreshes GROUP BY view ORDER BY view COLLATE "C";
SELECT count(drop_dedup_view(view::regclass)) FROM views;

-- What a refresh joins: weights alone may change. Rows whose weights are all 0 or NULL are like no other.
CREATE TABLE bags (id int PRIMARY KEY, tokens text[], weights real[]);
INSERT INTO bags VALUES (1, '{a,b,c}', '{1,2,3}'), (2, '{a,b,c}', '{1,2,4}'), (3, '{c,d}', '{3,1}'), (4, '{a,e}', '{1,9}'), (5, NULL, '{1,2}'), (6, '{a}', NULL), (7, '{a}', '{0}');
SELECT create_dedup_view('bag_groups', 'SELECT id, tokens, weights FROM bags', 0.6, 'weighted_jaccard', track_changes => true);
UPDATE bags SET weights = '{1,2,30}' WHERE id = 2;
SELECT * FROM refresh_dedup_view('bag_groups');
SELECT * FROM bag_groups ORDER BY id;
UPDATE bags SET weights = '{30,3,2}', tokens = '{c,b,a}' WHERE id = 1;
INSERT INTO bags VALUES (8, '{c,c,b,a}', '{20,10,2,1}'), (9, '{c}', '{3.4e38}'), (10, '{c,c}', '{3.4e38,3.4e38}'), (11, '{c}', '{1e-45}'), (12, '{c}', '{1e-45}');
SELECT * FROM refresh_dedup_view('bag_groups');
SELECT * FROM bag_groups ORDER BY id;
INSERT INTO bags VALUES (13, '{a,b}', '{1,NaN}');
SELECT * FROM refresh_dedup_view('bag_groups');
DELETE FROM bags WHERE id = 13;

-- Work is in proportion to the change.
CREATE TABLE many (id int PRIMARY KEY, tokens int[], weights real[]);
INSERT INTO many SELECT i, ARRAY(SELECT draw(20000, i / 2, j) FROM generate_series(1, 12) j), ARRAY(SELECT draw(9, i, j) + 1 FROM generate_series(1, 12) j)::real[] FROM generate_series(1, 4000) i;
SELECT create_dedup_view('by_' || measure, 'SELECT id, tokens, weights FROM many', 0.8, measure, track_changes => true) FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure;
UPDATE many SET weights = weights || 1::real, tokens = tokens || 7 WHERE id BETWEEN 1000 AND 1039 AND id % 2 = 0;
DELETE FROM many WHERE id BETWEEN 2000 AND 2009;
SELECT new_rows, changed_rows, removed_rows, read_rows BETWEEN 20 AND 60 AS few_read FROM refresh_dedup_view('by_weighted_jaccard');
SELECT new_rows, changed_rows, removed_rows, read_rows BETWEEN 20 AND 60 AS few_read FROM refresh_dedup_view('by_weighted_cosine');
SELECT count(*) AS differences FROM by_weighted_cosine v FULL JOIN duplicate_groups('SELECT id, tokens, weights FROM many', 0.8, 'weighted_cosine') d USING (id, group_id)
WHERE v.similarity IS DISTINCT FROM d.similarity;
-- A set of thousands of tokens is compared with all rows of about its total.
INSERT INTO many SELECT 6000 + i, ARRAY(SELECT generate_series(i * 100, i * 100 + 3000)), array_fill(0.5::real, ARRAY[3001]) FROM generate_series(1, 3) i;
SELECT new_rows, read_rows FROM refresh_dedup_view('by_weighted_jaccard');
INSERT INTO many SELECT 6000 + i, ARRAY(SELECT generate_series(i * 100, i * 100 + 3000)), array_fill(0.5::real, ARRAY[3001]) FROM generate_series(4, 6) i;
SELECT new_rows, read_rows FROM refresh_dedup_view('by_weighted_jaccard');
SELECT count(*) AS differences FROM by_weighted_jaccard v FULL JOIN duplicate_groups('SELECT id, tokens, weights FROM many', 0.8, 'weighted_jaccard') d USING (id, group_id)
WHERE v.similarity IS DISTINCT FROM d.similarity;

-- Altered parts. Each refresh says what was altered.
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION after(alteration text, OUT refresh text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE alteration;
  UPDATE bags SET weights[1] = weights[1] + 0.5 WHERE id = 8;
  refresh := told('SELECT refresh_dedup_view(''bag_groups'')');
  RAISE EXCEPTION USING ERRCODE = 'ZZ000';
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  NULL;
END $$;
SELECT alteration, after.* FROM (VALUES
  ('SELECT 1'), ('ALTER TABLE bag_groups_rows DROP masses'), ('ALTER TABLE bag_groups_rows ALTER masses TYPE numeric[]'), ('ALTER TABLE bag_groups_rows ALTER total TYPE numeric'),
  ('ALTER TABLE bag_groups_rows RENAME total TO size'), ('UPDATE bag_groups_rows SET masses = masses || 1::float8'), ('UPDATE bag_groups_rows SET masses = ARRAY[NULL::float8]'),
  ('UPDATE bag_groups_rows SET masses = ''{}'''), ('UPDATE bag_groups_rows SET masses[1] = ''NaN'''), ('UPDATE bag_groups_rows SET masses[1] = -1'),
  ('UPDATE bag_groups_rows SET masses = ARRAY[masses]'), ('UPDATE bag_groups_rows SET prefix = ''{}'', masses = ''{}'''))
  a (alteration), after(alteration);
-- A view that is made by hand with other parts.
CREATE VIEW query AS SELECT id, tokens, weights FROM bags;
CREATE TABLE prints (id bigint, fingerprint uuid, size int, prefix int[]);
CREATE TABLE pairs (a bigint, b bigint, similarity float8);
CREATE TABLE changes (first_id bigint, last_id bigint);
CREATE TABLE orders (rows bigint, ordered_rows bigint, frequent int[]);
CREATE MATERIALIZED VIEW forged AS SELECT id, group_id, is_representative, similarity FROM dedup_view_groups('query', 'prints', 'pairs', 'changes', 'orders',
  '0.5', 'weighted_jaccard', 'components', 'smallest_id', '0.1') WITH NO DATA;
REFRESH MATERIALIZED VIEW forged;
DROP SCHEMA tracked_weights CASCADE;
