#!/bin/sh
# Measures the memory of statements from outside: the largest resident memory of the server's process, as the kernel counts
# it, without shared memory and the memory that the session had before.
#
#   test/bench/memory.sh [LIMIT...]
#
# A LIMIT is a value of simjoin.memory_limit (default: 4MB 16MB 64MB 256MB 1GB). Joins are of sets of 1 to 1,000,000 integers
# of 32 and 64 bits and texts, about 6,000,000 elements in all. Other functions get 100,000 sets of 60. Each statement has a
# session of its own. WHAT, a regular expression, chooses lines by their text.
#
# PGHOST, PGPORT, PGUSER (a superuser) and PGDATABASE choose the server, as for psql, on this machine (Linux). The extension
# must be installed there. Creates the schema simjoin_bench and drops it at the end. With KEEP=1 it stays for the next call.
# Prints for each limit the peak in MB, and in parentheses the SQLSTATE if the statement was refused.
set -eu

[ $# -gt 0 ] || set -- 4MB 16MB 64MB 256MB 1GB
what=${WHAT:-.}

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
[ -n "${KEEP:-}" ] || trap cleanup EXIT
trap 'exit 130' INT TERM

[ -n "${KEEP:-}" ] && [ "$(sql -c "SELECT to_regclass('simjoin_bench.text_1000000') IS NOT NULL")" = t ] || { cleanup && sql << 'EOF'
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA simjoin_bench;
SET search_path = simjoin_bench, public;
-- Returns a figure of this process's status, in kB.
CREATE FUNCTION status(what text) RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT substring(pg_read_file('/proc/self/status') FROM what || ':\s+(\d+)')::bigint $$;
-- Runs a statement and returns its memory.
CREATE FUNCTION peak(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before bigint; refused text := '';
BEGIN
  PERFORM simjoin_version();
  COPY (SELECT 5) TO '/proc/self/clear_refs';  -- resets VmHWM to the present resident memory
  before := simjoin_bench.status('RssAnon');
  BEGIN
    EXECUTE statement;
  EXCEPTION WHEN OTHERS THEN
    refused := format(' (%s)', SQLSTATE);
  END;
  RETURN round((simjoin_bench.status('VmHWM') - simjoin_bench.status('RssShmem') - simjoin_bench.status('RssFile') - before) / 1024.0)
         || refused;
END $$;
-- Returns n sets of about `size` elements below `universe`, skewed. Every tenth set is nearly another.
CREATE FUNCTION make_sets(name text, n int, size int, universe int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setseed(0.5);
  EXECUTE format('CREATE TABLE %I AS SELECT i AS id, ARRAY(SELECT (%s * random() ^ 2)::int FROM generate_series(1, %s + i * 0)) AS tokens
                  FROM generate_series(1, %s) i', 'int4_' || name, universe, size, n);
  EXECUTE format('UPDATE %1$I a SET tokens = b.tokens FROM %1$I b WHERE a.id %% 10 = 0 AND b.id = a.id - 1', 'int4_' || name);
  EXECUTE format('CREATE TABLE %I AS SELECT id, ARRAY(SELECT t * 1000003::bigint FROM unnest(tokens) t) AS tokens FROM %I',
                 'int8_' || name, 'int4_' || name);
  EXECUTE format('CREATE TABLE %I AS SELECT id, ARRAY(SELECT ''word '' || t FROM unnest(tokens) t) AS tokens FROM %I',
                 'text_' || name, 'int4_' || name);
END $$;
SELECT make_sets('1', 1000000, 1, 1000000);
SELECT make_sets('60', 100000, 60, 1000000);
SELECT make_sets('8192', 800, 8192, 1000000);
SELECT make_sets('200000', 30, 200000, 1000000);
SELECT make_sets('1000000', 6, 1000000, 3000000);
VACUUM ANALYZE;
EOF
}

# measure TEXT STATEMENT LIMIT...: prints a line of the table.
measure() {
  text=$1 statement=$2
  shift 2
  echo "$text" | grep -qE "$what" || return 0
  printf '%s' "| $text |"
  for limit; do
    printf ' %s |' "$(sql -v statement="$statement" << EOF
SET client_min_messages = error;
SET search_path = simjoin_bench, public;
SET work_mem = '64kB';
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET simjoin.memory_limit = '$limit';
SET simjoin.minhash_permutations = 128;
SELECT peak(:'statement');
EOF
)"
  done
  echo
}

head='| statement |' rule='|---|'
for limit; do head="$head $limit |" rule="$rule---|"; done
printf '%s\n' "$head" "$rule"
similar='a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8'
for type in int4 int8 text; do
  for size in 1 60 8192 200000 1000000; do
    t=${type}_$size
    measure "join operator, $type, sets of $size" "SELECT count(*) FROM $t a JOIN $t b ON $similar" "$@"
  done
  t=${type}_60 q="'SELECT id, tokens FROM ${type}_60'"
  half="'SELECT id, tokens FROM ${type}_60 WHERE id % 2 = 0'" other="'SELECT id, tokens FROM ${type}_60 WHERE id % 2 = 1'"
  measure "join operator, $type, two tables" \
    "SELECT count(*) FROM $t a JOIN (SELECT * FROM $t OFFSET 0) b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8" "$@"
  measure "EXISTS, $type" "SELECT count(*) FROM $t a WHERE EXISTS (SELECT FROM $t b WHERE $similar)" "$@"
  measure "similarity_self_join, $type" "SELECT count(*) FROM similarity_self_join($q, 0.8)" "$@"
  measure "similarity_join, $type" "SELECT count(*) FROM similarity_join($half, $other, 0.8)" "$@"
  measure "similarity_neighbors, $type" "SELECT count(*) FROM similarity_neighbors($half, $other, 3, 0.5)" "$@"
  measure "duplicate_groups, $type" "SELECT count(*) FROM duplicate_groups($q, 0.8)" "$@"
  measure "duplicate_groups, star, $type" "SELECT count(*) FROM duplicate_groups($q, 0.8, method => 'star')" "$@"
  measure "minhash_self_join, $type" "SELECT count(*) FROM minhash_self_join($q, 0.8)" "$@"
  measure "minhash_self_join unverified, $type" "SELECT count(*) FROM minhash_self_join($q, 0.8, verify => false)" "$@"
  measure "operator by bands, $type" \
    "DO \$\$ BEGIN SET LOCAL simjoin.method = minhash; PERFORM count(*) FROM $t a JOIN $t b ON $similar; END \$\$" "$@"
  measure "create_dedup_view, $type" \
    "DO \$\$ BEGIN PERFORM create_dedup_view('v', $(echo "$q" | sed "s/FROM /FROM simjoin_bench./"), 0.8); PERFORM drop_dedup_view('v'); END \$\$" "$@"
done
edges="'SELECT id, t FROM int4_60, unnest(tokens[1:40]) t'"
measure "connected_components, 4,000,000 edges" "SELECT count(*) FROM connected_components($edges)" "$@"
measure "pagerank, 4,000,000 edges" "SELECT count(*) FROM pagerank($edges)" "$@"
measure "densest_subgraph, 4,000,000 edges" "SELECT count(*) FROM densest_subgraph($edges, 100)" "$@"
for type in int4 int8 text; do
  measure "tf_idf, $type" "SELECT count(*) FROM tf_idf('SELECT id, tokens FROM ${type}_60', NULL::$type[])" "$@"
  measure "cluster_documents, $type" "SELECT count(*) FROM cluster_documents(
    'SELECT id, tokens[1:20], array_fill(1::real, ARRAY[cardinality(tokens[1:20])]) FROM ${type}_60', 0.5)" "$@"
done
measure "flyhash_signatures" \
  "SELECT count(*) FROM flyhash_signatures('SELECT id, tokens::real[] FROM int4_60', 32)" "$@"
measure "minhash_signatures" "SELECT count(*) FROM minhash_signatures('SELECT id, tokens FROM int4_60')" "$@"
