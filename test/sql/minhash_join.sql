-- Joins by bands of signatures, against exact joins.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA minhash_join_test;
SET search_path = minhash_join_test, public;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Sets of 30 tokens, of which every second is a changed copy of another. Also repeated tokens, empty sets and NULLs.
CREATE TABLE sets AS
SELECT id * 7919 % 1009 - 300 AS id,
       CASE WHEN id % 97 = 0 THEN NULL WHEN id % 89 = 0 THEN '{}'
       ELSE ARRAY(SELECT CASE WHEN base <> id AND draw(20, id, j) = 0 THEN -id * 100 - j ELSE draw(100000, base, j) END
                  FROM generate_series(1, 30) j) || CASE WHEN id % 3 = 0 THEN ARRAY[draw(100000, base, 1)] END END AS tokens
FROM (SELECT id, CASE WHEN id % 2 = 0 THEN id / 4 * 2 + 1 ELSE id END AS base FROM generate_series(1, 600) id) b;
CREATE TABLE others AS SELECT id + 5000 AS id, tokens FROM sets WHERE id % 3 <> 0;

-- With one row per band and many bands, every pair is found.
CREATE TABLE exact AS SELECT * FROM similarity_self_join('SELECT id, tokens FROM sets', 0.5);
SELECT count(*) > 200 AS many FROM exact;
SELECT tokens, (SELECT count(*) FROM (SELECT * FROM minhash_self_join(format('SELECT id, %s FROM sets', tokens), 0.5, 128, 128, 1)
                                      EXCEPT ALL TABLE exact) d) AS wrong,
       (SELECT count(*) FROM (TABLE exact EXCEPT ALL
                              SELECT * FROM minhash_self_join(format('SELECT id, %s FROM sets', tokens), 0.5, 128, 128, 1)) d) AS missing
FROM unnest(ARRAY['tokens', 'tokens::bigint[]', 'tokens::text[]']) tokens;
SELECT count(*) AS differences FROM (
  (SELECT * FROM minhash_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM others', 0.5, 128, 128, 1)
   EXCEPT ALL SELECT * FROM similarity_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM others', 0.5))
  UNION ALL
  (SELECT * FROM similarity_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM others', 0.5)
   EXCEPT ALL SELECT * FROM minhash_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM others', 0.5, 128, 128, 1))) d;

-- The planned bands find exactly the pairs whose bands agree, each once, and about as many as predicted.
CREATE TABLE bands AS
SELECT id, band, hash FROM sets, minhash_band_plan(0.7) p,
       unnest(minhash_bands(minhash(tokens), p.bands, p.rows)) WITH ORDINALITY b (hash, band);
CREATE TABLE candidates AS
SELECT DISTINCT l.id::bigint AS a, r.id::bigint AS b FROM bands l JOIN bands r USING (band, hash) WHERE l.id < r.id;
CREATE TABLE found AS SELECT * FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7);
SELECT count(*) AS differences FROM (
  (TABLE found EXCEPT ALL SELECT e.* FROM exact e JOIN candidates USING (a, b) WHERE similarity >= 0.7)
  UNION ALL (SELECT e.* FROM exact e JOIN candidates USING (a, b) WHERE similarity >= 0.7 EXCEPT ALL TABLE found)) d;
SELECT abs((SELECT count(*) FROM found) - sum(p)) < 4 * sqrt(sum(p * (1 - p))) AS as_predicted
FROM (SELECT 1 - (1 - similarity ^ rows) ^ bands AS p FROM exact, minhash_band_plan(0.7) WHERE similarity >= 0.7) e;

-- Without verification the result is all candidates, with the estimated similarity.
CREATE TABLE unverified AS SELECT * FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7, verify => false);
SELECT count(*) - (SELECT count(*) FROM candidates) AS more, count(DISTINCT (a, b)) - count(*) AS repeated,
       bool_and(similarity = minhash_similarity(minhash(l.tokens), minhash(r.tokens))) AS estimates
FROM unverified JOIN candidates USING (a, b) JOIN sets l ON l.id = a JOIN sets r ON r.id = b;
SELECT count(*) = (SELECT count(*) FROM unverified) AS same_candidates
FROM minhash_self_join('SELECT id, tokens FROM sets', 0.1, bands => 14, rows => 9, verify => false);

-- With a recall at least that share of the pairs on the threshold is found, as by the operator.
SELECT recall, count(*) >= (recall - 0.05) * (SELECT count(*) FROM exact WHERE similarity >= 0.7) AS found, count(*) > (SELECT count(*) FROM found) AS more,
       bool_and(EXISTS (SELECT FROM exact e WHERE (e.a, e.b, e.similarity) = (f.a, f.b, f.similarity))) AS exact
FROM unnest('{0.8,0.97,0.999}'::float8[]) recall, minhash_self_join('SELECT id, tokens FROM sets', 0.7, recall => recall) f GROUP BY recall ORDER BY recall;
SET simjoin.method = minhash;
SET simjoin.target_recall = 0.9;
SELECT count(*) AS differences FROM (
  (SELECT l.id::bigint, r.id::bigint FROM sets l JOIN sets r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.6
   EXCEPT ALL SELECT a, b FROM minhash_self_join('SELECT id, tokens FROM sets', 0.6, recall => 0.9))
  UNION ALL (SELECT a, b FROM minhash_join('SELECT id, tokens FROM sets', 'SELECT id, tokens FROM sets', 0.6, recall => 0.9) WHERE a < b
   EXCEPT ALL SELECT l.id, r.id FROM sets l JOIN sets r ON l.id < r.id AND jaccard_similarity(l.tokens, r.tokens) >= 0.6)) d;
RESET simjoin.method;
RESET simjoin.target_recall;
-- Texts need no key.
SELECT * FROM minhash_self_join('VALUES (1, ''one two three''), (2, ''Three, two, one''), (3, ''four'')', 0.9, tokens => 'words');
SELECT * FROM minhash_self_join('VALUES (1, ''one two three''), (2, ''Three, two, one''), (3, ''four'')', 0.9, tokens => 'words', recall => 0.97);
SELECT * FROM minhash_join('VALUES (1, ''one two three'')', 'VALUES (2, ''Three, two, one''), (3, ''four'')', 0.9, tokens => 'words');
SELECT * FROM minhash_self_join('VALUES (''a''::text, ''{1}''::int[]), (''b'', ''{1}'')', 0.5, 128, NULL, NULL, true, 1, key => NULL::text, recall => 0.9);
SELECT * FROM weighted_minhash_self_join('VALUES (1, ''{1}''::int[], ''{1}''::real[]), (2, ''{1}'', ''{1}'')', 0.5, recall => 0.9);
SELECT * FROM weighted_minhash_join('VALUES (1, ''{1}''::int[], ''{1}''::real[])', 'VALUES (2, ''{1}''::int[], ''{1}''::real[])', 0.5, recall => 0.9);
SELECT count(*) FROM minhash_self_join('VALUES (1, ''{1}''::int[]), (2, ''{1}'')', 0.5, 10, 2, 2);
SELECT count(*) FROM minhash_self_join('VALUES (1, ''{1}''::int[]), (2, ''{1}'')', 0.5, recall => NULL);
SET client_min_messages = notice;
SELECT count(*) FROM minhash_self_join('VALUES (1, ''{1}''::int[]), (2, ''{1}'')', 0.5, recall => 0.97, permutations => 2);
SET client_min_messages = warning;
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[])', 0.5, recall => 0);
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[])', 0.5, recall => 1);
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[])', 0.5, 128::smallint);
SELECT * FROM weighted_minhash_self_join('VALUES (1, ''{1}''::int[], ''{1}''::real[])', 0.5, recall => 'NaN');
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[])', 0.5, 128, 2, 2, true, 1, key => NULL::int, recall => 0.9);

