-- Texts of 210 characters as sets of shingles, joined by the operator and by functions, on the GPU if there is one and on the CPU: with
-- psql -v n=1000000 -f test/bench/texts.sql, in a new database. A tenth of the texts are others with two more characters. Prints milliseconds.
CREATE EXTENSION IF NOT EXISTS simjoin;
SET max_parallel_workers_per_gather = 8;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET jit = off;
-- Words of 3 to 9 letters, 50,000 different ones, whose frequencies are like Zipf's.
CREATE FUNCTION word(r int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT translate(substr(md5(r::text), 1, 3 + r % 7), '0123456789', 'ghijklmnop') $$;
CREATE FUNCTION words(seed int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT string_agg(word((50000 ^ ((hashint4extended(seed, j) & 1048575) / 1048576.0::float8))::int), ' ' ORDER BY j) FROM generate_series(1, 36) j $$;
CREATE UNLOGGED TABLE ids WITH (parallel_workers = 8) AS SELECT generate_series(1, :n) AS id;
CREATE UNLOGGED TABLE texts WITH (parallel_workers = 8) AS
SELECT id, left(words(CASE WHEN id % 10 = 0 THEN id - 1 ELSE id END) || CASE WHEN id % 10 = 0 THEN ' x' ELSE '' END, 210) AS body FROM ids;
VACUUM ANALYZE texts;
SELECT count(*) AS texts, avg(length(body)) AS characters FROM texts;
\set by_operator 'SELECT count(*) FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.body, b.body, ''shingles(5)'') >= 0.7;'
\set sets '''SELECT id, shingles(body) FROM texts'', 0.7'
\set bodies '''SELECT id, body FROM texts'', 0.7, tokens => ''shingles(5)'''
\timing on
\echo scan, shingles
SELECT count(*) FROM texts WHERE length(body) < 0;
SELECT count(shingles(body)) FROM texts;
\echo operator
:by_operator
:by_operator
:by_operator
\echo similarity_self_join, of sets and of texts
SELECT count(*) FROM similarity_self_join(:sets);
SELECT count(*) FROM similarity_self_join(:bodies);
\echo duplicate_groups
SELECT count(*) FROM duplicate_groups(:sets);
SELECT count(*) FROM duplicate_groups(:bodies);
\echo minhash_self_join
SELECT count(*) FROM minhash_self_join(:sets, recall => 0.95);
SELECT count(*) FROM minhash_self_join(:bodies, recall => 0.95);
SET simjoin.device = cpu;
\echo CPU: operator, duplicate_groups, minhash_self_join
:by_operator
SELECT count(*) FROM duplicate_groups(:bodies);
SELECT count(*) FROM minhash_self_join(:bodies, recall => 0.95);
