#!/bin/sh
# Times similarity joins from SQL by the number of parallel workers that read their inputs.
#
#   test/bench/workers.sh GEN [WORKERS...]
#
# GEN is the built generator (build/.../test/bench/gen), WORKERS are values of max_parallel_workers_per_gather (0 1 2 4). PGHOST,
# PGPORT, PGUSER and PGDATABASE choose the server, as for psql. The extension must be installed there, and max_worker_processes
# and max_parallel_workers large enough. PGOPTIONS gives other settings. Creates the schema simjoin_bench and drops it at the end.
# The collections are sets of 3 and 9 integers, sets of 88 integers, and 300,000 texts of 200 characters with shingles in the
# query. Numbers of workers take turns, five times. Each line has the shortest time of a statement.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GEN [WORKERS...]" >&2
  exit 2
fi
gen=$1
shift
[ $# -gt 0 ] || set -- 0 1 2 4

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' -c 'CREATE SCHEMA simjoin_bench'
for collection in 'aol 0.3' 'kosarak 1'; do
  table=simjoin_bench.${collection% *}
  sql -c "CREATE TABLE $table (id int, tokens int4[])"
  # The words of the collection are the arguments.
  "$gen" $collection 1 | awk '{ gsub(/ /, ","); printf "%.0f\t{%s}\n", NR, $0 }' | sql -c "COPY $table FROM STDIN"
done
sql -c "CREATE TABLE simjoin_bench.long AS SELECT i AS id,
    ARRAY(SELECT (i * 7919::bigint + j * j * 104729) % 1000003 FROM generate_series(1, 88) j)::int4[] AS tokens FROM generate_series(1, 1000000) i" \
  -c "CREATE TABLE simjoin_bench.texts AS SELECT i AS id,
    (SELECT string_agg(left(md5(i * 7 + j || 'x'), 7), ' ') FROM generate_series(1, 25) j) AS body FROM generate_series(1, 300000) i"
for table in aol kosarak long texts; do sql -c "VACUUM ANALYZE simjoin_bench.$table"; done

# Usage: join TABLE SET THRESHOLD WORKERS: prints the time of the statement.
join() {
  sql -c 'SET jit = off' -c "SET max_parallel_workers_per_gather = $4" -c "SELECT count(*) FROM simjoin_bench.$1" \
    -c '\timing on' -c "SELECT count(*) FROM simjoin_bench.$1 a JOIN simjoin_bench.$1 b
      ON a.id < b.id AND jaccard_similarity($(printf %s "$2" | sed 's/X/a/'), $(printf %s "$2" | sed 's/X/b/')) >= $3" |
    awk '$1 == "Time:" { print $2 }'
}

# Usage: measure TABLE SET THRESHOLD WORKERS...
measure() {
  table=$1 set=$2 threshold=$3
  shift 3
  for turn in 1 2 3 4 5; do
    for workers in "$@"; do echo "$workers $(join "$table" "$set" "$threshold" "$workers")"; done
  done | awk -v name="$table at $threshold" '
    !($1 in best) { order[++n] = $1; best[$1] = $2 }
    $2 < best[$1] { best[$1] = $2 }
    END { for (i = 1; i <= n; i++) printf "%s, %s workers: %s ms\n", name, order[i], best[order[i]] }'
}

measure aol X.tokens 0.9 "$@"
measure kosarak X.tokens 0.9 "$@"
measure long X.tokens 0.8 "$@"
measure texts 'shingles(X.body)' 0.8 "$@"
