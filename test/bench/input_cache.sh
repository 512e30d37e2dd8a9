#!/bin/sh
# Times similarity joins from SQL whose inputs the session keeps (simjoin.input_cache), beside joins that read them.
#
#   test/bench/input_cache.sh GEN [WORKERS...]
#
# GEN is the built generator (build/.../test/bench/gen), WORKERS are values of max_parallel_workers_per_gather (0 2 4). PGHOST,
# PGPORT, PGUSER and PGDATABASE choose the server, as for psql. The extension must be installed there. PGOPTIONS gives other
# settings, such as -c simjoin.device=gpu. The role must be a superuser. Creates the schema simjoin_bench and drops it at the end.
# COLLECTIONS has a profile of gen, a scale and a threshold on each line (aol 0.3 0.9, kosarak 1 0.9, dblp1m 1 0.8).
# One session runs each join once, then five times without the cache, once with an empty cache, and five times from the cache. A
# line has the milliseconds of the shortest run, and the CPU milliseconds of the session with its threads, without workers.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GEN [WORKERS...]" >&2
  exit 2
fi
gen=$1
shift
[ $# -gt 0 ] || set -- 0 2 4

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' -c 'CREATE SCHEMA simjoin_bench'
collections=${COLLECTIONS-aol 0.3 0.9
kosarak 1 0.9
dblp1m 1 0.8}
printf '%s\n' "$collections" | while read -r profile scale threshold; do
  sql -c "CREATE TABLE simjoin_bench.$profile (id int, tokens int4[])"
  "$gen" "$profile" "$scale" 1 | awk '{ gsub(/ /, ","); printf "%.0f\t{%s}\n", NR, $0 }' | sql -c "COPY simjoin_bench.$profile FROM STDIN"
  sql -c "VACUUM ANALYZE simjoin_bench.$profile"
done

# Usage: statements NAME TABLE THRESHOLD RUNS: prints SQL that runs the join and tells its times.
statements() {
  for run in $(seq "$4"); do
    cat <<SQL
SELECT clock_timestamp() AS began, :cpu AS cpu \gset
SELECT count(*) FROM simjoin_bench.$2 a JOIN simjoin_bench.$2 b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $3 \g /dev/null
SELECT '$1', extract(epoch FROM clock_timestamp() - :'began') * 1000, (:cpu - :cpu_before) * 10;
SQL
  done | sed 's/AS cpu /AS cpu_before /'
}

# Usage: measure TABLE THRESHOLD WORKERS...
measure() {
  table=$1 threshold=$2
  shift 2
  for workers in "$@"; do
    {
      echo "\\set cpu '(SELECT split_part(t, '' '', 14)::int + split_part(t, '' '', 15)::int FROM pg_read_file(''/proc/self/stat'', 0, 1000) t)'"
      echo "SET jit = off; SET max_parallel_workers_per_gather = $workers;"
      statements warm "$table" "$threshold" 1
      statements off "$table" "$threshold" 5
      echo "SET simjoin.input_cache = '4GB';"
      statements filling "$table" "$threshold" 1
      statements cached "$table" "$threshold" 5
    } | sql | awk -F'|' -v name="$table at $threshold, $workers workers" '
      !($1 in best) { order[++n] = $1; best[$1] = $2; cpu[$1] = $3 }
      $2 < best[$1] { best[$1] = $2 }
      $3 < cpu[$1] { cpu[$1] = $3 }
      END { for (i = 2; i <= n; i++) printf "%s, %s: %.1f ms, CPU %d ms\n", name, order[i], best[order[i]], cpu[order[i]] }'
  done
}

printf '%s\n' "$collections" | while read -r profile scale threshold; do measure "$profile" "$threshold" "$@"; done
