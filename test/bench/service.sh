#!/bin/sh
# Times joins on a GPU from SQL: a session's first one and later ones, many sessions at once, and what killed sessions leave.
#
#   test/bench/service.sh GEN
#
# GEN is the built generator (build/.../test/bench/gen). PGHOST, PGPORT, PGUSER and PGDATABASE choose a server on this host with
# at least 80 connections, as for psql. simjoin must be installed there, preloaded, and with simjoin.gpu_service on or off.
# Creates the schema simjoin_bench and drops it at the end. The collections are dblp1m (1,000,000 sets of 88 tokens) and
# kosarak.
set -eu

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
  echo "usage: $0 GEN" >&2
  exit 2
fi
gen=$1

sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
cleanup() { sql -c 'SET client_min_messages = error; DROP SCHEMA IF EXISTS simjoin_bench CASCADE' || true; rm -rf "$work"; }
work=$(mktemp -d)
trap cleanup EXIT
trap 'exit 130' INT TERM

cleanup
mkdir -p "$work"
sql -c 'SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS simjoin' -c 'CREATE SCHEMA simjoin_bench'
for collection in 'dblp1m 1' 'kosarak 1'; do
  table=simjoin_bench.${collection% *}
  sql -c "CREATE TABLE $table (id int, tokens int4[])"
  # The words of the collection are the arguments.
  "$gen" $collection 1 | awk '{ gsub(/ /, ","); printf "%.0f\t{%s}\n", NR, $0 }' | sql -c "COPY $table FROM STDIN"
  sql -c "VACUUM ANALYZE $table"
done

memory() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1; }
service() { sql -c 'SELECT * FROM simjoin_gpu_service()'; }
# Usage: statement TABLE THRESHOLD
statement() {
  echo "SELECT count(*) FROM simjoin_bench.$1 a JOIN simjoin_bench.$1 b ON a.id < b.id AND
    jaccard_similarity(a.tokens, b.tokens) >= $2"
}

# Usage: session TABLE THRESHOLD WORKERS: prints the times of a session's first three joins, by the choice of `auto`.
session() {
  join=$(statement "$1" "$2")
  sql -c 'SET jit = off' -c "SET max_parallel_workers_per_gather = $3" -c "SELECT count(*) FROM simjoin_bench.$1" \
    -c '\timing on' -c "$join" -c "$join" -c "$join" | awk '$1 == "Time:" { printf "%s ", $2 } END { print "" }'
}

# Usage: sessions NUMBER: the seconds of so many sessions that each join once, from the first start to the last end.
sessions() {
  join=$(statement dblp1m 0.8)
  before=$(memory)
  (while :; do memory; sleep 0.1; done > "$work/memory") & watcher=$!
  begin=$(date +%s.%N)
  pids=
  for i in $(seq "$1"); do
    sql -c 'SET jit = off' -c 'SET max_parallel_workers_per_gather = 0' -c 'SET client_min_messages = notice' -c "$join" \
      > "$work/out.$i" 2> "$work/err.$i" & pids="$pids $!"
  done
  for pid in $pids; do wait "$pid" || true; done
  end=$(date +%s.%N)
  kill "$watcher" 2> /dev/null || true
  wait "$watcher" 2> /dev/null || true
  right=$(cat "$work"/out.* | grep -cx "$expected" || true)
  left=$(cat "$work"/err.* | grep -c 'NOTICE\|WARNING\|ERROR' || true)
  peak=$(sort -n "$work/memory" | tail -n 1)
  echo "$1 sessions: $(echo "$end $begin" | awk '{ printf "%.2f", $1 - $2 }') s, $right right, $left left the GPU, device memory MB: before $before, peak $peak"
  rm -f "$work"/out.* "$work"/err.*
}

# Starts 1,000 sessions that join and ends each at some moment.
killed() {
  join=$(statement dblp1m 0.8)
  before=$(memory)
  for i in $(seq 100); do
    for j in $(seq 10); do sql -c 'SET jit = off' -c "$join" > "$work/out" 2>&1 & done
    sleep "0.$((i % 10))"
    sql -c "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()" > "$work/out"
  done
  wait
  sleep 2
  echo "1000 killed sessions: device memory MB before $before, after $(memory)"
}

expected=$(sql -c 'SET simjoin.device = cpu' -c "$(statement dblp1m 0.8)")
echo "service: $(service)"
for workers in 0 4; do
  for turn in 1 2 3 4 5; do echo "dblp1m at 0.8, $workers workers, three joins of a session, ms: $(session dblp1m 0.8 "$workers")"; done
done
for turn in 1 2 3; do echo "kosarak at 0.8, 0 workers, three joins of a session, ms: $(session kosarak 0.8 0)"; done
sql -c "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) $(statement dblp1m 0.8)" | grep -E 'Device|GPU|Scan Time|Build|Wait|Memory|Upload|Reason|Time:'
for number in 1 16 64; do sessions $number; done
echo "service: $(service)"
killed
echo "service: $(service)"
