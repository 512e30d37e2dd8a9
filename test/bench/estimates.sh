#!/bin/sh
# Prints estimated and real numbers of pairs for self-joins of synthetic collections.
#
#   test/bench/estimates.sh GEN [PROFILE:SCALE...]
#
# GEN is the built generator (build/.../test/bench/gen). PGHOST, PGPORT, PGUSER and PGDATABASE choose the server, as for
# psql. The extension must be installed there. Creates the schema simjoin_bench and drops it at the end. Statistics are
# those of ANALYZE with its default target. PGOPTIONS='-c default_statistics_target=1000' changes that. "plan" is the
# planning time in milliseconds, the best of five.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GEN [PROFILE:SCALE...]" >&2
  exit 2
fi
gen=$1
shift
[ $# -gt 0 ] || set -- dblp:1 kosarak:1 bms:1 enron:1 livejournal:0.2 twitter:0.2 aol:0.3 orkut:0.05

sql() { psql -X -q -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' \
  -c 'CREATE SCHEMA simjoin_bench' \
  -c "CREATE FUNCTION simjoin_bench.plan(query text) RETURNS json LANGUAGE plpgsql AS \$\$
      DECLARE plan json;
      BEGIN EXECUTE 'EXPLAIN (SUMMARY, FORMAT JSON) ' || query INTO plan; RETURN plan -> 0; END \$\$"

echo '| collection | measure | threshold | pairs | estimate | estimate / pairs | plan |'
echo '|---|---|---|---|---|---|---|'
for collection in "$@"; do
  profile=${collection%:*} scale=${collection#*:}
  sql -c 'SET client_min_messages = error; DROP TABLE IF EXISTS simjoin_bench.sets' \
    -c 'CREATE UNLOGGED TABLE simjoin_bench.sets (id int, tokens int4[])'
  "$gen" "$profile" "$scale" 1 2> /dev/null |
    awk '{ gsub(/ /, ","); printf "%d\t{%s}\n", NR, $0 }' |
    sql -c 'COPY simjoin_bench.sets FROM STDIN'
  sql -c 'VACUUM ANALYZE simjoin_bench.sets'
  for clause in jaccard:0.9 jaccard:0.8 jaccard:0.7 jaccard:0.5 cosine:0.9 cosine:0.7 dice:0.9 dice:0.7; do
    measure=${clause%:*} threshold=${clause#*:}
    join="FROM simjoin_bench.sets a JOIN simjoin_bench.sets b
          ON a.id <> b.id AND ${measure}_similarity(a.tokens, b.tokens) >= $threshold"
    # Each pair is counted once here, and comes out of the join in both orders.
    pairs=$(sql -At -c "SELECT count(*) $(echo "$join" | sed 's/<>/</')")
    sql -At -v pairs="$pairs" -c "SELECT format('| \`%s\` | %s | %s | %s | %s | %s | %s |', '$profile $scale', '$measure',
        '$threshold', $pairs, round(rows), round((rows / greatest($pairs, 1))::numeric, 2), round(ms::numeric, 2))
      FROM (SELECT min((p -> 'Plan' ->> 'Plan Rows')::float8) / 2 AS rows, min((p ->> 'Planning Time')::float8) AS ms
            FROM generate_series(1, 5) i, simjoin_bench.plan(\$\$SELECT $join\$\$ || left('', i)) p) estimates"
  done
done
