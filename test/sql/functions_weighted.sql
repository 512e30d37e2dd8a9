-- Functions over queries whose rows have weights: measure => 'weighted_jaccard' and 'weighted_cosine'.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;

CREATE TABLE bags (id int PRIMARY KEY, name text, terms text[], weights real[]);
INSERT INTO bags
SELECT i, 'n' || i, terms, ARRAY(SELECT ((length(t) + ascii(right(t, 1)) + i % 2) % 7 + 1) / 10.0 FROM unnest(terms) WITH ORDINALITY u(t, n) ORDER BY n)
FROM (SELECT i, ARRAY(SELECT 't' || (i / 3) * 5 + j + CASE WHEN j > 6 THEN i % 3 ELSE 0 END FROM generate_series(1, 7 + i % 4) j) AS terms
      FROM generate_series(1, 120) i) s;
INSERT INTO bags VALUES (1000, 'n1000', '{}', '{}'), (1001, 'n1001', NULL, '{1}'), (1002, 'n1002', '{a}', NULL), (1003, 'n1003', '{a,b}', '{0,0}'), (1004, 'n1004', '{a,b}', '{0,0}');
ANALYZE bags;
-- Returns the pairs of bags, compared one by one.
CREATE FUNCTION pairs(measure text) RETURNS TABLE (a int, b int, similarity float8) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT a.id, b.id, s FROM bags a JOIN bags b ON a.id < b.id, %I(a.terms, a.weights, b.terms, b.weights) s WHERE s >= 0.6',
                              measure || '_similarity');
END $$;

