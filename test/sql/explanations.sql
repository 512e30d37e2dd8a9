-- Why rows are similar, and what holds a group together: similarity_explain, group_path, weakest_links.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA explanations_test;
SET search_path = explanations_test, public;
SET jit = off;

-- The path by the strongest pairs: its weakest pair is as similar as thresholds say that still connect both.
CREATE TABLE pairs AS
SELECT a, b, ((a * 37 + b * 101) % 23 + 1) / 24.0 AS similarity FROM generate_series(1, 40) a, generate_series(1, 40) b WHERE a < b AND (a * 7 + b * 13) % 19 = 0;
INSERT INTO pairs SELECT b, a, similarity / 2 FROM pairs WHERE a % 3 = 0;
INSERT INTO pairs VALUES (100, 101, 0.5), (101, 102, 0.5), (100, 102, 0.4), (5, 5, 1);
CREATE TABLE thresholds AS
SELECT t, c.* FROM (SELECT DISTINCT similarity AS t FROM pairs) x, LATERAL connected_components(format('SELECT a, b FROM explanations_test.pairs WHERE similarity >= %s', t)) c;
SELECT count(*) AS paths, count(*) FILTER (WHERE NOT (weakest = expected)) AS differences, sum(broken) AS broken, sum(unknown) AS unknown
FROM (VALUES (1, 2), (1, 40), (3, 17), (22, 8), (12, 13), (100, 102)) v(x, y),
     LATERAL (SELECT max(l.t) AS expected FROM thresholds l JOIN thresholds r USING (t, component) WHERE l.node = x AND r.node = y) o,
     LATERAL (SELECT min(similarity) AS weakest, count(*) FILTER (WHERE a <> coalesce(before, x) OR (after IS NULL AND b <> y)) AS broken,
                     count(*) FILTER (WHERE NOT EXISTS (SELECT FROM pairs q WHERE (q.a, q.b) IN ((p.a, p.b), (p.b, p.a)) AND q.similarity = p.similarity)) AS unknown
              FROM (SELECT *, lag(b) OVER (ORDER BY step) AS before, lead(a) OVER (ORDER BY step) AS after FROM group_path('TABLE explanations_test.pairs', x, y)) p) f;
SELECT * FROM group_path('TABLE explanations_test.pairs', 102::bigint, 100);
SELECT count(*) AS none FROM group_path('TABLE explanations_test.pairs', 1, 100);
SELECT count(*) AS of_itself FROM group_path('TABLE explanations_test.pairs', 1, 1);
SELECT count(*) AS unknown FROM group_path('TABLE explanations_test.pairs', -1, 12345);
SELECT count(*) AS of_no_pairs FROM group_path('SELECT * FROM explanations_test.pairs WHERE false', 1, 2);
SELECT count(*) AS of_null FROM group_path('TABLE explanations_test.pairs', NULL::int, 2);
SELECT * FROM group_path('SELECT ''n'' || a, ''n'' || b, similarity FROM explanations_test.pairs', 'n102', 'n100');

-- The pair that a group hangs on: the highest threshold at which it is whole.
SELECT count(*) AS groups, count(*) FILTER (WHERE w.similarity <> o.expected OR w.rows <> o.rows OR NOT w.rows_at_a BETWEEN 1 AND w.rows - 1) AS differences
FROM weakest_links('TABLE explanations_test.pairs') w FULL JOIN (
  SELECT g.component, g.rows, (SELECT max(t) FROM (SELECT t, component FROM thresholds GROUP BY t, component HAVING count(*) = g.rows) x WHERE x.component = g.component) AS expected
  FROM (SELECT component, count(*) AS rows FROM connected_components('SELECT a, b FROM explanations_test.pairs') GROUP BY component HAVING count(*) > 1) g) o ON o.component = w.group_id;
SELECT * FROM weakest_links('SELECT * FROM explanations_test.pairs WHERE a >= 100');
SELECT * FROM weakest_links('SELECT ''n'' || a, ''n'' || b, similarity FROM explanations_test.pairs WHERE a >= 100', NULL::text);
SELECT * FROM weakest_links('VALUES (1, 2, 0.9), (2, 3, 0.5), (3, 4, 0.8), (4, 5, 0.8)');
-- Of a dedup view.
CREATE TABLE docs (id int PRIMARY KEY, words text[]);
INSERT INTO docs VALUES (1, '{a,b,c,d}'), (2, '{a,b,c,e}'), (3, '{b,c,e,f}'), (4, '{x}');
SELECT create_dedup_view('explanations_test.doc_groups', 'SELECT id, words FROM explanations_test.docs', 0.5);
SELECT step, a, b, round(similarity::numeric, 2) AS similarity FROM group_path('TABLE explanations_test.doc_groups_pairs', 1, 3);
SELECT group_id, rows, a, b FROM weakest_links('TABLE explanations_test.doc_groups_pairs');

-- Errors.
SELECT * FROM weakest_links('SELECT a, b FROM explanations_test.pairs');
SELECT * FROM group_path('SELECT a::text, b::text, similarity FROM explanations_test.pairs', 1, 2);
SELECT * FROM group_path('SELECT 100000, a, similarity FROM explanations_test.pairs WHERE a < 3', 1::smallint, 2::smallint);
SELECT * FROM weakest_links('SELECT a, b, -similarity FROM explanations_test.pairs WHERE a = 100');
SELECT * FROM group_path('SELECT a, b, NULL::real FROM explanations_test.pairs', 1, 2);

SELECT drop_dedup_view('explanations_test.doc_groups');
DROP SCHEMA explanations_test CASCADE;
