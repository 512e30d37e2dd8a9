#!/bin/sh
# Times the join operator from SQL on a synthetic collection, beside a plain scan that touches every array.
#
#   test/bench/sql.sh GEN [PROFILE [SCALE [THRESHOLD...]]]
#
# GEN is the built generator (build/.../test/bench/gen). PGHOST, PGPORT, PGUSER and PGDATABASE say which server, as for
# psql; the extension must be installed there. Creates the schema simjoin_bench and drops it at the end. Other
# settings come through PGOPTIONS, e.g. PGOPTIONS='-c simjoin.algorithm=ppjoin -c simjoin.cpu_threads=2'.
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
  awk '{ gsub(/ /, ","); printf "%d\t{%s}\n", NR, $0 }' |
  sql -c 'COPY simjoin_bench.sets FROM STDIN'
sql -c 'VACUUM ANALYZE simjoin_bench.sets'

echo "== $profile $scale: a scan that touches every array"
for run in 1 2; do
  sql -At -c '\timing on' -c 'SELECT count(*), sum(cardinality(tokens)) FROM simjoin_bench.sets'
done

for threshold in "$@"; do
  echo "== $profile $scale: pairs with Jaccard similarity >= $threshold"
  join="SELECT count(*) FROM simjoin_bench.sets a JOIN simjoin_bench.sets b
          ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $threshold"
  sql -At -c '\timing on' -c "$join"
  sql -At -c "EXPLAIN (ANALYZE, COSTS OFF) $join"
done
