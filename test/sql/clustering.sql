-- tf_idf, cluster_documents and cluster_stream.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET simjoin.device = 'cpu';

-- tf-idf, against its formula in SQL.
CREATE TABLE bags (id int, words text[]);
INSERT INTO bags VALUES
  (1, '{the,cat,sat,on,the,mat}'), (2, '{the,dog,sat}'), (3, '{a,cat,and,a,dog,and,a,cat}'), (4, '{}'), (5, NULL),
  (6, '{the}');
SELECT id, terms, weights::numeric(5,4)[] FROM tf_idf('SELECT * FROM bags ORDER BY id');
SELECT id, terms FROM tf_idf('SELECT * FROM bags ORDER BY id', 2);
WITH counts AS (
  SELECT id, word, count(*) AS tf FROM bags, unnest(words) word GROUP BY id, word
), scores AS (
  SELECT id, word, tf * (ln((1 + 5)::float8 / (1 + count(*) OVER (PARTITION BY word))) + 1) AS score FROM counts
), expected AS (
  SELECT id, word, score / sqrt(sum(score ^ 2) OVER (PARTITION BY id)) AS weight FROM scores
)
SELECT count(*), max(abs(e.weight - r.weight)) < 1e-6 AS equal
FROM expected e FULL JOIN (SELECT id, word, weight FROM tf_idf('SELECT * FROM bags') t, unnest(t.terms, t.weights) u(word, weight)) r
  USING (id, word);
-- Terms of other types; their order in the document does not matter.
SELECT * FROM tf_idf('SELECT 1, ARRAY[7, 7, -3] UNION ALL SELECT 2, ARRAY[7]', kind => NULL::int[]);
SELECT pg_typeof(terms), terms FROM tf_idf('SELECT 1, ARRAY[9223372036854775807, 2, 2]', kind => NULL::bigint[]);
SELECT bool_and(a.weights = b.weights AND a.terms = b.terms) AS same
FROM tf_idf('SELECT * FROM bags') a
     JOIN tf_idf('SELECT id, ARRAY(SELECT w FROM unnest(words) w ORDER BY w DESC) FROM bags WHERE words IS NOT NULL') b USING (id)
WHERE cardinality(a.terms) > 0;
SELECT * FROM tf_idf(NULL, 1);
SELECT * FROM tf_idf('SELECT 1, ''{}''::text[] WHERE false');

-- idf: the same without the count and the length, against its formula in SQL.
SELECT * FROM idf('SELECT * FROM bags ORDER BY id');
WITH words AS (
  SELECT DISTINCT id, word FROM bags, unnest(words) word
), expected AS (
  SELECT id, word, (ln((1 + 4)::float8 / (1 + count(*) OVER (PARTITION BY word))) + 1)::real AS weight FROM words
)
SELECT count(*), count(*) FILTER (WHERE e.weight IS DISTINCT FROM r.weight) AS differences
FROM expected e FULL JOIN (SELECT id, word, weight FROM idf('SELECT * FROM bags') t, unnest(t.terms, t.weights) u(word, weight)) r
  USING (id, word);
SELECT pg_typeof(terms), terms, weights FROM idf('SELECT 1, ARRAY[7, 7, -3] UNION ALL SELECT 2, ARRAY[7]', NULL::int[]);
SELECT pg_typeof(terms), terms, weights FROM idf('SELECT 1, ARRAY[9223372036854775807, 2, 2]', kind => NULL::bigint[]);
SELECT pg_typeof(id), id, terms FROM idf('SELECT id::text, words FROM bags ORDER BY bags.id', NULL::text[], key => NULL::text) LIMIT 2;
SELECT * FROM idf(NULL);
SELECT * FROM idf('SELECT * FROM bags WHERE id > 6');
-- Texts with a tokenizer and tsvectors are the sets that they make.
CREATE VIEW bodies AS SELECT id, array_to_string(words, ' ') AS body FROM bags;
CREATE TABLE same_idf AS
SELECT 'words' AS tokens, x.*, y.terms AS y_terms, y.weights AS y_weights
FROM idf('SELECT id, body FROM bodies', tokens => 'words(english)') x
     FULL JOIN idf('SELECT id, tsvector_to_array(to_tsvector(''english'', body)) FROM bodies') y USING (id)
