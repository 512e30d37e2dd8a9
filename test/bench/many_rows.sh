#!/bin/sh
# Times the self-join of many short titles from SQL, with all settings at their defaults. Up to 200,000,000 titles are
# joined on the CPU, too.
#
#   test/bench/many_rows.sh GENERATOR ROWS [PROCESSES [WORKERS]]
#
# GENERATOR is the built short_titles (build/.../test/bench/short_titles). PROCESSES (the cores) load the table side by side, and
# WORKERS (8) scan it. 1,000,000,000 titles, some 93 GB, were joined on a host with 512 GB, with max_worker_processes and
# max_parallel_workers above 48, and PGOPTIONS='-c simjoin.memory_limit=380GB -c max_parallel_workers_per_gather=48'.
# PGHOST, PGPORT, PGUSER and PGDATABASE choose the server, as for psql. The extension must be installed there. PGOPTIONS gives
# other settings. Creates the schema simjoin_bench and drops it at the end.
set -eu

if [ $# -lt 2 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GENERATOR ROWS [PROCESSES [WORKERS]]" >&2
  exit 2
fi
generator=$1 rows=$2 processes=${3:-$(nproc)} workers=${4:-8}

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' -c 'CREATE SCHEMA simjoin_bench' \
  -c "CREATE UNLOGGED TABLE simjoin_bench.titles (id int, tokens int[]) WITH (parallel_workers = $workers)"
loads=
for part in $(seq 0 $((processes - 1))); do
  { "$generator" "$rows" $((rows * part / processes)) $((rows * (part + 1) / processes)) |
    sql -c 'COPY simjoin_bench.titles FROM STDIN'; } &
  loads="$loads $!"
done
for load in $loads; do wait "$load"; done
sql -c 'ANALYZE simjoin_bench.titles'

scan='SELECT count(*) FROM simjoin_bench.titles WHERE id < 0'
join='SELECT count(*) FROM simjoin_bench.titles a JOIN simjoin_bench.titles b
  ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8'
set -- -c "$scan" -c "$scan" -c "$join" -c "$join" -c "$join"
echo "a scan twice, the join three times, and perhaps once on the CPU: rows and milliseconds"
[ "$rows" -gt 200000000 ] || set -- "$@" -c "SET simjoin.device = 'cpu'" -c "$join"
sql -c '\timing on' "$@" |
  awk '$1 == "Time:" { if (rows != "") print rows, $2; rows = ""; next } { rows = $0 }'