-- Returns how many rows two queries have, and how many rows one of them has alone.
CREATE FUNCTION compared(result text, expected text, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT (SELECT count(*) FROM (%1$s) f), (SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d)', result, expected)
    INTO rows, differences;
END $$;
SELECT n, measure, c.* FROM (VALUES
  (1, 'SELECT a, b, similarity FROM similarity_self_join(''SELECT id, terms, weights FROM bags'', 0.6, ''<m>'')',
   'SELECT * FROM pairs(''<m>'')'),
  (2, 'SELECT a, b, similarity FROM similarity_self_join(''SELECT name, terms, weights FROM bags'', 0.6, key => NULL::text, measure => ''<m>'')',
   'SELECT least(''n'' || a, ''n'' || b), greatest(''n'' || a, ''n'' || b), similarity FROM pairs(''<m>'')'),
  (3, 'SELECT a, b, similarity FROM similarity_join(''SELECT id, terms, weights FROM bags WHERE id % 2 = 0'', ''SELECT id, terms, weights FROM bags WHERE id % 2 = 1'', 0.6, measure => ''<m>'')',
   'SELECT CASE a % 2 WHEN 0 THEN a ELSE b END, CASE a % 2 WHEN 0 THEN b ELSE a END, similarity FROM pairs(''<m>'') WHERE a % 2 <> b % 2'),
  (4, 'SELECT a, b, similarity, rank::bigint FROM similarity_neighbors(''SELECT id, terms, weights FROM bags'', ''SELECT id, terms, weights FROM bags'', 2, measure => ''<m>'')',
   'SELECT * FROM (SELECT a.id::bigint, b.id::bigint, s, row_number() OVER (PARTITION BY a.id ORDER BY s DESC, b.id) AS rank
    FROM bags a, bags b, <m>_similarity(a.terms, a.weights, b.terms, b.weights) s WHERE s > 0) r WHERE rank <= 2'),
  (5, 'SELECT id, group_id FROM duplicate_groups(''SELECT id, terms, weights FROM bags'', 0.6, measure => ''<m>'')',
   'SELECT b.id, coalesce(g.component, b.id) FROM bags b LEFT JOIN connected_components(''SELECT a, b FROM pairs(''''<m>'''')'') g ON g.node = b.id')
) q(n, result, expected), unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure,
  compared(replace(result, '<m>', measure), replace(expected, '<m>', measure)) c ORDER BY measure DESC, n;
SELECT measure, method, count(*) FILTER (WHERE is_representative) AS groups, min(similarity) >= 0.6 AS similar
FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, unnest('{components,star,best_link}'::text[]) method,
     duplicate_groups('SELECT id, terms, weights FROM bags', 0.6, measure, method) GROUP BY measure, method ORDER BY measure DESC, method;

-- Copies. An element without weight counts as missing, but makes them different: such rows are joined, the others are not.
CREATE VIEW copies AS
SELECT c.*, terms || name AS marked_terms, CASE WHEN terms IS NOT NULL AND weights IS NOT NULL THEN weights || 0::real END AS marked_weights
FROM (SELECT id * 10 + n AS id, 'n' || id * 10 + n AS name, terms,
             CASE WHEN weights IS NOT NULL THEN ARRAY(SELECT w + CASE n WHEN 4 THEN 0.1 ELSE 0 END FROM unnest(weights) w)::real[] END AS weights
      FROM bags, generate_series(0, 4) n WHERE id % 3 = 0 OR id >= 1000 OR n = id % 4) c;
SELECT measure, count(*), sum(c.differences) AS differences, min(c.rows) AS rows, count(DISTINCT groups) AS different
FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, unnest('{components,star,best_link}'::text[]) method,
     unnest('{smallest_id,first_row}'::text[]) keep, unnest('{0.6,1}'::float8[]) threshold,
     unnest('{"id, %s","name, %s"}'::text[], '{"", ", key => NULL::text"}'::text[]) u(columns, key),
     format('SELECT * FROM duplicate_groups(''SELECT %%s FROM copies ORDER BY md5(name)'', %s%s, measure => %L, method => %L, keep => %L, max_group_share => 1)',
            threshold, key, measure, method, keep) call,
     compared(format(call, format(columns, 'terms, weights')), format(call, format(columns, 'marked_terms, marked_weights'))) c,
     LATERAL (SELECT count(DISTINCT group_id) AS groups FROM duplicate_groups('SELECT id, terms, weights FROM copies', threshold, measure, method)) g
GROUP BY measure ORDER BY measure DESC;
SELECT measure, c.* FROM unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, compared(
  format('SELECT id, group_id FROM duplicate_groups(''SELECT id, terms, weights FROM copies'', 0.9, measure => %L)', measure),
  format('SELECT c.id, coalesce(g.component, c.id) FROM copies c LEFT JOIN connected_components(
    ''SELECT a.id, b.id FROM copies a, copies b WHERE a.id < b.id AND %s_similarity(a.terms, a.weights, b.terms, b.weights) >= 0.9'') g ON g.node = c.id', measure)) c;
DROP VIEW copies;
-- Many of them would be five thousand million pairs.
SET statement_timeout = '30min';
SELECT group_id, count(*), min(similarity) FROM duplicate_groups('SELECT i, ARRAY[3, 1, 3], ARRAY[0.1, 1, 0.1 * (1 + i % 2)]::real[] FROM generate_series(1, 100000) i',
                                                                 1, measure => 'weighted_jaccard', max_group_share => 1) GROUP BY group_id ORDER BY group_id;
RESET statement_timeout;

-- tf-idf of a query is such a query.
SELECT a, b, round(similarity::numeric, 3) AS similarity
FROM similarity_self_join('SELECT * FROM tf_idf($$SELECT id, terms FROM bags WHERE id < 10$$, NULL::text[])', 0.3, 'weighted_jaccard') ORDER BY a, b;

-- So are the sets of a query, whose tokens weigh by their rarity. Common tokens alone make no pair.
SELECT a, b, round(similarity::numeric, 3) AS similarity
FROM similarity_self_join('SELECT * FROM idf($$VALUES (1, ''to be or not''), (2, ''to be or''), (3, ''to be a Hamlet''), (4, ''be a Hamlet''), (5, ''or to be''), (6, ''to be'')$$, tokens => ''words'')',
                          0.6, 'weighted_jaccard') ORDER BY a, b;
SELECT * FROM compared($$SELECT a, b, similarity FROM similarity_self_join('SELECT * FROM idf(''SELECT id, terms FROM bags'')', 0.6, 'weighted_jaccard')$$,
  $$SELECT a.id, b.id, s FROM idf('SELECT id, terms FROM bags') a JOIN idf('SELECT id, terms FROM bags') b ON a.id < b.id,
    weighted_jaccard_similarity(a.terms, a.weights, b.terms, b.weights) s WHERE s >= 0.6$$);

-- Errors.
SELECT * FROM similarity_self_join('SELECT id, terms FROM bags', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT id, terms, weights FROM bags', 0.6);
SELECT * FROM similarity_self_join('SELECT id, terms, weights::float8[] FROM bags', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT name, terms, weights FROM bags', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT 1, ''{a,b}''::text[], ''{1}''::real[]', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT 1, ''{a,b}''::text[], ''{1,-1}''::real[]', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT i % 2, ''{a}''::text[], ''{1}''::real[] FROM generate_series(1, 3) i', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_join('SELECT 1, ''{a}''::text[], ''{1}''::real[]', 'SELECT 1, ''{1}''::int[], ''{1}''::real[]', 0.6, 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT id, terms, weights FROM bags', 1.5, 'weighted_jaccard');
SELECT * FROM similarity_join('SELECT id, terms, weights FROM bags', 'SELECT id, terms, weights FROM bags', 1.5, 'weighted_cosine');
SELECT * FROM similarity_neighbors('SELECT id, terms FROM bags', 'SELECT id, terms FROM bags', 2, measure => 'weighted_cosine');
SELECT * FROM similarity_self_join('SELECT name, terms FROM bags', 0.6, key => NULL::text, measure => 'weighted_jaccard');
SELECT * FROM similarity_self_join('SELECT id, name, weights FROM bags', 0.6, tokens => 'shingles(3)', measure => 'weighted_jaccard');
SELECT * FROM duplicate_groups('SELECT id, name, weights FROM bags', 0.6, tokens => 'shingles(3)', measure => 'weighted_jaccard');

DROP FUNCTION compared, pairs;
DROP TABLE bags;
