-- Documents of 20 to 100 terms with tf-idf weights, joined with themselves by weighted Jaccard similarity and the cosine. One
-- in five is a variant of an earlier one. `bands` is the operator with simjoin.method = minhash. psql -v n=100000 -v compared=2000 -v thresholds='{0.9,0.8,0.7,0.5}' -v runs=3
-- -f test/bench/weighted.sql, in a new database, as a superuser. Prints CPU seconds of the session with all its threads.
CREATE EXTENSION simjoin;
SELECT setseed(0.5);
-- A word's number is vocabulary ^ u for u between 0 and 1, so that frequencies are like Zipf's. The vocabulary grows
-- with the square root of the collection.
CREATE TABLE words_of AS
SELECT i AS id, ARRAY(SELECT ((100 * sqrt(:n)) ^ (random() ^ 0.8))::int FROM generate_series(1, 20 + (random() * 80)::int + i * 0)) AS terms
FROM generate_series(1, :n) i;
UPDATE words_of w SET terms = ARRAY(SELECT CASE WHEN random() < 0.08 THEN (random() * 100 * sqrt(:n))::int ELSE t END FROM unnest(o.terms) t)
FROM words_of o WHERE w.id % 5 = 0 AND o.id = w.id - 1 - w.id % 3;
CREATE TABLE documents AS SELECT * FROM tf_idf('SELECT id, terms FROM words_of', NULL::int[]);
DROP TABLE words_of;
CREATE TABLE few AS SELECT * FROM documents WHERE id <= :compared;
VACUUM ANALYZE documents, few;
SELECT count(*) AS documents, avg(cardinality(terms)) AS distinct_terms FROM documents;

CREATE FUNCTION cpu() RETURNS float8 LANGUAGE sql VOLATILE AS $$
  SELECT (f[14]::float8 + f[15]::float8) / 100 FROM string_to_array(pg_read_file('/proc/self/stat'), ' ') f $$;
CREATE FUNCTION join_of(relation text, measure text, threshold float8, way text, OUT pairs bigint, OUT seconds float8, OUT cpu_seconds float8)
LANGUAGE plpgsql AS $$
DECLARE
  started timestamptz := clock_timestamp();
  before float8 := cpu();
BEGIN
  PERFORM set_config('simjoin.enable_join', (way <> 'nested loop')::text, true), set_config('simjoin.method', CASE way WHEN 'bands' THEN 'minhash' ELSE 'exact' END, true), set_config('max_parallel_workers_per_gather', '0', true);
  EXECUTE format('SELECT count(*) FROM %1$I a JOIN %1$I b ON a.id < b.id
    AND %2$s_similarity(a.terms, a.weights, b.terms, b.weights) >= %3$s', relation, measure, threshold) INTO pairs;
  seconds := extract(epoch FROM clock_timestamp() - started);
  cpu_seconds := cpu() - before;
END $$;
SET jit = off;
SELECT relation, way, measure, threshold, min(pairs) AS pairs, min(cpu_seconds) AS cpu_seconds, min(round(seconds::numeric, 2)) AS seconds
FROM (SELECT c.*, measure, j.* FROM generate_series(1, :runs) run,
        (SELECT 'few' AS relation, way, threshold FROM unnest('{operator,nested loop}'::text[]) way, unnest(:'thresholds'::float8[]) threshold
         UNION ALL SELECT 'documents', way, threshold FROM unnest('{operator,bands}'::text[]) way, unnest(:'thresholds'::float8[]) threshold) c,
        unnest('{weighted_jaccard,weighted_cosine}'::text[]) measure, join_of(relation, measure, threshold, way) j) runs
GROUP BY relation, way, measure, threshold ORDER BY relation, way, measure, threshold DESC;
