-- Near-duplicates among the texts of this machine: PostgreSQL's descriptions of its own objects and settings, and
-- the package descriptions in the file :packages (source, name, text). Writes a page to the file :report.
\set QUIET on
\pset footer off
\pset border 1
SET client_min_messages = warning;

-- This is done before simjoin adds its own descriptions.
CREATE TEMP TABLE descriptions AS
SELECT 'PostgreSQL object' AS source, pg_describe_object(classoid, objoid, objsubid) AS name, description AS body
FROM pg_description
UNION ALL SELECT 'PostgreSQL setting', name, concat_ws(' ', short_desc, extra_desc) FROM pg_settings;

CREATE EXTENSION simjoin;

CREATE TABLE texts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text NOT NULL,
  name text NOT NULL,
  body text NOT NULL,
  tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED
);

CREATE FUNCTION pg_temp.ms(since timestamptz) RETURNS text LANGUAGE sql AS
$$ SELECT to_char(extract(epoch FROM clock_timestamp() - since) * 1000, 'FM999,999,990') || ' ms' $$;

CREATE TEMP TABLE packages (source text, name text, body text);
\set load '\\copy packages FROM ' :'packages'
:load
SELECT clock_timestamp() AS start \gset
INSERT INTO texts (source, name, body) TABLE descriptions UNION ALL TABLE packages;
ANALYZE texts;

\echo
\echo '== The texts, and their sets of 5-character shingles'
SELECT source, count(*) AS texts, round(avg(length(body))) AS "characters each",
       round(avg(cardinality(tokens))) AS "tokens each"
FROM texts GROUP BY source ORDER BY source;
SELECT 'stored, with their shingles, in ' || pg_temp.ms(:'start') AS took \gset
\echo :took

\echo
\echo '== All pairs with Jaccard similarity >= 0.8, of different texts'
SELECT clock_timestamp() AS start \gset
CREATE TEMP TABLE pairs AS
SELECT a.id AS a, b.id AS b, jaccard_similarity(a.tokens, b.tokens) AS similarity
FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8 AND a.body <> b.body;
SELECT pg_temp.ms(:'start') AS join_took, to_char((SELECT count(*) * (count(*) - 1) / 2 FROM texts), 'FM999,999,999,999') AS compared \gset
SELECT floor(similarity * 20) / 20 AS "similarity from", count(*) AS pairs FROM pairs GROUP BY 1 ORDER BY 1 DESC;
\echo 'compared' :compared 'pairs in' :join_took

\echo
\echo '== Examples: two of the longest of each kind'
WITH candidates AS (
  SELECT DISTINCT ON (a.body) p.similarity, a.source, a.name AS name_a, b.name AS name_b, a.body AS body_a,
         b.body AS body_b
  FROM pairs p JOIN texts a ON a.id = p.a JOIN texts b ON b.id = p.b
  WHERE a.source = b.source AND left(a.body, 100) <> left(b.body, 100)
  ORDER BY a.body, p.similarity DESC, b.id
), places AS (
  SELECT *, row_number() OVER (PARTITION BY source ORDER BY least(length(body_a), 200) DESC, name_a) AS place
  FROM candidates
)
SELECT format(E'%s  %s | %s\n   %s\n   %s', round(similarity::numeric, 3), left(name_a, 45), left(name_b, 45),
              left(body_a, 100), left(body_b, 100)) AS example
FROM places WHERE place <= 2 ORDER BY similarity DESC, name_a \g (format=unaligned tuples_only=on)

\echo
\echo '== A page with pairs to judge'
SELECT clock_timestamp() AS start \gset
SELECT similarity_report('SELECT id, body FROM texts', tokens => 'shingles(5)') \g (format=unaligned tuples_only=on) :report
SELECT 'written in ' || pg_temp.ms(:'start') AS took \gset
\echo :report',' :took

\echo
\echo '== Without the join operator: the same pairs, on a sample of 2,500 texts'
CREATE TEMP TABLE sample AS SELECT id, tokens FROM texts ORDER BY md5(id::text) LIMIT 2500;
ANALYZE sample;
\set count 'SELECT count(*) AS found FROM sample a JOIN sample b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5'
SELECT clock_timestamp() AS start \gset
:count \gset
SELECT pg_temp.ms(:'start') AS with_operator \gset
\echo 'simjoin.enable_join = on: ' :found 'pairs,' :with_operator
SET simjoin.enable_join = off;
SELECT clock_timestamp() AS start \gset
:count \gset
SELECT pg_temp.ms(:'start') AS without_operator \gset
\echo 'simjoin.enable_join = off:' :found 'pairs,' :without_operator
RESET simjoin.enable_join;

