-- Edit distances of texts, and joins by them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA edit_distance_test;
SET search_path = edit_distance_test, public;
SET jit = off;  -- which plans that are switched off would start

SELECT edit_distance('kitten', 'sitting'), edit_distance('', ''), edit_distance('', 'abc'), edit_distance('abc', 'abc'),
       edit_distance(NULL, 'a') IS NULL AS null_left, edit_distance('a', NULL) IS NULL AS null_right;
-- With a largest distance k, k + 1 stands for all beyond it. There is none if k is negative.
SELECT k, edit_distance('kitten', 'sitting', k), edit_distance('sitting', 'kitten', k) AS turned
FROM unnest(ARRAY[-2147483648, -1, 0, 1, 2, 3, 4, 2147483647, NULL]) k;
-- Characters count, and not bytes. A letter with a combining mark is two.
SELECT edit_distance('ähnlich', 'ahnlich') AS accent, edit_distance('相似', '相同') AS chinese, edit_distance(U&'e\0301', 'é') AS mark,
       edit_distance('a😀b', 'ab') AS emoji, edit_distance('ÿ', 'y', 0) AS capped;
-- Texts of any length.
SELECT edit_distance(repeat('ab', 5000), repeat('ba', 5000)) AS shifted, edit_distance(repeat('x', 300), repeat('y', 299)) AS others,
       edit_distance(repeat('a', 64), repeat('a', 63) || 'b') AS a_block, edit_distance(repeat('é', 65), repeat('è', 65)) AS two_blocks,
       edit_distance(repeat('ab', 5000), '', 9999) AS capped;

