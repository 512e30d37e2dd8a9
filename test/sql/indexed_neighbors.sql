-- Neighbours of few rows by an index on sets, against the engine.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA indexed_neighbors_test;
SET search_path = indexed_neighbors_test, public;

-- Many near copies with equal similarities, and keys in another order than the rows.
CREATE TABLE docs (id int PRIMARY KEY, uuid uuid NOT NULL, txt text COLLATE "C" NOT NULL, num numeric NOT NULL, other bigint, tokens int[], big int8[], words text[]);
INSERT INTO docs
SELECT id * 7919 % 20011, md5('u' || id)::uuid, md5('t' || id), id, id, tokens, tokens::int8[], tokens::text[]
FROM (SELECT id, ARRAY(SELECT base * 20 + j FROM generate_series(1, 12) j WHERE hashint8(id * 100 + j) % 9 <> 0) AS tokens
      FROM (SELECT id, id / 20 AS base FROM generate_series(1, 20000) id) b) d;
UPDATE docs SET tokens = NULL, big = NULL, words = NULL WHERE id % 997 = 0;
UPDATE docs SET tokens = '{}' WHERE id % 997 = 1;
SELECT create_similarity_index('docs', 'tokens', 0.4), create_similarity_index('docs', 'big', 0.4), create_similarity_index('docs', 'words', 0.4);
VACUUM ANALYZE docs;
CREATE TABLE asked AS SELECT id, uuid, txt, tokens || id * 19 AS tokens, big, words FROM docs WHERE id % 4001 IN (5, 6);
INSERT INTO asked VALUES (-1, md5('x')::uuid, 'x', '{}', NULL, '{}'), (-1, md5('x')::uuid, 'x', NULL, '{}', NULL), (7, md5('y')::uuid, 'y', '{8999991}', NULL, NULL);
ANALYZE asked;

-- The rows of a call, and whether it searched an index.
CREATE FUNCTION searches() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT sum(pg_stat_get_xact_numscans(indexrelid))::bigint FROM pg_index WHERE indrelid = 'docs'::regclass AND indexrelid::regclass::text LIKE '%similarity%' $$;
CREATE FUNCTION compare(call text, OUT searched bool, OUT rows bigint, OUT differences bigint) LANGUAGE plpgsql AS $$
DECLARE before bigint := searches();
BEGIN
  EXECUTE 'CREATE TEMP TABLE by_index AS SELECT * FROM ' || call;
  searched := searches() > before;
  SET LOCAL enable_bitmapscan = off;
  before := searches();
  EXECUTE 'CREATE TEMP TABLE by_engine AS SELECT * FROM ' || call;
  ASSERT searches() = before;
  SET LOCAL enable_bitmapscan = on;
  SELECT count(*), (SELECT count(*) FROM ((TABLE by_index EXCEPT ALL TABLE by_engine) UNION ALL (TABLE by_engine EXCEPT ALL TABLE by_index)) d)
    INTO rows, differences FROM by_index;
  DROP TABLE by_index, by_engine;
END $$;

SELECT measure, k, least, c.* FROM (VALUES ('jaccard', 3, 0.6), ('jaccard', 1, 0.45), ('jaccard', 1000, 0.5), ('cosine', 4, 0.7), ('dice', 4, 0.7), ('jaccard', 5, 0.8), ('overlap', 5, 5.5)) v (measure, k, least),
  compare(format('similarity_neighbors(''SELECT id, tokens FROM asked ORDER BY id LIMIT 5'', ''SELECT id, tokens FROM docs'', %s, %s, %L)', k, least, measure)) c;
SELECT k, c.* FROM unnest('{1,2,5,20}'::int[]) k,
  compare(format('similarity_neighbors(''SELECT id, tokens FROM asked ORDER BY id LIMIT 5'', ''SELECT id, tokens FROM docs'', %s, 0.45, ''jaccard'', ties => true)', k)) c;
SELECT token_type, c.* FROM (VALUES ('big'), ('words')) v (token_type),
  compare(format('similarity_neighbors(''SELECT id, %1$I FROM asked -- those'', ''SELECT id, %1$I FROM docs;'', 3, 0.6)', token_type)) c;
SELECT key, c.* FROM (VALUES ('uuid'), ('txt'), ('id')) v (key),
  compare(format('similarity_neighbors(''SELECT %1$I, tokens FROM asked'', ''SELECT d.%1$I, d.tokens FROM docs d WHERE num > 300'', 3, 0.6, NULL::%2$s, NULL::%2$s)',
                 key, CASE key WHEN 'txt' THEN 'text' WHEN 'id' THEN 'int' ELSE key END)) c;
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b FROM similarity_neighbors('SELECT uuid, tokens FROM asked', 'SELECT id, tokens FROM docs', 3, 0.6, NULL::uuid, NULL::bigint);

-- Where an index cannot give the answer, or does not pay.
SELECT reason, c.* FROM (VALUES
  ('no least similarity', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT id, tokens FROM docs'', 3)'),
  ('below the index', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT id, tokens FROM docs'', 3, 0.3)'),
  ('many rows', 'similarity_neighbors(''SELECT id, tokens FROM docs'', ''SELECT id, tokens FROM docs'', 1, 0.6)'),
  ('ids may be NULL', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT other, tokens FROM docs'', 3, 0.6)'),
  ('equal ids may differ', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT num, tokens FROM docs'', 3, 0.6, NULL::int, NULL::numeric)'),
  ('volatile', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT id, tokens FROM docs WHERE random() >= 0'', 3, 0.6)'),
  ('no table', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT id, tokens FROM docs UNION ALL SELECT id, tokens FROM docs'', 3, 0.6)'),
  ('limited', 'similarity_neighbors(''SELECT id, tokens FROM asked'', ''SELECT id, tokens FROM docs ORDER BY id LIMIT 1000'', 3, 0.6)'))
  v (reason, call), compare(call) c;

-- Errors are those of a join.
SELECT * FROM similarity_neighbors('SELECT NULL::int, tokens FROM asked', 'SELECT id, tokens FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM asked', 'SELECT id, big FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM asked', 'SELECT uuid, tokens FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM asked) l (id, s), (SELECT 1', 'SELECT id, tokens FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM asked; SELECT 1', 'SELECT id, tokens FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('DELETE FROM asked RETURNING id, tokens', 'SELECT id, tokens FROM docs', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT id, tokens FROM asked', 'SELECT id, tokens FROM docs FOR UPDATE', 3, 0.6);
SELECT * FROM similarity_neighbors('SELECT 1, ARRAY[1, NULL]', 'SELECT id, tokens FROM docs', 3, 0.6);
DROP SCHEMA indexed_neighbors_test CASCADE;
