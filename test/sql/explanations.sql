-- Why rows are similar, and what holds a group together: similarity_explain, group_path, weakest_links.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA explanations_test;
SET search_path = explanations_test, public;
SET jit = off;

SELECT * FROM similarity_explain('Blue  Orchid', 'blue orchids', 'shingles(5)');
SELECT token, side, a_places, b_places FROM similarity_explain('(310) 246-1501', '310/246 1502', 'alnum');
SELECT token, side, a_places, b_places FROM similarity_explain('the old man and the sea', 'The Old  Man', 'word_shingles(2)');
SELECT token, hash, side, a_places, b_places FROM similarity_explain('The foxes jump, foxes!', 'a fox jumped', 'words(english)');
SELECT token, side, a_places, b_places FROM similarity_explain('bye bye', 'bye', 'alnum(multi)');
SELECT token, side, a_places, b_places FROM similarity_explain('bye bye', 'bye', 'words(multi)');
SELECT token, side, a_places, b_places FROM similarity_explain('ab', 'b', 'qgrams(2)');
-- A character may become several, or several one: then nobody can tell the places.
SELECT token, side, a_places, b_places FROM similarity_explain('Straße Á', 'STRASSE a', 'alnum(casefold, unaccent)');
SELECT token, side, a_places, b_places FROM similarity_explain(U&'e\0301', 'é', 'shingles(1, nfkc)');
SELECT * FROM similarity_explain('{3,1,3}'::int[], '{1,2}');
SELECT * FROM similarity_explain('{a,b}'::text[], '{1,0.5}', '{b,c,b}', '{2,3,1}');
SELECT count(*) AS of_nothing FROM similarity_explain('', ' ', 'shingles(3)');
SELECT count(*) AS of_null FROM similarity_explain(NULL, 'a', 'shingles(3)');
SELECT count(*) AS of_empty FROM similarity_explain('{}'::int[], '{}');

-- The tokens are those of the sets, by every tokenizer, and stand where they are said to.
CREATE TABLE texts (id int PRIMARY KEY, body text);
INSERT INTO texts VALUES (1, ''), (2, ' '), (3, 'a'), (4, 'The quick brown fox'), (5, E'  The\tQUICK  brown\n fox '), (6, 'Ünïcödé Straße ﬁ Ａ ½'), (7, 'ab ab ab ab'),
  (8, '相似性 相同'), (9, E'%\\''";-- $1 {} #2#'), (10, 'word#2 word word'), (11, U&'e\0301 \1100\1161 \2028x\00A0y'), (12, repeat('abc ', 40)), (13, '😀😀 ok'), (14, '-- --');
SELECT tokenizer, count(*) AS pairs, sum(differences) AS differences, sum(rows) > 100 AS many
FROM unnest('{alnum,alnum64,alnum(multi),"qgrams(3)","qgrams64(2, multi)","shingles(3)","shingles64(5, multi)","shingles(1, casefold)","word_shingles(2)","word_shingles64(1, multi)","shingles(2, nfkc, unaccent)","alnum(nfkc, casefold)"}'::text[]) tokenizer,
     texts a, texts b, LATERAL (
  SELECT count(*) AS rows, count(*) FILTER (WHERE
      (a_in IS DISTINCT FROM (side <> 'right')) OR (b_in IS DISTINCT FROM (side <> 'left'))) AS differences
  FROM (SELECT CASE WHEN tokenizer ~ '64' THEN token_set64(a.body, tokenizer::tokenizer) ELSE token_set(a.body, tokenizer::tokenizer)::bigint[] END AS a_set,
               CASE WHEN tokenizer ~ '64' THEN token_set64(b.body, tokenizer::tokenizer) ELSE token_set(b.body, tokenizer::tokenizer)::bigint[] END AS b_set) s,
       LATERAL (SELECT hash, side FROM similarity_explain(a.body, b.body, tokenizer::tokenizer)) e FULL JOIN
       LATERAL (SELECT t, t = ANY (a_set) AS a_in, t = ANY (b_set) AS b_in FROM (SELECT unnest(a_set) UNION SELECT unnest(b_set)) u(t)) x ON e.hash = x.t) d
GROUP BY tokenizer ORDER BY tokenizer COLLATE "C";
SELECT count(*) AS words, count(*) FILTER (WHERE e.token IS NULL OR w.word IS NULL OR e.side <> 'both') AS differences
FROM texts t, unnest('{words,"words(multi)"}'::text[]) tokenizer, LATERAL similarity_explain(t.body, t.body, tokenizer::tokenizer) e
     FULL JOIN LATERAL unnest(CASE tokenizer WHEN 'words' THEN tsvector_to_array(to_tsvector('simple', t.body)) ELSE word_set(t.body, 'simple', 'words(multi)') END) w(word) ON w.word = e.token;
SELECT count(*) AS pieces, count(*) FILTER (WHERE lower(substr(body, place, length(token))) <> token) AS elsewhere
FROM texts, similarity_explain(body, body, 'shingles(3)'), unnest(a_places) place WHERE id IN (3, 4, 7, 8, 9, 10, 12, 13);

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
SELECT * FROM similarity_explain(repeat('a', 1048577), 'a', 'shingles(3)');
SELECT * FROM similarity_explain('{1,NULL}'::int[], '{1}');
SELECT * FROM similarity_explain('{1,2}'::int[], '{1}', '{1}', '{1}');

SELECT drop_dedup_view('explanations_test.doc_groups');
DROP SCHEMA explanations_test CASCADE;