UNION ALL
SELECT 'tsvector', x.*, y.terms, y.weights
FROM idf('SELECT id, to_tsvector(''english'', body) FROM bodies') x FULL JOIN idf('SELECT id, body FROM bodies', tokens => 'words(english)') y USING (id)
UNION ALL
SELECT 'shingles', x.id, x.terms::text[], x.weights, y.terms::text[], y.weights
FROM idf('SELECT id, body FROM bodies', NULL::int[], tokens => 'shingles(3)') x
     FULL JOIN idf('SELECT id, shingles(body, 3) FROM bodies', NULL::int[]) y USING (id)
UNION ALL
SELECT 'word_shingles64', x.id::int, x.terms::text[], x.weights, y.terms::text[], y.weights
FROM idf('SELECT id::numeric, body FROM bodies', NULL::bigint[], key => NULL::numeric, tokens => 'word_shingles64(2)') x
     FULL JOIN idf('SELECT id, word_shingles64(body, 2) FROM bodies', NULL::bigint[]) y ON y.id = x.id;
SELECT tokens, count(*), count(*) FILTER (WHERE (terms, weights) IS DISTINCT FROM (y_terms, y_weights)) AS differences, sum(cardinality(terms)) > 3 AS some
FROM same_idf GROUP BY tokens ORDER BY tokens;
DROP TABLE same_idf;
DROP VIEW bodies;
SELECT * FROM idf('SELECT 1, ARRAY[1]');
SELECT * FROM idf('SELECT 1, ''a b''', tokens => 'shingles(1)');
SELECT * FROM idf('SELECT 1, ''a b''');
SELECT * FROM idf('SELECT 1, ARRAY[''a'', NULL]');
SELECT * FROM idf('SELECT ''x'', ARRAY[''a'']');
SELECT * FROM idf('SELECT NULL::int, ARRAY[''a'']');
SELECT * FROM idf('SELECT 1, ARRAY[1.5]', NULL::numeric[]);
SELECT * FROM idf('SELECT 1, ARRAY[1], ARRAY[1]::real[]', NULL::int[]);

-- Clusters: the most similar centroid, the older of two equal ones, and a similarity equal to the threshold.
CREATE TABLE docs (id bigint, terms int[], weights real[]);
INSERT INTO docs VALUES
  (10, '{1,2}', '{1,1}'),        -- begins 1
  (11, '{3,4}', '{1,1}'),        -- begins 2
  (12, '{1,2}', '{2,2}'),        -- joins 1: weights are made unit length
  (13, '{1,3}', '{1,1}'),        -- 0.5 to both: joins the older one at 0.5
  (14, '{}', '{}'),              -- no terms: a cluster of its own
  (15, '{5}', '{0}'),            -- a weight of zero: no terms either
  (16, NULL, NULL),
  (17, '{4,3,3}', '{2,1,1}'),    -- terms in any order, repeated ones add up: joins 2
  (18, '{3,4,6}', '{1,1,0.5}');
SELECT * FROM cluster_documents('SELECT * FROM docs ORDER BY id', 0.5, batch => 1024);
SELECT * FROM cluster_documents('SELECT * FROM docs ORDER BY id', 0.5);
SELECT * FROM cluster_documents('SELECT * FROM docs ORDER BY id', 0.9, max_terms => 1);
SELECT * FROM cluster_documents('SELECT id, terms::text[], weights FROM docs ORDER BY id DESC', 1);
SELECT * FROM cluster_documents('SELECT id, terms::bigint[], weights FROM docs WHERE false', 1);
-- Copies in one batch are one cluster.
SELECT cluster, count(*) FROM cluster_documents('SELECT i, ARRAY[i % 3], ARRAY[1]::real[] FROM generate_series(1, 3000) i', 0.8, batch => 1024)
GROUP BY cluster ORDER BY cluster;

-- A collection of stories.
CREATE TABLE news AS
SELECT id, array_agg(term ORDER BY term) AS terms, array_agg((1 + (hashint4(id * 31 + term) & 3))::real ORDER BY term) AS weights
FROM (SELECT DISTINCT id,
             CASE WHEN hashint4(id * 100 + j) % 4 = 0 THEN abs(hashint4(id * 7 + j)) % 50
                  ELSE 1000 + abs(hashint4(id)) % 40 * 10 + abs(hashint4(id * 13 + j)) % 10 END AS term
      FROM generate_series(1, 1500) id, generate_series(1, 12) j) t