-- The same as by the table of distances.
CREATE FUNCTION table_distance(a text, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  above int[] := ARRAY(SELECT generate_series(0, length(b)));
  this int[];
BEGIN
  FOR i IN 1 .. length(a) LOOP
    this := ARRAY[i];
    FOR j IN 1 .. length(b) LOOP
      this[j + 1] := least(above[j] + (substr(a, i, 1) <> substr(b, j, 1))::int, above[j + 1] + 1, this[j] + 1);
    END LOOP;
    above := this;
  END LOOP;
  RETURN above[length(b) + 1];
END $$;
CREATE TABLE edited (id int PRIMARY KEY, grp int, t text);
SELECT setseed(0.41);
INSERT INTO edited
SELECT i, i % 3, CASE i % 4 WHEN 0 THEN overlay(t placing 'q' from p for 1) WHEN 1 THEN overlay(t placing '' from p for 1)
                            WHEN 2 THEN overlay(t placing 'ab' from p for 1) ELSE t END
FROM (SELECT i, 1 + (random() * 12)::int AS p,
             (ARRAY['Anna Schmidt ' || i / 12, 'Müller, Straße ' || i / 12, '字符串 ' || i / 12, substr(md5((i / 12)::text), 1, i / 12)])[1 + i / 6 % 4] AS t
      FROM generate_series(1, 140) i) s;
INSERT INTO edited VALUES (241, 0, ''), (242, 1, 'a'), (243, 2, NULL), (244, 0, 'ab'), (245, 1, ''), (246, 2, repeat('long ', 70)),
                          (247, 0, repeat('long ', 69) || 'ling ');
ANALYZE edited;
SELECT count(*) > 0 AS compared, count(*) FILTER (WHERE edit_distance(a.t, b.t) <> table_distance(a.t, b.t)) AS wrong,
       count(*) FILTER (WHERE edit_distance(a.t, b.t, 3) <> least(table_distance(a.t, b.t), 4)) AS wrong_capped
FROM edited a, edited b WHERE a.id % 7 = 1 AND b.id % 11 = 1;

-- Keys: texts within the distance share one. They are the same everywhere, and never change.
SELECT edit_keys('Anna', 1), edit_keys('', 2), edit_keys('Anna', 0), edit_keys('Anna', -1), edit_keys('Anna', 17) = edit_keys('', 17) AS one_for_all;
SELECT edit_keys('A title of more than thirty-two characters', 1);
SELECT count(*) AS pairs_without_key FROM edited a, edited b
WHERE edit_distance(a.t, b.t) <= 3 AND overlap_count(edit_keys(a.t, 3), edit_keys(b.t, 3)) = 0;

-- With exchanges of two neighbours. None of them is edited again: 'ca' becomes 'abc' by three edits, not two.
SELECT damerau_distance('Schmidt', 'Schmitd') AS one, edit_distance('Schmidt', 'Schmitd') AS two, damerau_distance('ca', 'abc') AS three,
       damerau_distance('', 'abc') AS empty, damerau_distance('相似', '似相') AS chinese, damerau_distance(NULL, 'a') IS NULL AS none,
       damerau_distance(repeat('ab', 500), repeat('ba', 500)) AS many;
SELECT k, damerau_distance('abcdef', 'badcfe', k) FROM unnest(ARRAY[-1, 0, 1, 2, 3, 4, 2147483647, NULL]) k;
SELECT count(*) AS pairs_without_key FROM edited a, edited b
WHERE damerau_distance(a.t, b.t) <= 2 AND overlap_count(edit_keys(a.t, 2), edit_keys(b.t, 2)) = 0;

-- A join finds candidates by keys, and the condition decides. Other plans are off, since the table is small.
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM edited a JOIN edited b ON a.id < b.id AND edit_distance(a.t, b.t) <= 2;
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
SELECT c, same_rows('SELECT a.id, b.id AS other FROM edited a JOIN edited b ON a.id <> b.id AND ' || c)
FROM unnest(ARRAY['edit_distance(a.t, b.t) <= 0', 'edit_distance(a.t, b.t) <= 2', 'edit_distance(a.t, b.t) < 3', '3 > edit_distance(b.t, a.t)',
  'edit_distance(a.t, b.t, 3) <= 3', 'edit_distance(a.t, b.t, 5) <= 1', 'edit_distance(a.t, b.t, 2) < 3', '2 >= edit_distance(a.t, b.t, -1)', 'edit_distance(a.t, b.t) <= 2.9', 'edit_distance(a.t, b.t) < 3.0000000000000000000001',
  'edit_distance(a.t, b.t)::float8 < 2.0::float8', 'edit_distance(a.t, b.t) <= 1::bigint', '1::smallint >= edit_distance(a.t, b.t)', 'edit_distance(a.t, b.t) <= 16',
  'edit_distance(upper(a.t), lower(b.t)) <= 4', 'edit_distance(a.t, b.t) <= least(a.grp, 2)', 'least(3, b.grp + 1::bigint, NULL, 2) > edit_distance(a.t, b.t)',
  'edit_distance(a.t, b.t, least(b.grp, 2)) <= least(b.grp, 2)', 'edit_distance(a.t, b.t) = least(a.grp, 1)', 'edit_distance(a.t::varchar, b.t) <= 1', 'edit_distance(a.t, b.t) <= 2 AND a.grp = b.grp',
  '(edit_distance(a.t, b.t) <= 1 OR edit_distance(lower(a.t), b.t) <= 1)', 'edit_distance(a.t, b.t) = 1', '2 = edit_distance(a.t, b.t)', 'edit_distance(a.t, b.t) < 0', 'edit_distance(a.t, b.t) <= -1',
  'damerau_distance(a.t, b.t) <= 1', '2 >= damerau_distance(a.t, b.t)', 'damerau_distance(a.t, b.t, 8) <= 8', 'damerau_distance(a.t, b.t) <= 2 AND a.grp = b.grp']) c;
SELECT same_rows('SELECT a.id, b.id AS other FROM edited a LEFT JOIN (SELECT * FROM edited WHERE grp > 0) b ON a.id <> b.id AND edit_distance(a.t, b.t) <= 1') AS left_join,
       same_rows('SELECT id FROM edited a WHERE EXISTS (SELECT FROM edited b WHERE a.id <> b.id AND edit_distance(a.t, b.t) <= 1)') AS semi_join,
       same_rows('SELECT id FROM edited a WHERE NOT EXISTS (SELECT FROM edited b WHERE a.id <> b.id AND edit_distance(a.t, b.t) <= 1)') AS anti_join;
SELECT count(*), count(a.id), count(b.id) FROM edited a FULL JOIN (SELECT * FROM edited WHERE grp > 0) b ON edit_distance(a.t, b.t) <= 1;

-- A parameter may be the number of edits, also of a plan for all parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE within(int) AS SELECT count(*) FROM edited a JOIN edited b ON a.id < b.id AND edit_distance(a.t, b.t) <= $1;
EXPLAIN (COSTS OFF) EXECUTE within(2);
EXECUTE within(2);
EXECUTE within(0);
EXECUTE within(-1);
EXECUTE within(NULL);
EXECUTE within(300);
PREPARE within_capped(smallint) AS SELECT count(*) FROM edited a JOIN edited b ON a.id < b.id AND edit_distance(a.t, b.t, $1) < $1;
EXECUTE within_capped(3);
EXECUTE within_capped(0);
PREPARE within_large(bigint) AS SELECT count(*) FROM edited a JOIN edited b ON a.id < b.id AND damerau_distance(a.t, b.t) <= $1;
EXECUTE within_large(2);
EXECUTE within_large(0);
EXECUTE within_large(9223372036854775807);
EXECUTE within_large(-9223372036854775808);
EXECUTE within_large(NULL);
SELECT count(*) FROM edited a JOIN edited b ON a.id < b.id AND damerau_distance(a.t, b.t) + 0 * a.id * b.id <= 2;
RESET plan_cache_mode;

-- Shares of the length of the longer text.
SELECT edit_similarity_keys('Anna', 0.9), edit_similarity_keys('', 1.5) = edit_similarity_keys('', 1) AS empty, edit_similarity_keys('Anna', 1.5) AS none,
       edit_similarity_keys('Anna', 0) = edit_similarity_keys('', -1) AS one_for_all;
CREATE VIEW filled AS SELECT * FROM edited WHERE t <> '' OR id < 245;
SELECT c, same_rows('SELECT a.id, b.id AS other FROM filled a JOIN filled b ON a.id <> b.id AND ' || c)
FROM unnest(ARRAY['1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) >= 0.8', '1 - edit_distance(a.t, b.t) / greatest(length(a.t), length(b.t))::numeric > 0.8',
  '0.8 <= 1.0 - edit_distance(b.t, a.t)::float4 / greatest(length(a.t), length(b.t))', 'edit_distance(a.t, b.t)::float8 / greatest(char_length(b.t), length(a.t), 1) < 0.25',
  '(1 - edit_distance(lower(a.t), lower(b.t)) * 1.0 / greatest(length(lower(a.t)), length(lower(b.t)))) >= 0.75', 'edit_distance(a.t, b.t)::float8 / nullif(greatest(length(a.t), length(b.t)), 0) <= 0.1',
  '1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) = 1', '1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) > 1',
  '0.5 * (1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t))) + 0.5 * jaccard_similarity(a.t, b.t, ''shingles(2)'') >= 0.85',
  '(1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) >= 0.9 OR jaro_similarity(a.t, b.t) >= 0.95)']) c;
-- Two empty texts raise the error of a nested loop.
SELECT count(*) FROM edited a JOIN edited b ON a.id < b.id AND 1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) >= 0.8;