\echo
\echo '== Groups of duplicates: a view in which one text of each group survives'
SELECT clock_timestamp() AS start \gset
SELECT create_dedup_view('unique_texts', 'SELECT id, tokens FROM texts', 0.8, max_group_share => 1, track_changes => true) \g /dev/null
SELECT 'made in ' || pg_temp.ms(:'start') AS took \gset
SELECT count(*) AS texts, count(*) FILTER (WHERE is_representative) AS survivors, max(size) AS "largest group"
FROM (SELECT *, count(*) OVER (PARTITION BY group_id) AS size FROM unique_texts) u;
\echo :took

\echo
\echo '== The same view after a hundred more texts: only they are joined with the rest'
INSERT INTO texts (source, name, body) SELECT 'copy', name, body || ' (sic)' FROM texts ORDER BY id LIMIT 100;
SELECT clock_timestamp() AS start \gset
SELECT * FROM refresh_dedup_view('unique_texts');
SELECT 'refreshed in ' || pg_temp.ms(:'start') AS took \gset
\echo :took

\echo
\echo '== One new text: is it there already? An index finds out'
SELECT clock_timestamp() AS start \gset
SET maintenance_work_mem = '256MB';
SELECT create_similarity_index('texts', 'tokens', 0.6) \g /dev/null
SELECT 'index made in ' || pg_temp.ms(:'start') AS took \gset
\echo :took
\echo
ANALYZE texts;
CREATE TEMP TABLE new_text AS SELECT body || ' (edited)' AS body FROM texts ORDER BY abs(length(body) - 90), id LIMIT 1;
SELECT left(body, 100) AS "new text" FROM new_text;
SELECT round(jaccard_similarity(tokens, shingles(n.body))::numeric, 3) AS similarity, left(t.body, 90) AS "stored text"
FROM texts t, new_text n WHERE jaccard_similarity(tokens, shingles(n.body)) >= 0.7 ORDER BY 1 DESC, 2 LIMIT 3;
CREATE TEMP TABLE searched AS SELECT body, tokens FROM texts ORDER BY md5(id::text) LIMIT 100;
ANALYZE searched;
SELECT clock_timestamp() AS start \gset
SELECT count(*) AS found FROM searched s, LATERAL (SELECT FROM texts t WHERE jaccard_similarity(t.tokens, s.tokens) >= 0.8 OFFSET 0) x \gset
SELECT pg_temp.ms(:'start') AS by_index, :found AS found_by_index \gset
\echo 'for 100 stored texts, all similar ones (0.8):' :found 'in' :by_index
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS has_trgm \gset
\if :has_trgm
CREATE EXTENSION pg_trgm;
CREATE INDEX ON texts USING gin (body gin_trgm_ops);
SET pg_trgm.similarity_threshold = 0.8;
SELECT clock_timestamp() AS start \gset
SELECT count(*) AS found FROM searched s, LATERAL (SELECT FROM texts t WHERE t.body % s.body OFFSET 0) x \gset
SELECT pg_temp.ms(:'start') AS took \gset
\echo 'the same with pg_trgm (its trigrams, GIN):   ' :found 'in' :took
\endif

\echo
\echo '== How PostgreSQL runs the join'
EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF)
SELECT a.name, b.name
FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;

\echo
\echo '== In short'
\echo 'all pairs of the texts: ' :compared 'compared in' :join_took
\echo 'pairs of 2,500 texts:   ' :with_operator 'with the join operator,' :without_operator 'without'
\if :has_trgm
\echo '100 texts looked up:    ' :found_by_index 'found in' :by_index 'by an index,' :found 'in' :took 'by one of pg_trgm'
\else
\echo '100 texts looked up:    ' :found_by_index 'found in' :by_index 'by an index'
\endif

\echo
\echo '== What to do next'
\echo 'Judge pairs in a browser:   ' :report
\echo 'Load your own texts:         docs/recipes/deduplicate-a-table.md'
\echo 'Look up new rows:            docs/reference/set-index.md'
\echo 'Install it in your server:   README.md, Install'
