-- The data of a report, which its page shows: those of the functions that it calls, and the rows that are shown.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA report_test;
SET search_path = report_test, public;

CREATE TABLE notes (id bigint PRIMARY KEY, body text);
INSERT INTO notes SELECT 9007199254740992 + i, 'note ' || i / 3 || ' about the history of rivers' || CASE WHEN i % 3 = 1 THEN ' and lakes' ELSE '' END
FROM generate_series(1, 30) i;
INSERT INTO notes VALUES (1, 'n/a'), (2, 'n/a'), (3, 'n/a'), (4, NULL), (5, ''), (6, E' \t\n'), (7, '</script>' || chr(8232) || '<b>&'), (8, '</script>' || chr(8232) || '<b>&');
CREATE FUNCTION data_of(page text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
$$ SELECT substring(page FROM '<script type="application/json" id="data">(.*?)</script>')::jsonb $$;
CREATE TABLE reports AS
SELECT data_of(similarity_report('TABLE notes', '{0.9,0.8,1,0.9}', tokens => 'shingles(3)', pairs_shown => 2)) AS page;

SELECT page->'rows' AS rows, page->'nulls' AS nulls, page->'blank' AS blank,
       page #>> '{data,query}' AS query, page #>> '{data,measure}' AS measure, page #>> '{data,tokens}' AS tokens, page #>> '{data,key}' AS key, page #> '{data,group_threshold}' AS "group threshold"
FROM reports;
-- Its numbers and pairs are those of the profile, which draws others than the least similar pairs. Ids are texts, because numbers of JavaScript would be rounded.
SELECT threshold, p.pairs = (s->'pairs')::bigint AND p.equal_pairs = (s->'equal_pairs')::bigint AND p.rows_with_partner = (s->'rows')::bigint AND p.groups = (s->'groups')::bigint AS numbers,
       (SELECT jsonb_agg(jsonb_build_object('ids', jsonb_build_array(e->>'a', e->>'b'), 'similarity', e->'similarity')) FROM jsonb_array_elements(p.examples) e) = s->'examples' AS examples,
       (SELECT jsonb_agg(jsonb_build_object('ids', jsonb_build_array(e->>'a', e->>'b'), 'similarity', e->'similarity')) FROM jsonb_array_elements(p.drawn) e) = s->'drawn' AS drawn,
       jsonb_array_length(p.examples) AS shown, jsonb_array_length(p.drawn) AS others, p.examples @> p.drawn OR p.drawn @> p.examples AS repeated, s->'equal' AS equal
FROM reports, similarity_profile('TABLE notes', '{1,0.9,0.8}', tokens => 'shingles(3)', pairs_shown => 2) p JOIN jsonb_array_elements(page #> '{data,steps}') s ON (s->>'threshold')::float8 = p.threshold
ORDER BY threshold DESC;
-- Drawn pairs are pairs of their step, another seed draws others, and the same draws the same.
SELECT threshold, count(*) AS drawn, bool_and(j.similarity IS NOT NULL AND j.similarity = (d->>'similarity')::float8 AND j.similarity >= threshold AND (threshold = 0.9 OR j.similarity < 0.9)) AS right,
       p.drawn = ANY (SELECT drawn FROM similarity_profile('TABLE notes', '{0.9,0.8}', seed => 1, tokens => 'shingles(3)', pairs_shown => 5)) AS same,
       p.drawn = ANY (SELECT drawn FROM similarity_profile('TABLE notes', '{0.9,0.8}', seed => 2, tokens => 'shingles(3)', pairs_shown => 5)) AS "with another seed"
FROM similarity_profile('TABLE notes', '{0.9,0.8}', tokens => 'shingles(3)', pairs_shown => 5) p, jsonb_array_elements(p.drawn) d
  LEFT JOIN similarity_self_join('TABLE notes', 0.8, tokens => 'shingles(3)') j ON j.a = (d->>'a')::bigint AND j.b = (d->>'b')::bigint
GROUP BY threshold, p.drawn ORDER BY threshold DESC;
-- Its groups are those of duplicate_groups.
SELECT jsonb_path_query_array(g, '$[0 to 7]') = jsonb_path_query_array(page, '$.data.largest[*].rows') AS largest, page #> '{data,largest,0}' AS first,
       (SELECT jsonb_agg(jsonb_build_object('bucket', width_bucket(rows, '{2,3,4,5,10,20,50,100,1000,10000}'), 'groups', groups, 'rows', groups * rows) ORDER BY rows)
        FROM (SELECT rows, count(*) AS groups FROM jsonb_array_elements(g) e, LATERAL (SELECT e::text::bigint) r (rows) GROUP BY rows) s) = page #> '{data,sizes}' AS sizes
FROM reports, (SELECT jsonb_agg(n ORDER BY n DESC) AS g FROM (SELECT count(*) AS n FROM duplicate_groups('TABLE notes', 0.9, tokens => 'shingles(3)') GROUP BY group_id HAVING count(*) > 1) c) g;
-- The rows of all these ids, each once.
SELECT count(*) AS rows, count(DISTINCT t->>0) AS different, bool_and(t->>1 = body AND (t->2)::int = length(body)) AS right
FROM reports, jsonb_array_elements(page->'texts') t LEFT JOIN notes ON id = (t->>0)::bigint;
SELECT t FROM reports, jsonb_array_elements(page->'texts') t WHERE t->>0 IN ('1', '7') ORDER BY t->>0;

-- Long texts and large sets are cut.
SELECT t->>0 AS id, length(t->>1) AS shown, t->2 AS size
FROM jsonb_array_elements(data_of(similarity_report($$SELECT i, repeat('äöü ', 2000 + i) FROM generate_series(1, 2) i$$, tokens => 'words'))->'texts') t ORDER BY id;
SELECT t->>0 AS id, jsonb_array_length(t->1) AS shown, t->2 AS size, length(t->1->>0) AS first
FROM jsonb_array_elements(data_of(similarity_report(
  $$SELECT i, ARRAY[repeat('x', 300)] || ARRAY(SELECT j::text FROM generate_series(1, 2000) j) FROM generate_series(1, 2) i$$))->'texts') t ORDER BY id;

-- A sample, another measure, keys of several types, and no pairs at all.
SELECT (page #>> '{data,steps,0,pairs_error}')::int > 0 AS estimated, page #> '{data,sample}' AS sample, page->'rows' AS rows, page #> '{data,group_threshold}' AS "group threshold"
FROM data_of(similarity_report('SELECT i, ARRAY[i / 2, i / 2 + 1] FROM generate_series(1, 300) i', '{2,1}', 'overlap', sample => 100, group_threshold => 2)) page;
SELECT page #> '{data,steps,0,examples}' AS examples, page #> '{data,largest}' AS largest, page->'texts' AS texts, page #> '{data,key}' AS key
FROM (VALUES (similarity_report($$SELECT i = 1, '{1,2}'::int[] FROM generate_series(1, 2) i$$, '{1}', key => NULL::bool)),
             (similarity_report($$SELECT ROW(i, 'x"y'::text), '{a,b}'::text[] FROM generate_series(1, 2) i$$, '{1}', key => NULL::record)),
             (similarity_report($$SELECT ARRAY[i], 'a b'::tsvector FROM generate_series(1, 2) i$$, '{1}', key => NULL::int[])),
             (similarity_report('SELECT 1, ''{1}''::int[]', '{1}')),
             (similarity_report('SELECT 1, ''{1}''::int[] WHERE false', '{1}'))) r (report), data_of(report) page;
-- What is wrong is said without the statements inside.
SELECT similarity_report('TABLE notes', tokens => 'shingles(3)', pairs_shown => 21);
SELECT similarity_report('TABLE notes', tokens => 'shingles(3)', group_threshold => 80);
SELECT similarity_report('TABLE notes', tokens => 'shingles(3)', measure => 'containment');
\set SHOW_CONTEXT never
SELECT similarity_report('TABLE notes', '{80}', tokens => 'shingles(3)');
SELECT similarity_report('notes', tokens => 'shingles(3)');
SELECT similarity_report(NULL);

DROP SCHEMA report_test CASCADE;