-- Conditions of other forms are nested loops, and EXPLAIN says why.
RESET enable_nestloop;
CREATE FUNCTION reason(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*) FROM edited a JOIN edited b ON a.id <> b.id AND ' || condition LOOP
    IF line ~ 'SetSimilarityJoin|Not Used' THEN RETURN line; END IF;
  END LOOP;
  RETURN 'neither';
END $$;
SELECT c, reason(c)
FROM unnest(ARRAY['edit_distance(a.t, b.t) <= 17', 'damerau_distance(a.t, b.t) <= 17', 'edit_distance(a.t, b.t) <= a.grp', 'edit_distance(a.t, b.t) <= least(a.grp, 17)', 'edit_distance(a.t, b.t) <= greatest(a.grp, 2)',
  'edit_distance(a.t, b.t, 1) <= least(a.grp, 2)', 'edit_distance(a.t, b.t, 2) <= 3',
  'edit_distance(a.t, b.t) >= 2', 'edit_distance(a.t, b.t) <> 1', '1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) >= 0.5',
  '1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t), 9) >= 0.8', '1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(a.t)) >= 0.8',
  '1 - edit_distance(a.t, b.t)::float8 / length(a.t) >= 0.8', '1 - edit_distance(a.t, b.t) / greatest(length(a.t), length(b.t)) >= 0.8',
  'edit_distance(a.t, b.t) <= (SELECT 2)', 'edit_distance(a.t, b.t) <= edit_distance(b.t, a.t)']) c;

