#!/bin/sh
# Times full and tracked refreshes of dedup views with ids that are integers and uuids, and of sets with weights.
#
#   test/bench/view_kinds.sh [ROWS [SHARE]]
#
# The table has ROWS sets of 20 integers below 200,000, skewed, with weights from 0.5 to 8. Every tenth set is nearly another.
# A SHARE is the part of the rows that change between refreshes. PGHOST, PGPORT, PGUSER (a superuser) and PGDATABASE choose
# the server, as for psql, on this machine. The extension must be installed there. Creates the schema simjoin_bench and drops
# it at the end. Prints seconds of CPU time of the session and its threads, which do not depend on other work of the machine.
set -eu

rows=${1:-500000}
share=${2:-0.001}
threshold=0.7
changed="id IN (SELECT (1 + random() * ($rows - 1))::int FROM generate_series(1, ($rows * $share)::int))"

. "$(dirname "$0")/schema.sh"
{
  prologue
  cat << 'EOF'
CREATE FUNCTION timed(what text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before numeric := simjoin_bench.cpu(); result text;
BEGIN
  EXECUTE statement INTO result;
  RETURN format('%-44s %8s s   %s', what, round(simjoin_bench.cpu() - before, 2), result);
END $$;
CREATE FUNCTION random_set() RETURNS int[] LANGUAGE sql VOLATILE AS
$$ SELECT ARRAY(SELECT (200000 * random() ^ 2)::int FROM generate_series(1, 20)) $$;
CREATE FUNCTION weights_of(tokens int[]) RETURNS real[] LANGUAGE sql IMMUTABLE AS
$$ SELECT ARRAY(SELECT ((1 + token % 16) / 2.0)::real FROM unnest(tokens) token) $$;
SELECT setseed(0.5);
CREATE TABLE sets (id int PRIMARY KEY, key uuid UNIQUE, tokens int[], weights real[]);
INSERT INTO sets SELECT i, md5(i::text)::uuid, random_set() FROM generate_series(1, :rows) i;
UPDATE sets SET tokens = near.tokens[2:] || 1 FROM sets near WHERE sets.id % 10 = 0 AND near.id = sets.id - 1;
UPDATE sets SET weights = weights_of(tokens);
VACUUM FULL ANALYZE sets;
CHECKPOINT;
CREATE TABLE kinds (kind text, query text, threshold float8, measure text);
INSERT INTO kinds VALUES ('integer', 'SELECT id, tokens FROM sets', 0.7, 'jaccard'), ('uuid', 'SELECT key, tokens FROM sets', 0.7, 'jaccard'),
  ('weighted_jaccard', 'SELECT id, tokens, weights FROM sets', 0.7, 'weighted_jaccard'), ('weighted_cosine', 'SELECT id, tokens, weights FROM sets', 0.9, 'weighted_cosine'),
  ('weighted_uuid', 'SELECT key, tokens, weights FROM sets', 0.7, 'weighted_jaccard');
SELECT timed(kind || ', tracked: create', format('SELECT create_dedup_view(%L, %L, %s, %L, track_changes => true)', 'tracked_' || kind, query, threshold, measure)) FROM kinds;
SELECT timed(kind || ': create', format('SELECT create_dedup_view(%L, %L, %s, %L)', 'full_' || kind, query, threshold, measure)) FROM kinds;
SELECT 'sizes: ' || string_agg(relname || ' ' || pg_size_pretty(pg_total_relation_size(oid)), ', ' ORDER BY relname)
FROM pg_class WHERE relnamespace = 'simjoin_bench'::regnamespace AND relname LIKE '%\_rows';
VACUUM ANALYZE;
EOF
  for run in 1 2 3; do
    cat << EOF
CREATE TABLE new_$run AS SELECT id, random_set() AS tokens FROM sets WHERE $changed;
UPDATE sets SET tokens = new_$run.tokens, weights = weights_of(new_$run.tokens) FROM new_$run WHERE sets.id = new_$run.id;
SELECT timed(kind || ', tracked', format('SELECT r FROM refresh_dedup_view(%L) r', 'tracked_' || kind)) FROM kinds;
SELECT timed(kind, format('SELECT r FROM refresh_dedup_view(%L, false) r', 'full_' || kind)) FROM kinds;
EOF
  done
  for kind in integer uuid weighted_jaccard weighted_cosine weighted_uuid; do
    echo "SELECT '$kind: differences ' || count(*) FROM tracked_$kind t FULL JOIN full_$kind u USING (id, group_id, is_representative) WHERE t.similarity IS DISTINCT FROM u.similarity;"
  done
} | sql
