-- What EXPLAIN and a notice say of plans that compute a similarity for each pair of rows.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET simjoin.explain_device = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

CREATE TABLE loops (id int PRIMARY KEY, tokens int[], bound float8);
INSERT INTO loops SELECT i, ARRAY[i, i + 1, i + 2], 0.5 FROM generate_series(1, 300) i;
ANALYZE loops;

-- The line below the plan; nothing where the operator or PostgreSQL's own joins leave few pairs.
CREATE FUNCTION said(query text, OUT operator bool, OUT line text) LANGUAGE plpgsql AS $$
DECLARE row text;
BEGIN
  operator := false;
  FOR row IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    operator := operator OR row LIKE '%SetSimilarityJoin%';
    IF row LIKE '%Not Used%' THEN line := row; END IF;
  END LOOP;
END $$;

SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) > containment(b.tokens, a.tokens)');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) <= 0.5');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON a.tokens <%> b.tokens > 0.5');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5 OR a.id = b.id + 1');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON sqrt(jaccard_similarity(a.tokens, b.tokens)) >= 0.5');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens || b.tokens, b.tokens) >= 0.5');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON 0.5 * jaccard_similarity(a.tokens, b.tokens) + 0.3 >= 0.2');
SELECT * FROM said('SELECT FROM loops a LEFT JOIN loops b ON 0.5 * jaccard_similarity(a.tokens, b.tokens) + 0.5 * dice_similarity(a.tokens, b.tokens) >= 0.45');
SELECT * FROM said('SELECT jaccard_similarity(a.tokens, b.tokens) FROM loops a, loops b ORDER BY 1 DESC LIMIT 3');
SET simjoin.enable_nearest = off;
SELECT * FROM said('SELECT (SELECT max(jaccard_similarity(a.tokens, b.tokens)) FROM loops b) FROM loops a');
SELECT * FROM said('SELECT FROM loops a, LATERAL (SELECT FROM loops b ORDER BY jaccard_similarity(a.tokens, b.tokens) DESC LIMIT 1) c');
RESET simjoin.enable_nearest;
SELECT * FROM said('SELECT FROM loops a, LATERAL (SELECT FROM loops b ORDER BY jaccard_similarity(a.tokens, b.tokens) DESC LIMIT 1) c');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON a.id = b.id');
-- A condition that an index scan of one side has. An equality leaves few rows.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_material = off;
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= a.bound');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON b.id > a.id AND 0.5 <= jaccard_similarity(a.tokens || b.tokens, b.tokens)');
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON a.id = b.id AND jaccard_similarity(a.tokens, b.tokens) >= a.bound');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_material;
SELECT * FROM said('SELECT FROM loops a WHERE jaccard_similarity(a.tokens, ''{1,2,3}'') >= 0.5');
SELECT * FROM said('SELECT FROM loops a WHERE jaccard_similarity(a.tokens, (SELECT tokens FROM loops WHERE id = 1)) >= 0.5');
SET simjoin.enable_join = off;
SELECT * FROM said('SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5');
RESET simjoin.enable_join;
-- As EXPLAIN prints it.
EXPLAIN (COSTS OFF) SELECT FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound;

-- The notice, from a number of pairs on.
SET client_min_messages = notice;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound;
SET simjoin.notice_pairs = 90000;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5 OR a.id = b.id + 1;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5;
SELECT count(jaccard_similarity(a.tokens, b.tokens)) FROM loops a CROSS JOIN loops b;
SET simjoin.notice_pairs = 90001;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound;
SET simjoin.notice_pairs = 0;
SELECT count(*) FROM loops a JOIN loops b ON jaccard_similarity(a.tokens, b.tokens) >= a.bound;
SET simjoin.notice_pairs = -1;
-- What to write instead.
SET simjoin.notice_pairs = 1;
SELECT count(*) FROM loops a JOIN loops b ON edit_distance(a.id::text, b.id::text) <= 0.2 * greatest(length(a.id::text), length(b.id::text));
SELECT count(*) FROM loops a JOIN loops b ON 1 - edit_distance(a.id::text, b.id::text)::float8 / nullif(greatest(length(a.id::text), length(b.id::text)), 0) >= 0.4;
SET simjoin.enable_nearest = off;
SELECT count(m) FROM (SELECT (SELECT max(jaccard_similarity(a.tokens, b.tokens)) FROM loops b WHERE b.id <> a.id) AS m FROM loops a OFFSET 0) x;
RESET simjoin.notice_pairs;
-- The node NearestSets reads few rows of the index.
SELECT create_similarity_index('loops', 'tokens', 0.5);
ANALYZE loops;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT a.id, (SELECT b.id FROM loops b ORDER BY a.tokens <%> b.tokens LIMIT 1) FROM loops a;
SELECT * FROM said('SELECT a.id, (SELECT b.id FROM loops b ORDER BY a.tokens <%> b.tokens LIMIT 1) FROM loops a');
SELECT * FROM said('SELECT a.id, c.id FROM loops a, LATERAL (SELECT b.id FROM loops b ORDER BY a.tokens <%> b.tokens LIMIT 1) c');
RESET simjoin.enable_nearest;
RESET enable_seqscan;
DROP FUNCTION said;
DROP TABLE loops;
