-- Containment and the overlap coefficient: how much of a set is in another one.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET simjoin.explain_device = off;
CREATE SCHEMA containment_test;
SET search_path = containment_test, public;

SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel,
       CASE WHEN prosupport <> 0 THEN prosupport::regproc END AS support
FROM pg_proc WHERE proname IN ('containment', 'overlap_coefficient') ORDER BY oid::regprocedure::text COLLATE "C";
SELECT l, r, containment(l, r), containment(r, l) AS reverse, overlap_coefficient(l, r) AS coefficient
FROM (VALUES ('{1,2,3,4}'::int[], '{2,3,4,5,6,7}'::int[]), ('{1,1,2}', '{2,1,3}'), ('{1,2}', '{3}'), ('{}', '{1}'), ('{}', '{}'),
             (NULL, '{1}'), ('{1,2,3}', '{3,2,1}')) v (l, r);
SELECT containment('{a,b,c}'::text[], '{c,B,a}') AS text, containment('{1,4294967297}'::bigint[], '{1}') AS bigint,
       containment('{1,2}'::int2[], '{2}') AS smallint, overlap_coefficient('{1,2}'::int2[], '{2}') AS coefficient,
       containment('{1,2}'::int[], '{2}'::bigint[]) AS mixed;
SELECT containment('{1,2}', '{2}');
SELECT overlap_coefficient('{1,NULL}'::int[], '{2}');
SELECT containment('{{1,2}}'::int[], '{2}');

-- Sets of 0 to 12 elements, many of them parts of others.
CREATE TABLE docs (id int PRIMARY KEY, tokens int[], words text[], grp int);
INSERT INTO docs
SELECT id, tokens, tokens::text[], id % 3
FROM (SELECT i AS id, CASE WHEN i % 37 > 0
                      THEN ARRAY(SELECT DISTINCT i / 4 * 11 % 97 + j * j % (3 + i % 11) FROM generate_series(1, i % 13) j) END AS tokens
      FROM generate_series(1, 350) i) s;
CREATE TABLE queries AS SELECT id, tokens[1:3] || id % 5 AS tokens FROM docs WHERE id % 7 = 0;
ANALYZE docs;
ANALYZE queries;

-- Random sets against plain SQL: equal to the last bit.
SELECT count(*) AS pairs, count(*) FILTER (WHERE o > 0 AND n <> m) > 1000 AS enough,
       count(*) FILTER (WHERE containment(l, r) IS DISTINCT FROM coalesce(o / nullif(n, 0), 0)) AS containment,
       count(*) FILTER (WHERE containment(l::bigint[], r::bigint[]) <> containment(l, r)) AS bigint,
       count(*) FILTER (WHERE containment(l::text[], r::text[]) <> containment(l, r)) AS text,
       count(*) FILTER (WHERE overlap_coefficient(l, r) IS DISTINCT FROM coalesce(o / nullif(least(n, m), 0), 0)) AS coefficient,
       count(*) FILTER (WHERE overlap_coefficient(l, r) <> greatest(containment(l, r), containment(r, l))) AS larger
FROM (SELECT a.tokens AS l, b.tokens AS r, cardinality(a.tokens)::float8 AS n, cardinality(b.tokens)::float8 AS m,
             overlap_count(a.tokens, b.tokens)::float8 AS o
      FROM docs a, docs b WHERE a.tokens IS NOT NULL AND b.tokens IS NOT NULL) p;

-- Each query by the join and by a nested loop: how many rows, whether they are the same, and the clause that was planned.
CREATE FUNCTION compare(query text) RETURNS TABLE (count bigint, same bool, clause text, measure text) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  SET LOCAL enable_hashjoin = off;
  SET LOCAL enable_mergejoin = off;
  SET LOCAL simjoin.enable_join = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line LIKE '%Similarity Clause%' THEN clause := regexp_replace(line, '^ *Similarity Clause: ', ''); END IF;
    IF line LIKE '%Measure:%' THEN measure := regexp_replace(line, '^ *Measure: ', ''); END IF;
  END LOOP;
  EXECUTE 'CREATE TEMP TABLE joined AS ' || query;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE 'CREATE TEMP TABLE looped AS ' || query;
  SELECT count(*) INTO count FROM looped;
  same := NOT EXISTS ((TABLE joined EXCEPT ALL TABLE looped) UNION ALL (TABLE looped EXCEPT ALL TABLE joined));
  DROP TABLE joined, looped;
  RETURN NEXT;
