-- Conditions on several texts, and on texts and sets: the join operator has the rows of a nested loop.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA text_fields_test;
SET search_path = text_fields_test, public;

CREATE TABLE people (id int PRIMARY KEY, name text, street text, zip text, tags int[]);
SELECT setseed(0.3);
INSERT INTO people
SELECT i, CASE WHEN i % 23 > 0 THEN overlay('Anna Schmidt ' || i / 4 placing chr(97 + i % 5) from 1 + i % 9 for 1) END, CASE WHEN i % 19 > 0 THEN 'Long Street ' || i / 5 END,
       (10000 + i / 9)::text, ARRAY[i / 4, i / 5, i % 3]
FROM generate_series(1, 160) i;
ANALYZE people;
-- Other plans are off, since the table is small.
SET enable_mergejoin = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
-- Returns what the operator joins by, what else keeps rows apart, and whether the rows are those of a nested loop.
CREATE FUNCTION joined_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  clauses text := '';
  joined text;
  looped text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    clauses := clauses || coalesce(substring(line from 'Similarity Clause: \(+(.*?\))\)') || ', ', '') || coalesce(substring(line from '(Partitioned By: .*)') || ', ', '')
                       || coalesce(substring(line from 'Not Used: (.*)') || ', ', '');
  END LOOP;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO joined;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO looped;
  SET LOCAL simjoin.enable_join = on;
  RETURN clauses || CASE WHEN joined = looped THEN split_part(joined, ' ', 1) || ' rows' ELSE 'other rows: ' || joined || ' and ' || looped END;
END $$;
SELECT c, joined_by('SELECT a.id, b.id AS other FROM people a JOIN people b ON a.id <> b.id AND ' || c)
FROM unnest(ARRAY['edit_distance(a.name, b.name) <= 2 AND a.zip = b.zip', 'edit_distance(a.name, b.name) <= 2 AND damerau_distance(a.street, b.street) <= 1',
  'edit_distance(a.name, b.name) <= 1 AND jaccard_similarity(a.tags, b.tags) >= 0.5', 'jaro_winkler_similarity(a.name, b.name) >= 0.9 AND a.zip = b.zip',
  '(edit_distance(a.name, b.name) <= 1 OR jaccard_similarity(a.tags, b.tags) >= 0.6)',
  '(edit_distance(a.name, b.name) <= 1 AND a.zip = b.zip OR edit_distance(a.street, b.street) <= 1 AND jaccard_similarity(a.tags, b.tags) >= 0.3)',
  'a.zip = b.zip AND NOT (edit_distance(a.name, b.name) > 1 AND edit_distance(a.street, b.street) > 1)',
  'edit_distance(a.name, b.name) + edit_distance(a.street, b.street) <= 2', 'edit_distance(a.name, b.name) + damerau_distance(a.street, b.street, 1) + edit_distance(a.zip, b.zip) < 2.5',
  '2 = edit_distance(a.name, b.name) + edit_distance(a.street, b.street)', 'edit_distance(a.name, b.name) BETWEEN 1 AND 2',
  '0.5 * jaro_winkler_similarity(a.name, b.name) + 0.5 * jaro_winkler_similarity(a.street, b.street) >= 0.95',
  '0.6 * (1 - edit_distance(a.name, b.name)::float8 / greatest(length(a.name), length(b.name))) + 0.4 * jaccard_similarity(a.tags, b.tags) >= 0.9',
  'edit_distance(a.name, b.name) - edit_distance(a.street, b.street) <= 1', 'least(edit_distance(a.name, b.name), edit_distance(a.street, b.street)) <= 1',
  'edit_distance(a.name, b.name) <= 1 + length(a.zip)']) c;
SELECT c, joined_by('SELECT id FROM people a WHERE EXISTS (SELECT FROM people b WHERE a.id <> b.id AND ' || c || ')') AS exists,
       joined_by('SELECT id FROM people a WHERE NOT EXISTS (SELECT FROM people b WHERE a.id <> b.id AND ' || c || ')') AS not_exists,
       joined_by('SELECT a.id, b.id AS other FROM people a LEFT JOIN people b ON a.id <> b.id AND ' || c) AS left_join
FROM unnest(ARRAY['a.zip = b.zip AND edit_distance(a.name, b.name) <= 1', 'edit_distance(a.name, b.name) <= 1 AND damerau_distance(a.street, b.street) <= 1',
  '(edit_distance(a.name, b.name) <= 1 OR damerau_distance(a.street, b.street) <= 1)']) c;
DROP SCHEMA text_fields_test CASCADE;
