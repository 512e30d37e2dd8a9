#!/bin/sh
# Times the creation and refreshes of dedup views, with and without tracking of changes, and the cost of tracking for writers.
#
#   test/bench/views.sh [ROWS [THRESHOLD [SHARE...]]]
#
# The table has ROWS sets of 20 integers below 200,000, skewed. Every tenth set is nearly another. A SHARE is the part of the
# rows that change between refreshes. PGHOST, PGPORT, PGUSER (a superuser) and PGDATABASE choose the server, as for psql, on
# this machine. The extension must be installed there. Creates the schema simjoin_bench and drops it at the end. Prints
# seconds of CPU time of the session and its threads, which do not depend on other work of the machine.
set -eu

rows=${1:-1000000}
threshold=${2:-0.7}
if [ $# -gt 2 ]; then shift 2; else set -- 0.0001 0.001 0.01; fi

. "$(dirname "$0")/schema.sh"
{
  prologue
  cat << 'EOF'
-- Runs a statement and returns its CPU time.
CREATE FUNCTION timed(what text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before numeric := simjoin_bench.cpu(); result text;
BEGIN
  EXECUTE statement INTO result;
  RETURN format('%-44s %8s s   %s', what, round(simjoin_bench.cpu() - before, 2), result);
END $$;
CREATE FUNCTION random_set() RETURNS int[] LANGUAGE sql VOLATILE AS
$$ SELECT ARRAY(SELECT (200000 * random() ^ 2)::int FROM generate_series(1, 20)) $$;
SELECT setseed(0.5);
CREATE TABLE sets (id int PRIMARY KEY, tokens int[]);
INSERT INTO sets SELECT i, random_set() FROM generate_series(1, :rows) i;
UPDATE sets SET tokens = near.tokens[2:] || 1 FROM sets near WHERE sets.id % 10 = 0 AND near.id = sets.id - 1;
VACUUM ANALYZE sets;
CREATE TABLE plain (LIKE sets INCLUDING ALL);
CHECKPOINT;
SELECT timed('untracked: create', format('SELECT create_dedup_view(''untracked'', ''SELECT id, tokens FROM sets'', %s)', :threshold));
SELECT timed('tracked: create',
             format('SELECT create_dedup_view(''tracked'', ''SELECT id, tokens FROM sets'', %s, track_changes => true)', :threshold));
SELECT 'sizes: ' || string_agg(relname || ' ' || pg_size_pretty(pg_total_relation_size(oid)), ', ' ORDER BY relname)
FROM pg_class WHERE relnamespace = 'simjoin_bench'::regnamespace AND relkind IN ('r', 'm') AND pg_total_relation_size(oid) > 100000;
VACUUM ANALYZE;
EOF
  for share; do
    for run in 1 2; do
      cat << EOF
UPDATE sets SET tokens = random_set() WHERE id IN (SELECT (1 + random() * ($rows - 1))::int FROM generate_series(1, ($rows * $share)::int));
SELECT timed('tracked: $share changed', 'SELECT r FROM refresh_dedup_view(''tracked'') r');
SELECT timed('untracked, concurrently: $share changed', 'SELECT r FROM refresh_dedup_view(''untracked'') r');
UPDATE sets SET tokens = random_set() WHERE id IN (SELECT (1 + random() * ($rows - 1))::int FROM generate_series(1, ($rows * $share)::int));
SELECT timed('untracked: $share changed', 'SELECT r FROM refresh_dedup_view(''untracked'', false) r');
SELECT timed('tracked: $share changed', 'SELECT r FROM refresh_dedup_view(''tracked'') r');
EOF
    done
  done
  cat << 'EOF'
SELECT 'differences ' || count(*) FROM tracked t FULL JOIN untracked u USING (id, group_id, is_representative)
WHERE t.similarity IS DISTINCT FROM u.similarity;
-- Writers.
CREATE TABLE few AS SELECT * FROM sets ORDER BY random() LIMIT 100000;
CREATE FUNCTION one_by_one(target regclass, n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. n LOOP
    EXECUTE format('UPDATE %s SET tokens = tokens WHERE id = %s', target, i);
  END LOOP;
  RETURN n;
END $$;
INSERT INTO plain SELECT * FROM sets;
VACUUM ANALYZE plain;
EOF
  for run in 1 2 3; do
    for table in plain sets; do
      cat << EOF
SELECT timed('$table: 100,000 rows in one INSERT', 'WITH w AS (INSERT INTO $table SELECT 10000000 * $run + row_number() OVER (), tokens FROM few RETURNING 1) SELECT count(*) FROM w');
SELECT timed('$table: 100,000 rows in one UPDATE', 'WITH w AS (UPDATE $table SET tokens = tokens WHERE id > 10000000 * $run AND id <= 10000000 * $run + 100000 RETURNING 1) SELECT count(*) FROM w');
SELECT timed('$table: 100,000 rows in one DELETE', 'WITH w AS (DELETE FROM $table WHERE id > 10000000 * $run AND id <= 10000000 * $run + 100000 RETURNING 1) SELECT count(*) FROM w');
SELECT timed('$table: 20,000 UPDATEs', 'SELECT one_by_one(''$table'', 20000)');
EOF
    done
  done
} | sql