END $$;

-- Two tables: the left one may be contained in the right one, or the other way round.
SELECT t, c.* FROM unnest('{1,0.75,0.6,0.5,0.3}'::float8[]) t,
  compare(format('SELECT q.id AS q, d.id AS d, containment(q.tokens, d.tokens), containment(d.tokens, q.tokens) AS reverse FROM queries q JOIN docs d ON containment(q.tokens, d.tokens) >= %s', t)) c;
SELECT t, c.* FROM unnest('{1,0.75,0.6,0.5,0.3}'::float8[]) t,
  compare(format('SELECT q.id AS q, d.id AS d, containment(q.tokens, d.tokens), containment(d.tokens, q.tokens) AS reverse FROM queries q JOIN docs d ON containment(d.tokens, q.tokens) >= %s', t)) c;
SELECT t, c.* FROM unnest('{1,0.75,0.6,0.5,0.3}'::float8[]) t,
  compare(format('SELECT q.id AS q, d.id AS d, overlap_coefficient(d.tokens, q.tokens) AS s FROM queries q JOIN docs d ON overlap_coefficient(q.tokens, d.tokens) >= %s', t)) c;
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q JOIN docs d ON 0.5 < containment(q.tokens, d.tokens) AND q.id <> d.id');
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q LEFT JOIN docs d ON 0.9::real <= containment(q.tokens, d.tokens)');
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q RIGHT JOIN docs d ON containment(q.tokens, d.tokens) > 0.9');
SELECT * FROM compare('SELECT d.id AS d FROM docs d WHERE EXISTS (SELECT FROM queries q WHERE containment(q.tokens, d.tokens) >= 0.9)');
SELECT * FROM compare('SELECT d.id AS d FROM docs d WHERE NOT EXISTS (SELECT FROM queries q WHERE containment(d.tokens, q.tokens) >= 0.9)');
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q JOIN docs d ON q.id % 3 = d.grp AND containment(q.tokens, d.tokens) >= 0.9');
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q JOIN docs d ON containment(q.tokens, d.tokens) + containment(d.tokens, q.tokens) >= 1.5');
SELECT count(*) AS rows, count(*) FILTER (WHERE containment(q.tokens, d.tokens) >= 0.75) AS alike, count(q.id) AS q, count(d.id) AS d
FROM queries q FULL JOIN docs d ON containment(q.tokens, d.tokens) >= 0.75;

-- A table with itself: rows are read once, and each order of a pair counts for itself.
SELECT t, c.* FROM unnest('{1,0.75,0.6,0.5,0.3}'::float8[]) t,
  compare(format('SELECT a.id AS a, b.id AS b, containment(a.words, b.words), containment(b.words, a.words) AS reverse FROM docs a JOIN docs b ON containment(a.words, b.words) >= %s', t)) c;
SELECT t, c.* FROM unnest('{1,0.75,0.6,0.5,0.3}'::float8[]) t,
  compare(format('SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.id < b.id AND containment(b.tokens, a.tokens) >= %s', t)) c;
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM docs a JOIN docs b ON a.id < b.id AND overlap_coefficient(b.tokens, a.tokens) >= 0.8');
SELECT * FROM compare('SELECT a.id AS a, b.id AS b FROM docs a LEFT JOIN docs b ON a.id <> b.id AND containment(a.tokens, b.tokens) >= 1');
SELECT * FROM compare('SELECT a.id AS a FROM docs a WHERE EXISTS (SELECT FROM docs b WHERE a.id <> b.id AND containment(a.tokens, b.tokens) >= 1)');
SELECT * FROM compare('SELECT a.id AS a FROM docs a WHERE NOT EXISTS (SELECT FROM docs b WHERE a.id <> b.id AND containment(b.tokens, a.tokens) >= 1)');
SELECT * FROM compare('SELECT a.id AS a FROM docs a WHERE NOT EXISTS (SELECT FROM docs b WHERE containment(b.tokens, a.tokens) > 0.4)');
EXPLAIN (COSTS OFF) SELECT a.id, b.id, containment(a.tokens, b.tokens) FROM docs a JOIN docs b ON a.id <> b.id AND containment(b.tokens, a.tokens) >= 0.8;

