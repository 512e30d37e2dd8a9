-- Joins by edit distance and by Jaro-Winkler: names of 13 characters, some more frequent than others, and titles of 64. One of ten is another one with one or two edits.
-- psql -v names=1000000 -v titles=100000 -f test/bench/edit_distance.sql, in a new database. The messages have the CPU seconds.
CREATE EXTENSION simjoin;
CREATE EXTENSION fuzzystrmatch;
SELECT setseed(0.5);
CREATE FUNCTION pseudo_word(shortest int, longest int) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(string_agg((string_to_array('an ma ri jo el to sa pe ka li be ch ro no da vi ste mi lu ha ge fr we ol', ' '))[1 + (random() * 23)::int], ''),
                1, shortest + (random() * (longest - shortest))::int) FROM generate_series(1, 4) $$;
CREATE FUNCTION edited(t text) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT overlay(t placing chr(97 + (random() * 25)::int) from 1 + (random() * (length(t) - 1))::int for (random() * 1.4)::int) $$;
CREATE TABLE firsts AS SELECT i, initcap(pseudo_word(4, 6)) AS word FROM generate_series(0, 999) i;
CREATE TABLE lasts AS SELECT i, initcap(pseudo_word(5, 8)) AS word FROM generate_series(0, 19999) i;
CREATE TABLE drawn AS SELECT i AS id, (1000 * random() ^ 1.5)::int % 1000 AS f, (20000 * random() ^ 1.5)::int % 20000 AS l FROM generate_series(1, :names) i;
CREATE TABLE names AS SELECT id, CASE WHEN id % 10 > 0 THEN f.word || ' ' || l.word ELSE edited(edited(f.word || ' ' || l.word)) END AS t
FROM drawn JOIN firsts f ON f.i = drawn.f JOIN lasts l ON l.i = drawn.l;
CREATE TABLE titles AS SELECT i AS id, substr(string_agg(pseudo_word(2, 9), ' '), 1, 64) AS t
FROM generate_series(1, :titles) i, generate_series(1, 12 + 0 * i) GROUP BY i;
UPDATE titles SET t = edited(edited(other.t)) FROM titles other WHERE other.id = titles.id - 1 AND titles.id % 10 = 0;
CREATE TABLE few AS SELECT * FROM names WHERE id <= 10000;
VACUUM ANALYZE names, titles, few;
SET max_parallel_workers_per_gather = 0;
SET log_statement_stats = on;
SET client_min_messages = log;
\set ECHO queries
\pset footer off
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND levenshtein(a.t, b.t) <= 1;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND levenshtein(a.t, b.t) <= 2;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND edit_distance(a.t, b.t) <= 1;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND edit_distance(a.t, b.t) <= 2;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND edit_distance(a.t, b.t) <= 3;
SELECT count(*) AS rows FROM titles a JOIN titles b ON a.id < b.id AND edit_distance(a.t, b.t) <= 2;
SELECT count(*) AS rows FROM titles a JOIN titles b ON a.id < b.id AND edit_distance(a.t, b.t) <= 5;
SELECT count(*) AS rows FROM names a JOIN names b ON a.id < b.id AND edit_distance(a.t, b.t) <= 1;
SELECT count(*) AS rows FROM names a JOIN names b ON a.id < b.id AND edit_distance(a.t, b.t) <= 2;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND jaro_winkler_similarity(a.t, b.t) >= 0.9;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND jaro_similarity(a.t, b.t) >= 0.9;
-- Nested loops of the few names, by edits with a filter by lengths.
SET simjoin.enable_join = off;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND abs(length(a.t) - length(b.t)) <= 2 AND levenshtein(a.t, b.t) <= 2;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND abs(length(a.t) - length(b.t)) <= 2 AND edit_distance(a.t, b.t, 2) <= 2;
SELECT count(*) AS rows FROM few a JOIN few b ON a.id < b.id AND jaro_winkler_similarity(a.t, b.t) >= 0.9;