-- The seed decides which pairs are missed. The threads do not.
SELECT (SELECT md5(string_agg(p::text, ';' ORDER BY p)) FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7, seed => 2) p)
       <> (SELECT md5(string_agg(p::text, ';' ORDER BY p)) FROM found p) AS other_pairs;
SET simjoin.cpu_threads = 1;
SELECT count(*) FROM (SELECT * FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7) EXCEPT ALL TABLE found) d;
RESET simjoin.cpu_threads;

-- Large buckets are chained to one of their rows, and reported.
SET client_min_messages = notice;
SET simjoin.max_bucket_size = 5;
SELECT * FROM minhash_self_join(
  'SELECT i, CASE WHEN i <= 10 THEN ARRAY[1, 2, 3] ELSE ARRAY[i] END FROM generate_series(1, 20) i', 0.5, 4, 2, 2) ORDER BY 1, 2;
SELECT * FROM minhash_join('SELECT i, ARRAY[1] FROM generate_series(1, 3) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 3) i',
                           0.5, 4, 2, 2) ORDER BY 1, 2;
SET simjoin.max_bucket_size = 6;
SELECT count(*) FROM minhash_join('SELECT i, ARRAY[1] FROM generate_series(1, 3) i', 'SELECT i, ARRAY[1] FROM generate_series(1, 3) i',
                                  0.5, 4, 2, 2);
RESET simjoin.max_bucket_size;
SET client_min_messages = warning;