-- Every algorithm.
CREATE FUNCTION pairs_with(algorithm text, clause text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  PERFORM set_config('simjoin.algorithm', algorithm, true);
  EXECUTE 'SELECT count(*) || md5(string_agg(q.id || '' '' || d.id, '';'' ORDER BY q.id, d.id)) FROM docs q JOIN docs d ON q.grp >= 0 AND ' || clause INTO result;
  RETURN result;
END $$;
SELECT clause, count(*) AS runs, count(DISTINCT pairs_with(algorithm, clause)) AS results
FROM pg_settings, unnest(enumvals) algorithm, (VALUES ('containment(q.tokens, d.tokens) >= 0.6'), ('containment(d.tokens, q.tokens) >= 0.6'), ('overlap_coefficient(q.tokens, d.tokens) >= 0.6')) c (clause)
WHERE name = 'simjoin.algorithm' GROUP BY clause ORDER BY clause;
RESET simjoin.algorithm;

-- Functions. In a self-join a is contained in b.
SELECT * FROM similarity_self_join('VALUES (1, ''{1,2}''::int[]), (2, ''{1,2,3,4}''), (3, ''{2,1}''), (4, ''{}'')', 0.9, 'containment') ORDER BY a, b;
SELECT * FROM similarity_self_join('VALUES (''x'', ''{1,2}''::int[]), (''y'', ''{1,2,3,4}'')', 0.5, key => NULL::text, measure => 'containment') ORDER BY a, b;
SELECT * FROM similarity_self_join('VALUES (1, ''{1,2}''::int[]), (2, ''{1,2,3,4}''), (3, ''{2,1}'')', 0.9, 'overlap_coefficient') ORDER BY a, b;
SELECT * FROM similarity_join('VALUES (1, ''{1,2}''::int[])', 'VALUES (2, ''{1,2,3,4}''::int[])', 0.9, 'containment');
SELECT * FROM similarity_join('VALUES (2, ''{1,2,3,4}''::int[])', 'VALUES (1, ''{1,2}''::int[])', 0.9, 'containment');
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM queries WHERE id = 42', 'SELECT id, tokens FROM docs', 3, 0.5, 'containment');

-- Groups, views, triggers and ~= know no order of two sets.
SELECT id, group_id, similarity FROM duplicate_groups('VALUES (1, ''{1,2}''::int[]), (2, ''{1,2,3,4}''), (3, ''{9}'')', 0.9, 'overlap_coefficient');
SELECT duplicate_groups('SELECT id, tokens FROM docs', 0.9, 'containment');
SELECT create_dedup_view('grouped', 'SELECT id, tokens FROM docs', 0.9, 'containment');
SET simjoin.measure = containment;
CREATE TABLE guarded (tokens int[]);
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', '0.9', 'containment');
INSERT INTO guarded VALUES ('{1}');
DROP TRIGGER guard ON guarded;
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', '0.9', 'overlap_coefficient');
INSERT INTO guarded VALUES ('{1,2}'), ('{1,2,3}'), ('{2}'), ('{3,4}');
SELECT * FROM guarded;
SET simjoin.measure = overlap_coefficient;
SELECT * FROM compare('SELECT q.id AS q, d.id AS d FROM queries q JOIN docs d ON d.tokens ~= q.tokens');
RESET simjoin.measure;

-- MinHash finds similar sets, and not small sets within large ones.
SET simjoin.method = minhash;
EXPLAIN (COSTS OFF) SELECT q.id, d.id FROM queries q JOIN docs d ON containment(q.tokens, d.tokens) >= 0.9;
RESET simjoin.method;

-- An index for the overlap coefficient finds what is contained in a set, and what contains it.
CREATE INDEX docs_jaccard ON docs USING gin (tokens int4_similarity_ops (threshold = 0.5));
SET enable_seqscan = off;
-- From PostgreSQL 18 on, EXPLAIN says which scans are off. This leaves that out.
CREATE FUNCTION index_is_used(query text, OUT used bool) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  used := false;
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP used := used OR line LIKE '%Index Scan%'; END LOOP;
END $$;
SELECT index_is_used('SELECT id FROM docs WHERE containment(''{11,12}'', tokens) >= 0.9');
DROP INDEX docs_jaccard;
SELECT create_similarity_index('docs', 'tokens', 0.5, 'overlap_coefficient');
SELECT index_is_used('SELECT id FROM docs WHERE containment(''{11,12}'', tokens) >= 0.9');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE containment('{11,12}', tokens) >= 0.9;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE containment(tokens, '{11,12,15}') > 0.6;
CREATE FUNCTION compare_index(query text, OUT by_index bigint, OUT same bool) LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = on;
  EXECUTE 'CREATE TEMP TABLE found AS ' || query;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_bitmapscan = off;
  EXECUTE 'CREATE TEMP TABLE scanned AS ' || query;
  SELECT count(*) INTO by_index FROM found;
  same := NOT EXISTS ((TABLE found EXCEPT ALL TABLE scanned) UNION ALL (TABLE scanned EXCEPT ALL TABLE found));
  DROP TABLE found, scanned;
END $$;
SELECT call, t, c.* FROM unnest('{1,0.8,0.5,0.3}'::float8[]) t,
  unnest('{"containment(q.tokens, d.tokens)","containment(d.tokens, q.tokens)","overlap_coefficient(d.tokens, q.tokens)"}'::text[]) call,
  compare_index(format('SELECT q.id AS q, x.id AS d FROM (SELECT * FROM queries WHERE id %% 21 = 0) q, LATERAL (SELECT d.id FROM docs d WHERE %s >= %s OFFSET 0) x', call, t)) c
ORDER BY call, t;
SELECT * FROM compare_index('SELECT * FROM similarity_neighbors(''SELECT id, tokens FROM queries WHERE id % 21 = 0'', ''SELECT id, tokens FROM docs'', 3, 0.5, ''containment'')');
SELECT similarity_index_check(indexrelid) = count(*) AS checked FROM pg_index, docs WHERE indrelid = 'docs'::regclass AND indexrelid::regclass::text LIKE '%similarity%' GROUP BY indexrelid;

-- One for containment finds the sets that contain a query, at any threshold.
DROP INDEX docs_similarity_idx;
SELECT create_similarity_index('docs', 'tokens', 0.9, 'containment');
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE containment('{11,12}', tokens) >= 0.2;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE containment(tokens, '{11,12,15}') > 0.6;
EXPLAIN (COSTS OFF) SELECT q.id, d.id FROM queries q JOIN docs d ON containment(q.tokens, d.tokens) >= 0.6 WHERE q.id = 21;
SELECT call, t, c.* FROM unnest('{1,0.8,0.5,0.3,1e-9}'::float8[]) t,
  unnest('{"containment(q.tokens, d.tokens)","containment(d.tokens, q.tokens)","overlap_coefficient(d.tokens, q.tokens)","jaccard_similarity(d.tokens, q.tokens)"}'::text[]) call,
  compare_index(format('SELECT q.id AS q, x.id AS d FROM (SELECT * FROM queries WHERE id %% 21 = 0) q, LATERAL (SELECT d.id FROM docs d WHERE %s >= %s OFFSET 0) x', call, t)) c
ORDER BY call, t;
SELECT c.* FROM unnest('{"containment(q.words, d.tokens::text[]) >= 0.5","0.4 < containment(q.tokens, d.tokens)","containment(q.tokens, d.tokens) > q.id / 42","containment(NULL, d.tokens) >= 0.5","containment(''{}'', d.tokens) >= 0.5","containment(q.tokens, d.tokens) >= 0","containment(q.tokens, d.tokens) >= NULL","NOT containment(q.tokens, d.tokens) < 0.5"}'::text[]) clause,
  compare_index(format('SELECT q.id AS q, x.id AS d FROM (SELECT *, tokens::text[] AS words FROM queries WHERE id %% 21 = 0) q, LATERAL (SELECT d.id FROM docs d WHERE %s OFFSET 0) x', clause)) c;
INSERT INTO docs (id, tokens) VALUES (-1, '{901,902,903,904}'), (-2, '{901,902}'), (-3, NULL), (-4, '{}');
SELECT id FROM docs WHERE containment('{901,902,903}', tokens) > 0.6 ORDER BY id;
SELECT similarity_index_check(indexrelid) = count(*) AS checked FROM pg_index, docs WHERE indrelid = 'docs'::regclass AND indexrelid::regclass::text LIKE '%similarity%' GROUP BY indexrelid;
RESET enable_seqscan;
SELECT q, q::similarity_query::text = q AS same, '{1,2,3}'::int[] ~= q::similarity_query AS contains
FROM unnest('{"containment >= 0.5: integer[] {1,9}","containment >= 0.6: integer[] {1,9}","containment >= 1: integer[] {3}"}'::text[]) q;
SELECT similarity_query('{1}'::int[], 0.9, 'containment'), similarity_query_send(similarity_query('{1}'::int[], 0.9, 'containment'));
SELECT create_similarity_index('docs', 'tokens', 1.5, 'containment');

DROP SCHEMA containment_test CASCADE;
