#!/bin/sh
# Times a self-join of a table beside the joins of its parts, which several servers would do at the same time.
#
#   test/bench/parts.sh [ROWS [THRESHOLD]]
#
# The table has ROWS sets of tokens whose frequency falls as 1/rank: baskets (log-normal sizes around 3), texts (around 90)
# or titles (56 ± 16). Every tenth set is nearly another. It is dealt out by size to 16 parts and by id to 13. PGHOST, PGPORT,
# PGUSER (a superuser) and PGDATABASE choose the server, as for psql, on this machine. The extension must be installed there.
# Creates the schema simjoin_bench and drops it at the end. Prints seconds of CPU time of the session and its threads, the
# least of three for each join: the whole one, the largest and the sum of the parts, and what it takes to deal out. speed-up
# is that of as many servers as there are parts, if the network takes no time and each deals out its share.
set -eu

rows=${1:-200000}
threshold=${2:-0.8}

. "$(dirname "$0")/schema.sh"
{
  prologue
  cat << 'EOF'
-- Returns the least CPU time of three runs of a query.
CREATE FUNCTION least_cpu(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE begun numeric; taken numeric := 'Infinity'; pairs bigint;
BEGIN
  FOR run IN 1 .. 3 LOOP
    begun := cpu();
    EXECUTE query INTO pairs;
    taken := least(taken, cpu() - begun);
  END LOOP;
  RETURN taken;
END $$;
SET max_parallel_workers_per_gather = 0;
CREATE PROCEDURE run(shape text, rows int, threshold float8) LANGUAGE plpgsql AS $$
DECLARE
  begun numeric; dealing numeric; whole numeric; times numeric[]; parts int; condition text; pairs bigint; dealt_pairs bigint; bounds bigint[];
BEGIN
  DROP TABLE IF EXISTS sets, route;
  CREATE TABLE sets AS
  SELECT id, ARRAY(SELECT exp(ln(100000) * random())::int FROM generate_series(1, size) WHERE id > 0) AS tokens
  FROM (SELECT id, greatest(1, CASE shape WHEN 'baskets' THEN exp(1.2 + 0.9 * z) WHEN 'texts' THEN exp(4.5 + 0.6 * z)
                               ELSE 56 + 16 * z END)::int AS size
        FROM generate_series(1, rows) id,
             LATERAL (SELECT sqrt(-2 * ln((1 + (hashint8(id) & 1048575)) / 1048577.0))
                             * cos(2 * pi() * (hashint8(id + 10000000) & 1048575) / 1048576.0) AS z) normal) sizes;
  UPDATE sets SET tokens = near.tokens[2:] || 1 FROM sets near WHERE sets.id % 10 = 0 AND near.id = sets.id - 1;
  COMMIT;
  ANALYZE sets;
  condition := format('jaccard_similarity(a.tokens, b.tokens) >= %s', threshold);
  whole := least_cpu('SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND ' || condition);
  EXECUTE 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND ' || condition INTO pairs;
  FOREACH parts IN ARRAY '{16,13}'::int[] LOOP
    DROP TABLE IF EXISTS route;
    CREATE TABLE route (part int, n int, id int, tokens int[]) PARTITION BY LIST (part);
    FOR part IN 0 .. parts - 1 LOOP
      EXECUTE format('CREATE TABLE route_%s PARTITION OF route FOR VALUES IN (%s)', part, part);
    END LOOP;
    begun := cpu();
    IF parts = 16 THEN
      SELECT similarity_part_bounds(array_agg(size), array_agg(count), 16) INTO bounds
      FROM (SELECT set_size(tokens) AS size, count(*) FROM sets GROUP BY 1) s;
      INSERT INTO route SELECT part, n, id, tokens
      FROM sets, unnest(similarity_parts(id, tokens, threshold, bounds)) WITH ORDINALITY p (part, n);
    ELSE
      INSERT INTO route SELECT part, n, id, tokens FROM sets, unnest(similarity_parts(id, 13)) WITH ORDINALITY p (part, n);
    END IF;
    dealing := cpu() - begun;
    COMMIT;
    ANALYZE route;
    times := '{}';
    dealt_pairs := 0;
    FOR part IN 0 .. parts - 1 LOOP
      DECLARE query text := format('SELECT count(*) FROM route_%1$s a JOIN route_%1$s b ON %2$s AND %3$s', part,
        CASE parts WHEN 16 THEN 'a.n = 1 AND (b.n > 1 OR a.id < b.id)' ELSE 'a.id < b.id AND (a.n <> b.n OR a.n = 1)' END, condition);
        found bigint;
      BEGIN
        times := times || least_cpu(query);
        EXECUTE query INTO found;
        dealt_pairs := dealt_pairs + found;
      END;
    END LOOP;
    IF dealt_pairs <> pairs THEN
      RAISE EXCEPTION '% pairs in parts, % at once', dealt_pairs, pairs;
    END IF;
    RAISE WARNING '%', format('%-8s %-10s whole %6s s   largest part %6s   all parts %6s   dealing out %6s   speed-up %5s',
      shape, CASE parts WHEN 16 THEN '16 by size' ELSE '13 by id' END, round(whole, 2), round((SELECT max(t) FROM unnest(times) t), 2),
      round((SELECT sum(t) FROM unnest(times) t), 2), round(dealing, 2),
      round(whole / ((SELECT max(t) FROM unnest(times) t) + dealing / parts), 1));
  END LOOP;
END $$;
CALL run('baskets', :rows, :threshold);
CALL run('texts', :rows, :threshold);
CALL run('titles', :rows, :threshold);
EOF
} | sql
