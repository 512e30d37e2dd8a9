#!/bin/sh
# Times the join operator from SQL on a synthetic collection, and a plain scan that touches every array.
#
#   test/bench/sql.sh GEN [PROFILE [SCALE [THRESHOLD...]]]
#
# GEN is the built generator (build/.../test/bench/gen). PGHOST, PGPORT, PGUSER and PGDATABASE choose the server, as for
# psql. The extension must be installed there. Creates the schema simjoin_bench and drops it at the end. PGOPTIONS gives other
# settings, e.g. PGOPTIONS='-c simjoin.algorithm=ppjoin -c simjoin.cpu_threads=2'. The settings that matter are printed. For
# each threshold a session scans three times and joins four times. The first join of a session also loads the module and, on
# a GPU, sets up the GPU. The ratio is that of the shortest times.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GEN [PROFILE [SCALE [THRESHOLD...]]]" >&2
  exit 2
fi
gen=$1
profile=${2:-dblp}
scale=${3:-1}
if [ $# -gt 3 ]; then shift 3; else set -- 0.9 0.8 0.7 0.5; fi

sql() { psql -X -q -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' \
  -c 'CREATE SCHEMA simjoin_bench' \
  -c 'CREATE UNLOGGED TABLE simjoin_bench.sets (id int, tokens int4[])'
"$gen" "$profile" "$scale" 1 |
  awk '{ gsub(/ /, ","); printf "%.0f\t{%s}\n", NR, $0 }' |
  sql -c 'COPY simjoin_bench.sets FROM STDIN'
sql -c 'VACUUM ANALYZE simjoin_bench.sets'

# The timed scan finds the table in memory, as far as it fits.
scan='SELECT count(*), sum(cardinality(tokens)) FROM simjoin_bench.sets'
echo "== $profile $scale: $(sql -At -F ' sets, ' -c "$scan") tokens"
sql -At -c "LOAD 'simjoin'" -c "SELECT 'settings: ' || string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name)
  FROM pg_settings WHERE name IN ('shared_buffers', 'max_parallel_workers_per_gather', 'server_version', 'jit')
    OR name LIKE 'simjoin.%' AND name !~ 'debug' AND (source <> 'default' OR name IN ('simjoin.device', 'simjoin.memory_limit'))"

for threshold in "$@"; do
  join="SELECT count(*) FROM simjoin_bench.sets a JOIN simjoin_bench.sets b
          ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $threshold"
  sql -At -c '\timing on' -c "$scan" -c "$scan" -c "$scan" -c "$join" -c "$join" -c "$join" -c "$join" |
    awk -v threshold="$threshold" '
      $1 != "Time:" { answer = $0; next }
      {
        n++
        if (n <= 3) { scans = scans " " $2; if (n == 1 || $2 < scan) scan = $2 }
        if (n == 4) first = $2
        if (n > 4) { joins = joins " " $2; if (n == 5 || $2 < join) join = $2 }
      }
      END {
        if (n != 7) exit 1
        printf "at %s: %.0f pairs; scan%s ms; join%s ms, the first %s ms; join/scan %.2f\n",
          threshold, answer, scans, joins, first, join / scan
      }'
  sql -At -c "EXPLAIN (ANALYZE, COSTS OFF) $join"
done
