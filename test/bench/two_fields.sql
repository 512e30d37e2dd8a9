-- A weighted sum of similarities over two columns, and similarities in one of them: 200,000 names and addresses against 200,000 variants of them.
-- psql -f test/bench/two_fields.sql, in a new database. The nested loop has a four-hundredth of the left rows.
CREATE EXTENSION simjoin;
CREATE TABLE words AS SELECT i, substr(md5(i::text), 1, 4 + i % 6) AS word FROM generate_series(0, 4095) i;
CREATE TABLE l AS
SELECT id, a.word || ' ' || b.word AS name, (hashint4(id + 13) & 255) || ' ' || c.word || ' street' AS address
FROM generate_series(1, 200000) id
     JOIN words a ON a.i = (hashint4(id) & 4095) JOIN words b ON b.i = (hashint4(id + 7) & 4095)
     JOIN words c ON c.i = (hashint4(id + 99) & 2047);
CREATE TABLE r AS
SELECT id, CASE WHEN id % 3 = 0 THEN overlay(name placing 'q' from 3) ELSE name END AS name,
       CASE WHEN id % 5 = 0 THEN replace(address, 'street', 'str') ELSE address END AS address
FROM l WHERE id % 2 = 0
UNION ALL SELECT id + 1000000, reverse(name), address FROM l WHERE id % 2 = 1;
ALTER TABLE l ADD n int[] GENERATED ALWAYS AS (shingles(name, 3)) STORED,
              ADD a int[] GENERATED ALWAYS AS (shingles(address, 3)) STORED;
ALTER TABLE r ADD n int[] GENERATED ALWAYS AS (shingles(name, 3)) STORED,
              ADD a int[] GENERATED ALWAYS AS (shingles(address, 3)) STORED;
VACUUM ANALYZE l, r;
SET max_parallel_workers_per_gather = 0;
\timing on
\echo by the operator, three times
SELECT count(*) FROM l JOIN r ON 0.7 * jaccard_similarity(l.n, r.n) + 0.3 * jaccard_similarity(l.a, r.a) >= 0.8;
SELECT count(*) FROM l JOIN r ON 0.7 * jaccard_similarity(l.n, r.n) + 0.3 * jaccard_similarity(l.a, r.a) >= 0.8;
SELECT count(*) FROM l JOIN r ON 0.7 * jaccard_similarity(l.n, r.n) + 0.3 * jaccard_similarity(l.a, r.a) >= 0.8;
\echo with the implied clause written out
SELECT count(*) FROM l JOIN r ON jaccard_similarity(l.n, r.n) >= 0.714285
                                 AND 0.7 * jaccard_similarity(l.n, r.n) + 0.3 * jaccard_similarity(l.a, r.a) >= 0.8;
\echo in one of both columns, three times
SELECT count(*) FROM l JOIN r ON jaccard_similarity(l.n, r.n) >= 0.8 OR jaccard_similarity(l.a, r.a) >= 0.9;
SELECT count(*) FROM l JOIN r ON jaccard_similarity(l.n, r.n) >= 0.8 OR jaccard_similarity(l.a, r.a) >= 0.9;
SELECT count(*) FROM l JOIN r ON jaccard_similarity(l.n, r.n) >= 0.8 OR jaccard_similarity(l.a, r.a) >= 0.9;
\echo with UNION of the pairs of two joins
SELECT count(*) FROM (SELECT l.id, r.id FROM l JOIN r ON jaccard_similarity(l.n, r.n) >= 0.8
                      UNION SELECT l.id, r.id FROM l JOIN r ON jaccard_similarity(l.a, r.a) >= 0.9) pairs;
\echo nested loops of 500 rows: the sum, one of both
SET simjoin.enable_join = off;
SELECT count(*) FROM (SELECT * FROM l LIMIT 500) l
                     JOIN r ON 0.7 * jaccard_similarity(l.n, r.n) + 0.3 * jaccard_similarity(l.a, r.a) >= 0.8;
SELECT count(*) FROM (SELECT * FROM l LIMIT 500) l
                     JOIN r ON jaccard_similarity(l.n, r.n) >= 0.8 OR jaccard_similarity(l.a, r.a) >= 0.9;