GROUP BY id;
CREATE TABLE at_once AS SELECT * FROM cluster_documents('SELECT * FROM news ORDER BY id', 0.5, 10, 64);
SELECT count(*), count(DISTINCT cluster), count(similarity), min(similarity) >= 0.5 AS above FROM at_once;

-- The serial algorithm by definition, in SQL.
CREATE FUNCTION cluster_naively(threshold float8, max_terms int) RETURNS TABLE (id int, cluster int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE doc record; best int; clusters int := 0;
BEGIN
  CREATE TEMP TABLE sums (cluster int, term int, sum float8, PRIMARY KEY (cluster, term));
  FOR doc IN SELECT n.id, n.terms, ARRAY(SELECT w / |/ sum(w::float8 ^ 2) OVER () FROM unnest(n.weights) w) AS weights
             FROM news n ORDER BY n.id LIMIT 400 LOOP
    SELECT s.cluster INTO best
    FROM sums s JOIN unnest(doc.terms, doc.weights) d (term, weight) USING (term)
         JOIN (SELECT cluster, |/ sum(sum ^ 2) AS length FROM sums GROUP BY cluster) l USING (cluster)
    GROUP BY s.cluster HAVING sum(weight * sum / length) >= threshold
    ORDER BY sum(weight * sum / length) DESC, s.cluster LIMIT 1;
    IF best IS NULL THEN
      clusters := clusters + 1;
      best := clusters;
    END IF;
    INSERT INTO sums SELECT best, d.term, d.weight FROM unnest(doc.terms, doc.weights) d (term, weight)
    ON CONFLICT (cluster, term) DO UPDATE SET sum = sums.sum + EXCLUDED.sum;
    DELETE FROM sums s WHERE s.cluster = best AND s.term IN
      (SELECT term FROM sums WHERE cluster = best ORDER BY sum DESC, term OFFSET max_terms);
    RETURN QUERY SELECT doc.id, best;
  END LOOP;
END $$;
SELECT count(*), count(DISTINCT n.cluster) > 50 AS many, count(*) FILTER (WHERE n.cluster <> c.cluster) AS different
FROM cluster_naively(0.5, 10) n
     JOIN cluster_documents('SELECT * FROM news ORDER BY id LIMIT 400', 0.5, 10) c USING (id);
-- It is the default, and batches give other clusters.
SELECT cluster_stream_create('serial', NULL::int[]);
SELECT count(*), count(*) FILTER (WHERE d.cluster <> o.cluster) AS default_different, count(*) FILTER (WHERE s.cluster <> o.cluster) AS stream_different,
       count(*) FILTER (WHERE b.cluster <> o.cluster) > 0 AS batches_different
FROM cluster_documents('SELECT * FROM news ORDER BY id', 0.5, 10, 1) o
     JOIN cluster_documents('SELECT * FROM news ORDER BY id', 0.5, 10) d USING (id)
     JOIN cluster_stream('serial', 'SELECT * FROM news ORDER BY id', 0.5, 10) s USING (id)
     JOIN cluster_documents('SELECT * FROM news ORDER BY id', 0.5, 10, 1024) b USING (id);
DROP TABLE serial;

-- The clusters are the same in one call or in many, wherever the calls end.
SELECT cluster_stream_create('stream', NULL::int[]);
SELECT cluster_stream_create('bigs', NULL::bigint[]);
SELECT cluster_stream_create('"Of Texts"');
\d stream
CREATE FUNCTION in_calls(state regclass, a_call int, type text, options text DEFAULT 'batch => 64') RETURNS TABLE (id bigint, cluster bigint, similarity float8)
LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..1500 BY a_call LOOP
    RETURN QUERY EXECUTE format('SELECT * FROM cluster_stream(%L, %L, threshold => 0.5, max_terms => 10, %s)', state, format(
      'SELECT id, terms::%s[], weights FROM news WHERE id BETWEEN %s AND %s ORDER BY id', type, i, i + a_call - 1), options);
  END LOOP;
END $$;
SELECT count(*), count(*) FILTER (WHERE (a.cluster, a.similarity) IS DISTINCT FROM (b.cluster, b.similarity)) AS different
FROM in_calls('stream', 100, 'int') a FULL JOIN at_once b USING (id);
SELECT count(*), count(*) FILTER (WHERE (a.cluster, a.similarity) IS DISTINCT FROM (b.cluster, b.similarity)) AS different
FROM in_calls('bigs', 333, 'bigint') a FULL JOIN at_once b USING (id);
SELECT count(*), count(*) FILTER (WHERE (a.cluster, a.similarity) IS DISTINCT FROM (b.cluster, b.similarity)) AS different
FROM in_calls('"Of Texts"', 450, 'text') a
     FULL JOIN cluster_documents('SELECT id, terms::text[], weights FROM news ORDER BY id', 0.5, 10, 64) b USING (id);
SELECT count(*), sum(documents), count(*) FILTER (WHERE is_open) > 0 AS open, count(pending_sums) > 0 AS pending FROM stream;
SELECT count(*) FROM stream s FULL JOIN (SELECT cluster, count(*) AS documents FROM at_once GROUP BY cluster) a USING (cluster, documents)
WHERE s.terms IS NULL OR a.cluster IS NULL;
-- The heaviest terms come first, and all types give the same clusters.
SELECT bool_and(sums = ARRAY(SELECT s FROM unnest(sums) s ORDER BY s DESC)) AS ordered, max(cardinality(terms)) FROM stream;
SELECT count(*) FROM stream a FULL JOIN bigs b USING (cluster)
WHERE (a.documents, a.terms::bigint[], a.sums, a.is_open, a.pending_terms::bigint[], a.pending_sums)
      IS DISTINCT FROM (b.documents, b.terms, b.sums, b.is_open, b.pending_terms, b.pending_sums);

-- Clusters that come together: after two documents between them, in the first of them.
CREATE TABLE bridged (id smallint, terms int[], weights real[]);
INSERT INTO bridged VALUES (1, '{1,2}', '{1,1}'), (2, '{3,4}', '{1,1}'), (3, '{1,2,3,4}', '{1,1,1,1}'), (4, '{1,2,3,4}', '{1,1,1,1}'),
  (5, '{9}', '{1}');
SELECT id, cluster, similarity::numeric(4,3) FROM cluster_documents('SELECT * FROM bridged ORDER BY id', 0.6, 20, 1, merge => 0.5);
SELECT id, cluster FROM cluster_documents('SELECT * FROM bridged ORDER BY id', 0.6, 20, 1, merge => 0.51);
SELECT id, cluster FROM cluster_documents('SELECT * FROM bridged ORDER BY id', 0.6, 20, 1, 0.5, NULL::smallint);
-- The last batch ends with the query.
SELECT id, cluster FROM cluster_documents('SELECT ''id '' || id, terms::text[], weights FROM bridged ORDER BY id', 0.6, 20, 1024, 0.4, key => NULL::text);
SELECT * FROM cluster_documents('SELECT * FROM bridged WHERE false', 0.6, 20, 1024, 0.4);
SELECT * FROM cluster_documents(NULL, 0.6, 20, 1024, 0.4);
-- A stream tells which clusters have become part of which.
SELECT cluster_stream_create('bridge', NULL::int[]);
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged WHERE id <= 3 ORDER BY id', 0.6, 20, 1, merge => 0.5);
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged WHERE id = 4', 0.6, 20, 1, merge => 0.5);
TABLE bridge;
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged WHERE id IN (2, 5) ORDER BY id', 0.6, 20, 1);
-- The row of a cluster that has become part of another one may be deleted, and so may that other one.
BEGIN;
DELETE FROM bridge WHERE merged_into IS NOT NULL;
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged WHERE id = 2', 0.6, 20, 1, merge => 0.5);
ROLLBACK;
BEGIN;
DELETE FROM bridge WHERE cluster = 1;
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged WHERE id IN (1, 5) ORDER BY id', 0.6, 20, 1, merge => 0.5);
SELECT cluster, documents, merged_into FROM bridge ORDER BY cluster;
ROLLBACK;
-- Other changes of such a row.
CREATE FUNCTION after_change(change text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'UPDATE bridge SET ' || change;
  PERFORM * FROM cluster_stream('bridge', 'SELECT * FROM bridged', 0.6, 20, 1);
  RETURN 'taken';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT change, after_change(change) FROM unnest(ARRAY[
  'merged_into = 2 WHERE cluster = 2', 'merged_into = 3 WHERE cluster = 2', 'merged_into = 0 WHERE cluster = 2', 'merged_into = -7 WHERE cluster = 2',
  'merged_into = NULL WHERE cluster = 2', 'documents = 1 WHERE cluster = 2', 'is_open = true WHERE cluster = 2', 'sums = ''{5}'' WHERE cluster = 2',
  'terms = ''{5}'' WHERE cluster = 2', 'terms = ''{5}'', sums = ''{5}'' WHERE cluster = 2', 'pending_terms = ''{}'', pending_sums = ''{}'' WHERE cluster = 2',
  'merged_into = 1 WHERE cluster = 3', 'merged_into = 2, documents = 0, terms = ''{}'', sums = ''{}'' WHERE cluster = 3',
  'is_open = true WHERE cluster = 1', 'merged_into = 1 WHERE cluster = 2']) change;
-- A table of version 0.1.0.
ALTER TABLE bridge DROP COLUMN merged_into;
SELECT * FROM cluster_stream('bridge', 'SELECT * FROM bridged', 0.6, 20, 1, merge => 0.5);
DELETE FROM bridge WHERE documents = 0;
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged ORDER BY id', 0.6, 20, 1);
ALTER TABLE bridge ADD COLUMN merged_into bigint;
SELECT id, cluster FROM cluster_stream('bridge', 'SELECT * FROM bridged ORDER BY id', 0.6, 20, 1, merge => 0.5);
SELECT cluster, documents, merged_into FROM bridge ORDER BY cluster;
-- Whole batches merge the same clusters in one call and in many.
CREATE TABLE merged_at_once AS SELECT * FROM cluster_documents('SELECT * FROM news ORDER BY id', 0.5, 10, 50, merge => 0.4);
SELECT count(*), count(DISTINCT cluster) < (SELECT count(DISTINCT cluster) FROM at_once) - 50 AS fewer FROM merged_at_once;
SELECT cluster_stream_create('merging', NULL::int[]);
CREATE TABLE merged_in_calls AS SELECT * FROM in_calls('merging', 70, 'int', 'batch => 50, merge => 0.4');
SELECT count(*), count(*) FILTER (WHERE i.cluster <> a.cluster) > 0 AS moved,
       count(*) FILTER (WHERE (coalesce(s.merged_into, s.cluster), i.similarity) IS DISTINCT FROM (a.cluster, a.similarity)) AS different
FROM merged_in_calls i JOIN merging s USING (cluster) FULL JOIN merged_at_once a USING (id);
SELECT sum(documents), count(*) FILTER (WHERE merged_into IS NOT NULL) > 50 AS merged,
       bool_and(merged_into IS NULL OR documents = 0 AND terms = '{}' AND merged_into < cluster) AS empty FROM merging;
SELECT count(*) AS chains FROM merging a JOIN merging b ON a.merged_into = b.cluster WHERE b.merged_into IS NOT NULL;
DROP TABLE bridged, bridge, merging, merged_at_once, merged_in_calls;
DROP FUNCTION after_change;

-- Transactions: a call that is rolled back leaves no trace. Two calls in one statement see each other.
CREATE TABLE before AS SELECT * FROM stream;
BEGIN;
SELECT count(*) FROM cluster_stream('stream', 'SELECT id, terms, weights FROM news WHERE id < 200 ORDER BY id', 0.5, 10, 64);
SAVEPOINT s;
SELECT count(*) FROM cluster_stream('stream', 'SELECT 1, ''{77777}''::int[], ''{1}''::real[]', 0.6);
ROLLBACK TO s;
SELECT count(*) FROM stream WHERE terms = '{77777}';
ROLLBACK;
SELECT count(*) FROM (TABLE stream EXCEPT ALL TABLE before) d;
SELECT a.id, b.id, a.cluster - (SELECT max(cluster) FROM before) AS a, b.cluster - (SELECT max(cluster) FROM before) AS b
FROM cluster_stream('stream', 'SELECT 1, ''{77777}''::int[], ''{1}''::real[]', 0.6) a
     JOIN cluster_stream('stream', 'SELECT 1, ''{77777}''::int[], ''{1}''::real[]', 0.6) b USING (id);
-- Clusters can be deleted.
DELETE FROM stream WHERE documents < 5;
SELECT count(DISTINCT c.cluster) > 0 AS found, bool_and(s.cluster IS NOT NULL) AS known
FROM cluster_stream('stream', 'SELECT * FROM news ORDER BY id LIMIT 100', 0.5, 10, 64) c LEFT JOIN stream s USING (cluster);
ALTER TABLE stream RENAME TO renamed;
SELECT count(*) FROM cluster_stream('renamed', 'SELECT * FROM news WHERE false', 0.6);

-- A role that may not change the table may not continue the stream.
CREATE ROLE clustering_reader;
GRANT SELECT ON renamed, news TO clustering_reader;
SET ROLE clustering_reader;
SELECT count(*) FROM cluster_stream('renamed', 'SELECT * FROM news', 0.6);
RESET ROLE;
GRANT INSERT, UPDATE ON renamed TO clustering_reader;
SET ROLE clustering_reader;
SELECT count(*) FROM cluster_stream('renamed', 'SELECT * FROM news LIMIT 10', 0.6);
RESET ROLE;
DROP OWNED BY clustering_reader;
DROP ROLE clustering_reader;

-- Wrong arguments give errors that say what to do.
SELECT * FROM cluster_documents('SELECT * FROM docs', 0);
SELECT * FROM cluster_documents('SELECT * FROM docs', 1.01);
SELECT * FROM cluster_documents('SELECT * FROM docs', 'NaN');
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 0);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 65536);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 0);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 1024, merge => 0);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 1024, merge => 1.01);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 1024, merge => 'NaN');
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 1024, merge => NULL);
SELECT * FROM cluster_documents('SELECT * FROM docs', 0.5, 20, 1024, NULL::int);
SELECT * FROM cluster_documents('SELECT id, terms FROM docs', 0.5);
SELECT * FROM cluster_documents('SELECT id, terms, weights::float8[] FROM docs', 0.5);
SELECT * FROM cluster_documents('SELECT NULL::int, terms, weights FROM docs', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{1,2}''::int[], ''{1}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{1}''::int[], ''{-1}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{1}''::int[], ''{NaN}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{1}''::int[], ''{Infinity}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{NULL}''::int[], ''{1}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{1}''::int[], ''{NULL}''::real[]', 0.5);
SELECT * FROM cluster_documents('SELECT 1, ''{{1}}''::int[], ''{1}''::real[]', 0.5);
SELECT * FROM cluster_documents('DELETE FROM docs RETURNING id, terms, weights', 0.5);
SELECT * FROM tf_idf('SELECT * FROM bags', 0);
SELECT * FROM tf_idf('SELECT id, terms FROM docs');
SELECT * FROM tf_idf('SELECT 1, ''{1}''::int[]');
SELECT * FROM tf_idf('SELECT 1, ''{1}''::int[]', NULL::bigint[]);
SELECT * FROM tf_idf('SELECT 1, ''{1}''::int[]', NULL::float8[]);
SELECT * FROM tf_idf('SELECT 1, ARRAY[''a'', NULL]');
SELECT cluster_stream_create('renamed');
SELECT cluster_stream_create(NULL);
SELECT cluster_stream_create('dates', NULL::date[]);
SELECT * FROM cluster_stream('docs', 'SELECT * FROM docs', 0.5);
-- Relations without the columns of a stream, with a dropped column or one of another type, and relations that are not plain tables.
CREATE TABLE no_stream (LIKE renamed INCLUDING ALL);
ALTER TABLE no_stream DROP COLUMN terms;
SELECT * FROM cluster_stream('no_stream', 'SELECT * FROM docs', 0.5);
ALTER TABLE no_stream ADD COLUMN terms jsonb;
SELECT * FROM cluster_stream('no_stream', 'SELECT * FROM docs', 0.5);
CREATE VIEW stream_view AS SELECT * FROM renamed;
SELECT * FROM cluster_stream('stream_view', 'SELECT * FROM docs', 0.5);
CREATE TABLE stream_parts (LIKE renamed) PARTITION BY RANGE (cluster);
SELECT * FROM cluster_stream('stream_parts', 'SELECT * FROM docs', 0.5);
SELECT * FROM cluster_stream('pg_class', 'SELECT * FROM docs', 0.5);
SELECT * FROM cluster_stream(1::oid::regclass, 'SELECT * FROM docs', 0.5);
DROP TABLE no_stream, stream_parts;
DROP VIEW stream_view;
SELECT * FROM cluster_stream('renamed', 'SELECT id, terms::text[], weights FROM docs', 0.5);
SELECT * FROM cluster_stream('renamed', 'SELECT * FROM docs', 2);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM cluster_stream('renamed', 'SELECT * FROM docs', 0.5);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT cluster_stream_create('fresh', NULL::int[]);
SELECT count(*) FROM cluster_stream('fresh', 'SELECT * FROM docs', 0.5);
ROLLBACK;
UPDATE bigs SET sums = sums[2:] WHERE cluster = 7;
SELECT * FROM cluster_stream('bigs', 'SELECT id, terms::bigint[], weights FROM docs', 0.5);
UPDATE bigs SET sums = array_append(sums, 0) WHERE cluster = 7;
SELECT * FROM cluster_stream('bigs', 'SELECT id, terms::bigint[], weights FROM docs', 0.5);
DELETE FROM bigs WHERE cluster = 7;
UPDATE bigs SET is_open = true WHERE cluster = 3;
SELECT * FROM cluster_stream('bigs', 'SELECT id, terms::bigint[], weights FROM docs', 0.5);

-- The memory limit is for the clusters and their terms, not for all documents.
SET simjoin.memory_limit = '2MB';
SELECT count(*), count(DISTINCT cluster) FROM cluster_documents(
  'SELECT i, ARRAY(SELECT i % 10 * 20 + j FROM generate_series(1, 20) j), array_fill(1::real, ARRAY[20]) FROM generate_series(1, 20000) i', 0.5);
-- Documents that wait until all are merged go to a temporary file.
SELECT cluster, count(*), count(*) FILTER (WHERE id % 3 <> cluster - 1) AS wrong FROM cluster_documents(
  'SELECT i, ARRAY[i % 3, 10 + i % 6], ''{3, 1}''::real[] FROM generate_series(0, 59999) i', 0.95, 20, 1024, merge => 0.85)
GROUP BY cluster ORDER BY cluster;
SELECT count(*) FROM cluster_documents(
  'SELECT i, ARRAY[3 * i, 3 * i + 1, 3 * i + 2], ''{1, 1, 1}''::real[] FROM generate_series(1, 100000) i', 0.5);
SELECT cluster_stream_create('much', NULL::int[]);
SELECT count(*) FROM cluster_stream('much',
  'SELECT i, ARRAY[3 * i, 3 * i + 1, 3 * i + 2], ''{1, 1, 1}''::real[] FROM generate_series(1, 100000) i', 0.5);
SELECT count(*) FROM much;
SELECT count(*) FROM tf_idf('SELECT i, ARRAY[''a'', ''b'', ''c''] FROM generate_series(1, 10000) i');
SELECT count(*) FROM tf_idf('SELECT i, ARRAY[''a'', i::text] FROM generate_series(1, 100000) i');
SELECT count(*) FROM idf('SELECT i, ''a '' || i FROM generate_series(1, 100000) i', tokens => 'words');
RESET simjoin.memory_limit;

DROP TABLE much, bags, docs, news, at_once, renamed, before, bigs, "Of Texts";
DROP FUNCTION cluster_naively, in_calls;

-- Sums, numbers and counts that a role has made as large as they can be stay such that the next call takes them.
SELECT cluster_stream_create('largest', NULL::int[]);
INSERT INTO largest VALUES (1, 1, '{1}', '{36028797018963967}', false);
SELECT cluster_stream('largest', 'SELECT i, ''{1}''::int[], ''{1}''::real[] FROM generate_series(1, 2) i', 0.5);
SELECT cluster_stream('largest', 'SELECT 3, ''{1}''::int[], ''{1}''::real[]', 0.5);
SELECT documents, sums FROM largest;
UPDATE largest SET documents = 4611686018427387904;
INSERT INTO largest VALUES (2, 4611686018427387904, '{1,2}', '{50,1}', false);
SELECT cluster_stream('largest', 'SELECT 4, ''{1}''::int[], ''{1}''::real[]', 0.5, 20, 1, merge => 0.6);
SELECT cluster, documents, merged_into FROM largest ORDER BY cluster;
UPDATE largest SET documents = 4611686018427387905 WHERE cluster = 1;
SELECT cluster_stream('largest', 'SELECT 4, ''{1}''::int[], ''{1}''::real[]', 0.5);
TRUNCATE largest;
INSERT INTO largest VALUES (4611686018427387905, 1, '{1}', '{1}', false);
SELECT cluster_stream('largest', 'SELECT 4, ''{1}''::int[], ''{1}''::real[]', 0.5);
TRUNCATE largest;
INSERT INTO largest SELECT 1, 1, array_agg(i), array_agg(1), false FROM generate_series(1, 65536) i;
SELECT cluster_stream('largest', 'SELECT 4, ''{1}''::int[], ''{1}''::real[]', 0.5);
DROP TABLE largest;
