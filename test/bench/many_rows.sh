#!/bin/sh
# Times the self-join of many short titles from SQL, with all settings at their defaults, and on the CPU.
#
#   test/bench/many_rows.sh GENERATOR ROWS [PROCESSES]
#
# GENERATOR is the built short_titles (build/.../test/bench/short_titles). PROCESSES (the cores) load the table side by side.
# PGHOST, PGPORT, PGUSER and PGDATABASE choose the server, as for psql. The extension must be installed there. PGOPTIONS gives
# other settings. Creates the schema simjoin_bench and drops it at the end.
set -eu

if [ $# -lt 2 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GENERATOR ROWS [PROCESSES]" >&2
  exit 2
fi
generator=$1 rows=$2 processes=${3:-$(nproc)}

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' -c 'CREATE SCHEMA simjoin_bench' \
  -c 'CREATE UNLOGGED TABLE simjoin_bench.titles (id int, tokens int[]) WITH (parallel_workers = 8)'
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
echo "a scan twice, the join three times, and once on the CPU: rows and milliseconds"
sql -c '\timing on' -c "$scan" -c "$scan" -c "$join" -c "$join" -c "$join" -c "SET simjoin.device = 'cpu'" -c "$join" |
  awk '$1 == "Time:" { if (rows != "") print rows, $2; rows = ""; next } { rows = $0 }'