-- An index on sets looks texts up by their keys.
CREATE TABLE keyed AS SELECT id, t, edit_keys(t, 2) AS keys FROM edited WHERE t IS NOT NULL;
SELECT create_similarity_index('keyed', 'keys', 1, 'overlap') IS NOT NULL AS made;
SELECT count(*) FROM keyed WHERE overlap_count(keys, edit_keys('Anna Schmidt 1', 2)) >= 1 AND edit_distance(t, 'Anna Schmidt 1') <= 2;
SELECT count(*) FROM edited WHERE edit_distance(t, 'Anna Schmidt 1') <= 2;

-- An index on the keys of a text serves the distance itself, up to that of the keys. The condition decides.
CREATE TABLE found AS TABLE edited;
SELECT create_similarity_index('found', 'edit_keys(t, 2)', 1, 'overlap') IS NOT NULL AS made;
ANALYZE found;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM found WHERE edit_distance(t, 'Anna Schmidt 1') <= 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM found WHERE edit_distance(t, 'Anna Schmidt 1') <= 3;
CREATE FUNCTION looked_up(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text := '';
  found text;
  read text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO found;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO read;
  SET LOCAL enable_bitmapscan = on;
  RETURN CASE WHEN plan ~ 'Bitmap Index Scan' THEN 'index, ' ELSE 'table, ' END
         || CASE WHEN found = read THEN split_part(found, ' ', 1) || ' rows' ELSE 'other rows: ' || found || ' and ' || read END;
END $$;
SELECT c, looked_up('SELECT id FROM found WHERE ' || c)
FROM unnest(ARRAY['edit_distance(t, ''Anna Schmidt 1'') <= 2', '1 >= edit_distance(''Anna Schmidt 1'', t)', 'edit_distance(t, ''Anna Schmidt 1'') < 1', 'edit_distance(t, ''Müller, Straße 2'') = 2',
  'damerau_distance(t, ''字符串 3'', 2) <= 2', 'edit_distance(t, '''') <= 2', 'edit_distance(t, repeat(''long '', 70)) <= 2', 'edit_distance(t, ''a'') <= 1 AND grp = 1', 'edit_distance(t, (SELECT ''a''::text)) <= 1',
  'edit_distance(t, ''a'') + edit_distance(t, ''ab'') <= 2', 'edit_distance(t, NULL) <= 2', 'edit_distance(t, ''Anna Schmidt 1'') < 0',
  'edit_distance(t, ''Anna Schmidt 1'') <= 3', 'edit_distance(lower(t), ''anna schmidt 1'') <= 1', 'edit_distance(t, ''a'') <= grp', 'edit_distance(t, t) <= 1', 'edit_distance(t, ''a'') >= 1']) c;
SELECT looked_up('SELECT v.t, f.id FROM (VALUES (''Anna Schmidt 1''), ('''')) v (t) JOIN found f ON edit_distance(f.t, v.t) <= 2') AS joined,
       looked_up('SELECT id FROM edited e WHERE id < 4 AND NOT EXISTS (SELECT FROM found f WHERE f.id <> e.id AND edit_distance(e.t, f.t) <= 1)') AS anti_join;
SET plan_cache_mode = force_generic_plan;
PREPARE look(text) AS SELECT count(*) FROM found WHERE edit_distance(t, $1) <= 2;
EXPLAIN (COSTS OFF) EXECUTE look('Anna Schmidt 1');
EXECUTE look('Anna Schmidt 1');
EXECUTE look(NULL);
RESET plan_cache_mode;
-- A clause on keys that the query has itself is served by an index on the same keys only, and may compare any sets.
SET plan_cache_mode = force_generic_plan;
PREPARE look_keys(int[]) AS SELECT count(*) FROM found WHERE overlap_count(edit_keys(t, 2), $1) >= 1;
EXPLAIN (COSTS OFF) EXECUTE look_keys(NULL);
EXECUTE look_keys(edit_keys('Anna Schmidt 1', 2));
RESET plan_cache_mode;
SELECT c, looked_up('SELECT id FROM found WHERE ' || c)
FROM unnest(ARRAY['overlap_count(edit_keys(t, 2), edit_keys(''Anna Schmidt 1'', 2)) >= 1', 'overlap_count(edit_keys(t, 1), edit_keys(''Anna Schmidt 1'', 1)) >= 1',
  'overlap_count(edit_keys(t, 2), edit_keys(''Anna Schmidt 1'', 1)) >= 1', 'overlap_count(edit_keys(t, 2), array_append(edit_keys(''a'', 2), id)) >= 1']) c;
SELECT create_similarity_index('found', 'edit_keys(t, 3)', 0.3, 'jaccard') IS NOT NULL AS made;
SELECT c, looked_up('SELECT k.id, f.id AS found FROM keyed k JOIN found f ON ' || c || ' WHERE k.id % 20 = 2 OR k.id > 241')
FROM unnest(ARRAY['overlap_count(edit_keys(f.t, 2), k.keys) >= 1', 'overlap_count(edit_keys(f.t, 2), array_append(k.keys, 3)) >= 1', 'overlap_count(edit_keys(f.t, 1), edit_keys(k.t, 1)) >= 1',
  'jaccard_similarity(edit_keys(f.t, 1), edit_keys(k.t, 1)) >= 0.3', 'round(jaccard_similarity(edit_keys(f.t, 1), edit_keys(k.t, 1))::numeric, 2) >= 0.3']) c;
-- Entries of few bits find more rows, never fewer.
CREATE TABLE shortened AS TABLE edited;
CREATE INDEX shortened_keys ON shortened USING gin (edit_keys(t, 2) int4_similarity_ops (measure = overlap, threshold = 1, bits = 10));
ANALYZE shortened;
SELECT similarity_index_check('shortened_keys') = count(*) AS whole FROM shortened;
SELECT c, looked_up('SELECT id FROM shortened WHERE ' || c)
FROM unnest(ARRAY['edit_distance(t, ''Anna Schmidt 1'') <= 2', 'edit_distance(t, ''Müller, Straße 2'') <= 1', 'damerau_distance(t, ''字符串 3'', 2) <= 2', 'edit_distance(t, '''') <= 2']) c;
CREATE INDEX ON shortened USING gin (edit_keys(t, 2) int4_similarity_ops (measure = overlap, threshold = 1, bits = 7));
-- Shares of the longer length, also beside the length of a constant, which the planner computes.
SELECT create_similarity_index('found', 'edit_similarity_keys(t, 0.75)', 1, 'overlap') IS NOT NULL AS made;
SELECT c, looked_up('SELECT id FROM found WHERE ' || c)
FROM unnest(ARRAY['1 - edit_distance(t, ''Anna Schmidt 1'')::float8 / greatest(length(t), length(''Anna Schmidt 1'')) >= 0.8', 'edit_distance(''字符串 3'', t)::float8 / greatest(length(''字符串 3''), length(t)) <= 0.2',
  '1 - edit_distance(t, ''Anna Schmidt 1'')::float8 / greatest(length(t), 13) >= 0.8']) c;
-- Jaro-Winkler similarities by an index on their keys.
CREATE INDEX ON found USING gin (jaro_keys(t) int8_similarity_ops (measure = cosine, threshold = 0.5));
SELECT c, looked_up('SELECT id FROM found WHERE ' || c)
FROM unnest(ARRAY['jaro_winkler_similarity(t, ''Anna Schmidt 1'') >= 0.9', 'jaro_similarity(''Anna Schmidt 1'', t) > 0.9', 'jaro_similarity(t, ''Anna Schmidt 1'') >= 0.76']) c;
RESET enable_seqscan;
DROP SCHEMA edit_distance_test CASCADE;