-- Small inputs, NULLs, semicolons, ids.
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[] WHERE false', 0.5);
SELECT * FROM minhash_self_join('SELECT i, ''{}''::int[] FROM generate_series(1, 3) i', 0.5);
SELECT * FROM minhash_self_join('SELECT i, NULL::text[] FROM generate_series(1, 3) i', 0.5);
SELECT * FROM minhash_self_join('VALUES (9, ''{1,2}''::int[]), (8, ''{2,1}'');', 1);
SELECT * FROM minhash_self_join(NULL, 0.5);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', NULL);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, seed => NULL);
SELECT * FROM minhash_join('VALUES (1, ''{1}''::int[]), (1, ''{1}'')', 'VALUES (2, ''{1}''::int[])', 1);
SELECT * FROM minhash_join('SELECT 1, ''{1}''::text[]', 'SELECT 1, ''{1}''::text[] WHERE false', 0.5);

-- Wrong arguments.
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 1.1);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 'NaN');
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 0);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 65536);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 10, 2);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 10, rows => 2);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 10, 2, 6);
SELECT * FROM minhash_self_join('SELECT 1, ''{1}''::int[]', 0.5, 10, 0, 5);
SELECT * FROM minhash_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::int[]', 0.5, 10, 65536, 65536);
SELECT * FROM minhash_self_join('SELECT 1', 0.5);
SELECT * FROM minhash_self_join('VALUES (1, ''{1}''::int[]), (1, ''{1}'')', 0.5);
SELECT * FROM minhash_self_join('SELECT NULL::int, ''{1}''::int[]', 0.5);
SELECT * FROM minhash_join('SELECT 1, ''{1}''::int[]', 'SELECT 1, ''{1}''::bigint[]', 0.5);
SELECT * FROM minhash_join('SELECT 1, ''{1,NULL}''::int[]', 'SELECT 1, ''{1}''::int[]', 0.5);

-- The query runs with the caller's rights.
CREATE ROLE regress_simjoin_user;
GRANT USAGE ON SCHEMA minhash_join_test TO regress_simjoin_user;
SET ROLE regress_simjoin_user;
SELECT * FROM minhash_self_join('SELECT id, tokens FROM minhash_join_test.sets', 1);
SELECT * FROM minhash_signatures('SELECT id, tokens FROM minhash_join_test.sets');
RESET ROLE;
DROP OWNED BY regress_simjoin_user;
DROP ROLE regress_simjoin_user;

-- Signatures as a stored column, with a table of bands that a trigger keeps: is a new row a near-duplicate?
CREATE TABLE documents (
  id bigint PRIMARY KEY,
  tokens int[],
  signature minhash GENERATED ALWAYS AS (minhash(tokens)) STORED
);
CREATE TABLE document_bands (band int, hash bigint, id bigint REFERENCES documents ON DELETE CASCADE, PRIMARY KEY (band, hash, id));
CREATE FUNCTION index_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM document_bands WHERE id = NEW.id;
  INSERT INTO document_bands SELECT band, hash, NEW.id FROM unnest(minhash_bands(NEW.signature, 14, 9)) WITH ORDINALITY b (hash, band);
  RETURN NULL;
END $$;
CREATE TRIGGER index_document AFTER INSERT OR UPDATE OF tokens ON documents FOR EACH ROW EXECUTE FUNCTION index_document();
INSERT INTO documents (id, tokens) SELECT id, tokens FROM sets;
SELECT count(*) = 14 * (SELECT count(*) FROM sets WHERE cardinality(tokens) > 0) AS all_bands FROM document_bands;
CREATE FUNCTION near_duplicates(new_tokens int[]) RETURNS TABLE (id bigint, similarity float8) LANGUAGE sql STABLE AS $$
  SELECT DISTINCT d.id, jaccard_similarity(d.tokens, new_tokens)
  FROM unnest(minhash_bands(minhash(new_tokens), 14, 9)) WITH ORDINALITY b (hash, band)
  JOIN document_bands USING (band, hash) JOIN documents d USING (id)
  WHERE jaccard_similarity(d.tokens, new_tokens) >= 0.7
$$;
-- Over all rows, it gives the pairs that minhash_self_join finds.
SELECT count(*) AS differences FROM (
  (SELECT s.id::bigint, n.* FROM sets s, near_duplicates(s.tokens) n WHERE s.id < n.id EXCEPT ALL TABLE found)
  UNION ALL (TABLE found EXCEPT ALL SELECT s.id::bigint, n.* FROM sets s, near_duplicates(s.tokens) n WHERE s.id < n.id)) d;
UPDATE documents SET tokens = '{1,2,3}' WHERE id = (SELECT min(id) FROM documents);
SELECT count(*) FROM near_duplicates('{3,2,1}');
DELETE FROM documents WHERE id = (SELECT min(id) FROM documents);
SELECT count(*) FROM near_duplicates('{3,2,1}');
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT d.id
FROM unnest(minhash_bands(minhash('{1,2,3}'::int[]), 14, 9)) WITH ORDINALITY b (hash, band)
JOIN document_bands USING (band, hash) JOIN documents d USING (id)
WHERE jaccard_similarity(d.tokens, '{1,2,3}') >= 0.7;
RESET ALL;
SET client_min_messages = warning;

DROP SCHEMA minhash_join_test CASCADE;
