-- The similar rows of each row: LATERAL and other subqueries with a bound of an edit distance or a similarity, by the scan SimilarRows, and
-- the nearest ones by an edit distance or a similarity of characters, by NearestRows.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA nearest_texts;
SET search_path = nearest_texts, public;
SET simjoin.notice_pairs = 0;
SET jit = off;
SET enable_seqscan = off;  -- so that the scans are used for few rows, too

-- Names with ties and copies, some empty and some NULL.
CREATE FUNCTION some_name(i int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN i % 19 = seed THEN NULL WHEN i % 23 = seed THEN ''
              ELSE overlay(substr('anna maria berta carla dora emilia', 1 + i * seed % 17, 3 + i % 11) placing chr(97 + i * seed % 5) from 1 + i % 7 for i % 2) END
$$;
CREATE TABLE l AS SELECT i AS id, i % 3 AS cat, some_name(i, 5) AS s FROM generate_series(1, 60) i;
CREATE TABLE r AS SELECT i AS id, i % 4 AS cat, some_name(i, 3) AS s FROM generate_series(1, 150) i;
ANALYZE l, r;

EXPLAIN (COSTS OFF) SELECT l.id, m.* FROM l CROSS JOIN LATERAL (
  SELECT r.id AS r FROM r WHERE edit_distance(l.s, r.s) <= 2 AND r.cat <> l.cat AND r.id < 140 ORDER BY edit_distance(l.s, r.s), r.id LIMIT 2) m;
SELECT l.id, m.* FROM l LEFT JOIN LATERAL (
  SELECT r.id AS r, edit_distance(l.s, r.s) AS edits FROM r WHERE edit_distance(l.s, r.s) <= 2 AND r.cat <> l.cat AND r.id < 140
  ORDER BY edits, r.id LIMIT 2) m ON true
WHERE l.id % 10 = 3 ORDER BY 1, 3, 2;

-- Each query has the same rows, and errors, with and without the scans. used: the one that its plan has.
CREATE FUNCTION compare(query text, OUT used text, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    used := coalesce(used, substring(line FROM 'NearestRows|SimilarRows'));
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE with_scan AS ' || query;
  SET LOCAL simjoin.enable_nearest = off;
  EXECUTE 'CREATE TEMP TABLE without_scan AS ' || query;
  SET LOCAL simjoin.enable_nearest = on;
  SELECT count(*) INTO rows FROM with_scan;
  SELECT count(*) INTO differences
  FROM ((TABLE with_scan EXCEPT ALL TABLE without_scan) UNION ALL (TABLE without_scan EXCEPT ALL TABLE with_scan)) d;
  DROP TABLE with_scan, without_scan;
END $$;

-- Conditions that bound a similarity or an edit distance, with whatever order.
SELECT w AS condition, c.* FROM unnest(ARRAY['edit_distance(l.s, r.s) <= 2', 'edit_distance(r.s, l.s) < 2', 'damerau_distance(l.s, r.s) <= 3', 'edit_distance(l.s, r.s) <= -1',
    'edit_distance(l.s, r.s, 2) <= 2', 'jaro_winkler_similarity(l.s, r.s) >= 0.9',
    '1 - edit_distance(l.s, r.s)::float8 / nullif(greatest(length(l.s), length(r.s)), 0) >= 0.7', 'edit_distance(l.s, r.s) + r.cat <= 2',
    'jaccard_similarity(l.s, r.s, ''shingles(2)'') >= 0.5', 'jaccard_distance(l.s, r.s, ''shingles(2)'') < 0.5', 'jaccard_similarity(l.s, r.s, ''shingles(2)'') >= 0',
    'jaccard_similarity(l.s, r.s, ''shingles(2)'') >= nullif(l.cat, 1) / 3.0::float8',
    'edit_distance(l.s, r.s) <= 2 AND r.cat = l.cat', 'edit_distance(l.s, r.s) <= 4 AND jaccard_similarity(l.s, r.s, ''shingles(2)'') >= 0.5', 'edit_distance(l.s, r.s) <= 2 AND l.cat = 1']) w,
  LATERAL compare('SELECT l.id, x.* FROM l LEFT JOIN LATERAL (SELECT r.id AS r, edit_distance(l.s, r.s) AS d FROM r WHERE ' || w || ' ORDER BY r.cat, r.id LIMIT 3) x ON x.r % 3 > 0') c;
-- Other subqueries.
SELECT q AS query, c.* FROM unnest(ARRAY[
    '(SELECT count(*) FROM r WHERE edit_distance(l.s, r.s) <= 1)', '(SELECT max(edit_distance(l.s, r.s)) FROM r WHERE edit_distance(l.s, r.s) <= 2 AND r.id > 9)',
    'ARRAY(SELECT r.id + o.id FROM r JOIN l o USING (cat) WHERE o.id < 9 AND edit_distance(l.s, r.s) <= 3 ORDER BY 1)', 'EXISTS (SELECT FROM r WHERE edit_distance(l.s, r.s) <= 1 AND r.id <> l.id)',
    '(SELECT r.id FROM r WHERE edit_distance(l.s, r.s) <= 3 ORDER BY r.cat DESC, r.id LIMIT 1)', '(SELECT sum(r.id) FROM r WHERE edit_distance(l.s, r.s) <= 3 AND random() < 2)',
    '(SELECT r.id FROM r WHERE edit_distance(l.s, r.s) <= 3 ORDER BY r.id LIMIT 1 FOR UPDATE)']) q,
  LATERAL compare('SELECT l.id, ' || q || ' AS x FROM l') c;

-- Orders without a bound, with one, with ties and NULLs, with keys and other conditions.
CREATE EXTENSION IF NOT EXISTS fuzzystrmatch SCHEMA public;
CREATE TABLE many AS SELECT i AS id, i % 3 AS cat, CASE WHEN i % 50 > 0 THEN substr(md5(i::text), 1, 2 + i % 9) || CASE WHEN i % 4 = 0 THEN 'é中' ELSE '' END END AS s FROM generate_series(1, 2400) i;
CREATE TABLE probes AS SELECT id, cat, overlay(s placing 'x' from 1 + id % 4 for id % 3) AS s FROM many WHERE id % 301 = 3 UNION ALL VALUES (0, 1, ''), (1, 2, NULL), (2, 0, repeat('é', 300));
ANALYZE many, probes;
SELECT o AS "order", c.* FROM unnest(ARRAY['edit_distance(l.s, r.s), r.id LIMIT 2', 'damerau_distance(r.s, l.s), r.id LIMIT 2', 'edit_distance(l.s, r.s) NULLS FIRST, r.id LIMIT 2',
    'edit_distance(l.s, r.s), r.cat DESC, r.id FETCH FIRST 3 ROWS WITH TIES', 'edit_distance(l.s, r.s) FETCH FIRST 1 ROW WITH TIES', '1 - edit_distance(l.s, r.s)::float8 / greatest(length(l.s), length(r.s), 1) DESC, r.id LIMIT 2',
    'damerau_distance(l.s, r.s)::numeric / nullif(greatest(length(l.s), length(r.s)), 0), r.id OFFSET 1 LIMIT 2', 'jaro_winkler_similarity(l.s, r.s) DESC, r.id LIMIT 2', 'jaro_similarity(r.s, l.s) DESC NULLS LAST, r.id LIMIT 2',
    'edit_distance(l.s, r.s, 2), r.id LIMIT 2', 'edit_distance(l.s, r.s) DESC, r.id LIMIT 2']) o,
  LATERAL compare('SELECT l.id, x.* FROM probes l LEFT JOIN LATERAL (SELECT r.id AS r FROM many r ORDER BY ' || o || ') x ON true') c;
SELECT w AS condition, c.* FROM unnest(ARRAY['r.cat = l.cat', 'r.cat <> l.cat AND r.id % 9 > 0', 'edit_distance(l.s, r.s) <= 2', 'edit_distance(l.s, r.s) < l.cat + 3 AND r.id <> l.id', 'edit_distance(l.s, r.s) <= -1']) w,
  LATERAL compare('SELECT l.id, x.* FROM probes l LEFT JOIN LATERAL (SELECT r.id AS r, edit_distance(l.s, r.s) AS d FROM many r WHERE ' || w || ' ORDER BY edit_distance(l.s, r.s), r.id LIMIT 3) x ON true') c;
-- All rows come.
SELECT c.* FROM compare('SELECT l.id, x.* FROM l, LATERAL (SELECT r.id AS r, row_number() OVER () AS n FROM (SELECT * FROM r ORDER BY edit_distance(l.s, r.s), r.id LIMIT 1000) r) x') c;
-- fuzzystrmatch refuses texts of more than 255 characters, unless the other one is empty, and a division by zero is one, where the sort computes the pair.
CREATE FUNCTION outcome(query text, mode text) RETURNS text LANGUAGE plpgsql SET simjoin.enable_nearest FROM CURRENT AS $$
DECLARE
  found text;
BEGIN
  PERFORM set_config('simjoin.enable_nearest', mode, true);
  EXECUTE 'SELECT count(*) || '' '' || sum(hashtext(x::text)) FROM (' || query || ') x' INTO found;
  RETURN found;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;
SELECT w AS condition, regexp_replace(outcome(q, 'on'), ' -?\d+$', '') AS outcome, outcome(q, 'on') = outcome(q, 'off') AS same
FROM unnest(ARRAY['true', 'l.id > 3', 'l.id > 3 AND r.id > 3', 'l.id <> 2 AND r.id + l.id <> 2 AND (r.id <> 2 OR l.s = '''')', 'l.id = 0', 'l.id = 2 AND r.s = ''''', 'l.cat = r.cat AND l.cat > 0', 'levenshtein(l.s, r.s) <= 1 AND r.id > 3 AND l.id <> 2']) w,
  LATERAL (SELECT 'SELECT l.id, x.* FROM probes l, LATERAL (SELECT r.id AS r FROM probes r WHERE ' || w || ' ORDER BY levenshtein(l.s, r.s), r.id LIMIT 2) x' AS q) q;
SELECT w AS condition, regexp_replace(outcome(q, 'on'), ' -?\d+$', '') AS outcome, outcome(q, 'on') = outcome(q, 'off') AS same
FROM unnest(ARRAY['true', 'r.id > 0', 'r.id <> l.id']) w,
  LATERAL (SELECT 'SELECT l.id, x.* FROM probes l, LATERAL (SELECT r.id AS r FROM probes r WHERE ' || w || ' ORDER BY edit_distance(l.s, r.s)::float8 / greatest(length(l.s), length(r.s)), r.id LIMIT 2) x' AS q) q;

-- NULLIF with another operator is not what it seems.
CREATE FUNCTION above_one(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 1';
CREATE OPERATOR nearest_texts.= (LEFTARG = int, RIGHTARG = int, FUNCTION = above_one);
SET search_path = nearest_texts, pg_catalog, public;
SELECT c.* FROM compare('SELECT l.id, x.* FROM l, LATERAL (SELECT r.id AS r FROM r ORDER BY edit_distance(l.s, r.s)::float8 / nullif(greatest(length(l.s), length(r.s), 1), 0), r.id LIMIT 1) x') c;
SET search_path = nearest_texts, public;
DROP OPERATOR nearest_texts.= (int, int);

-- The planner calls no function of a condition: not of other arguments than a text, and not without the right to.
CREATE TABLE docs AS SELECT id, s AS t, jsonb_build_array(left(coalesce(s, ''), 3), cat) AS j FROM r;
ANALYZE docs;
CREATE FUNCTION elements(j jsonb, nth int) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN ARRAY(SELECT jsonb_array_elements_text(j - nth)); END $$;
CREATE FUNCTION words(t text, nth int) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'called by %', current_user; RETURN string_to_array(t, ' '); END $$;
SELECT c.* FROM unnest(ARRAY['string_to_array(r.t, '' ''), string_to_array(l.t, '' '')', 'elements(r.j, 1), elements(l.j, 1)', 'edit_keys(r.t, 1), edit_keys(l.t, 1)', 'edit_similarity_keys(r.t, 0.8), edit_similarity_keys(l.t, 0.8)']) w,
  LATERAL compare('SELECT l.id, (SELECT count(*) FROM docs r WHERE overlap_count(' || w || ') >= 1) AS n FROM docs l WHERE l.id < 30') c;
REVOKE EXECUTE ON FUNCTION words FROM public;
CREATE ROLE simjoin_nearest_texts;
GRANT USAGE ON SCHEMA nearest_texts TO simjoin_nearest_texts;
GRANT SELECT ON docs TO simjoin_nearest_texts;
SET ROLE simjoin_nearest_texts;
EXPLAIN SELECT (SELECT count(*) FROM docs r WHERE overlap_count(words(r.t, 1), words(l.t, 1)) >= 1) FROM docs l;
RESET ROLE;
DROP OWNED BY simjoin_nearest_texts;
DROP ROLE simjoin_nearest_texts;

-- An array that is no set raises its error where the loop has it.
CREATE TABLE sets AS SELECT i AS id, i % 4 AS cat, ARRAY(SELECT (i * 31 + k) % 12 FROM generate_series(1, i % 8) k) AS s FROM generate_series(1, 100) i;
ANALYZE sets;
SELECT w AS condition, c.* FROM unnest(ARRAY['jaccard_similarity(l.s, r.s) >= 0.5', 'containment(r.s, l.s) > 0.6 AND l.cat = r.cat', 'l.s <%> r.s < 0.5', 'l.s ~= r.s']) w,
  LATERAL compare('SELECT l.id, x.* FROM sets l CROSS JOIN LATERAL (SELECT r.id AS r, overlap_count(l.s, r.s) FROM sets r WHERE ' || w || ' ORDER BY r.id DESC LIMIT 2) x') c;
INSERT INTO sets VALUES (1000, 9, '{1,NULL}');
SELECT count(*) FROM sets l CROSS JOIN LATERAL (SELECT r.id AS r FROM sets r WHERE dice_similarity(l.s, r.s) >= 0.5 ORDER BY r.id LIMIT 2) x;
SELECT c.* FROM compare('SELECT l.id, x.* FROM sets l CROSS JOIN LATERAL (SELECT r.id AS r FROM sets r WHERE r.cat < 9 AND l.cat < 9 AND jaccard_similarity(l.s, r.s) >= 0.5 ORDER BY r.id LIMIT 2) x') c;
SELECT c.* FROM compare('SELECT l.id, x.* FROM sets l CROSS JOIN LATERAL (SELECT r.id AS r FROM sets r WHERE r.cat < l.cat AND jaccard_similarity(l.s, r.s) >= 0.5 AND r.id < 9 ORDER BY r.id LIMIT 2) x') c;

-- Memory does not suffice.
CREATE TABLE wide AS SELECT i AS id, md5(i::text) || md5((i % 10)::text) AS s FROM generate_series(1, 1000) i;
ANALYZE wide;
SET plan_cache_mode = force_generic_plan;
PREPARE similar_rows AS SELECT count(*), sum(w * l.id) FROM (SELECT * FROM wide LIMIT 30) l LEFT JOIN LATERAL (
  SELECT w.id AS w FROM wide w WHERE edit_distance(l.s, w.s) <= 3 ORDER BY w.id DESC LIMIT 2) x ON true;
EXECUTE similar_rows;
SET simjoin.memory_limit = '1MB';
EXECUTE similar_rows;
CREATE FUNCTION read_anew(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line LIKE '%Read Anew%' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT read_anew('EXECUTE similar_rows');
RESET simjoin.memory_limit;
SELECT read_anew('EXECUTE similar_rows');
DROP SCHEMA nearest_texts CASCADE;
