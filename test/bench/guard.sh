#!/bin/sh
# Times what triggers that keep out near-duplicates add to an INSERT, beside the index that they use.
#
#   test/bench/guard.sh [ROWS [THRESHOLD]]
#
# The table has ROWS sets of 20 integers below 200,000, skewed, or the shingles of titles of ten generated words. Every tenth
# new row is a near-duplicate of a row of the table. PGHOST, PGPORT, PGUSER (a superuser) and PGDATABASE choose the server, as
# for psql, on this machine. The extension must be installed there. Creates the schema simjoin_bench and drops it at the end.
# Prints microseconds of CPU time of the session a row, which do not depend on other work of the machine.
set -eu

rows=${1:-1000000}
threshold=${2:-0.8}

. "$(dirname "$0")/schema.sh"
{
  prologue
  cat << 'EOF'
CREATE FUNCTION new_set(kind text) RETURNS int[] LANGUAGE sql VOLATILE AS
$$ SELECT CASE kind WHEN 'integers' THEN ARRAY(SELECT (200000 * random() ^ 2)::int FROM generate_series(1, 20))
   ELSE shingles((SELECT string_agg(substr(md5(((random() ^ 2) * 50000)::int::text), 1, 3 + i % 7), ' ') FROM generate_series(1, 10) i)) END $$;
-- Inserts new rows in one statement, and row by row, and takes them out again. Prints the microseconds a row.
CREATE FUNCTION timed(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE begun numeric; one numeric := 'Infinity'; many numeric := 'Infinity'; new record; kept text;
BEGIN
  FOR run IN 1 .. 3 LOOP
    BEGIN
      begun := cpu();
      INSERT INTO sets SELECT * FROM coming;
      many := least(many, (cpu() - begun) / 10000);
      SELECT count(*) INTO kept FROM sets WHERE id > 100000000;
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
    END;
    BEGIN
      begun := cpu();
      FOR new IN SELECT * FROM coming LOOP
        INSERT INTO sets VALUES (new.id, new.tokens);
      END LOOP;
      one := least(one, (cpu() - begun) / 10000);
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
    END;
  END LOOP;
  RETURN format('%-40s %6s us a row, row by row %6s   (%s of 10,000 rows kept)', what, round(many * 1e6), round(one * 1e6), kept);
END $$;
SELECT setseed(0.5);
CREATE PROCEDURE run(kind text, rows int, threshold float8) LANGUAGE plpgsql AS $$
DECLARE index text := format('CREATE INDEX tokens ON sets USING gin (tokens int4_similarity_ops (threshold = %s))', threshold);
BEGIN
  CREATE TABLE sets (id int PRIMARY KEY, tokens int[]);
  CREATE TABLE coming (id int, tokens int[]);
  INSERT INTO sets SELECT i, new_set(kind) FROM generate_series(1, rows) i;
  INSERT INTO coming SELECT 100000000 + i, new_set(kind) FROM generate_series(1, 10000) i;
  COMMIT;
  RAISE WARNING '%', timed(kind || ': no index, no trigger');
  PERFORM create_similarity_index('sets', 'tokens', threshold);
  COMMIT;
  RAISE WARNING '%', timed(kind || ': index');
  EXECUTE format('CREATE TRIGGER t AFTER INSERT ON sets FOR EACH ROW EXECUTE FUNCTION refuse_similar(''tokens'', %s)', threshold);
  RAISE WARNING '%', timed(kind || ': index, refuse_similar');
  UPDATE coming SET tokens = near.tokens[2:] FROM sets near WHERE coming.id % 10 = 0 AND near.id = coming.id - 100000000;
  EXECUTE format('CREATE TRIGGER s BEFORE INSERT ON sets FOR EACH ROW EXECUTE FUNCTION skip_similar(''tokens'', %s)', threshold);
  COMMIT;
  RAISE WARNING '%', timed(kind || ': index, skip_similar, refuse_similar');
  DROP TABLE sets, coming;
  COMMIT;
END $$;
CALL run('integers', :rows, :threshold);
CALL run('titles', :rows, :threshold);
EOF
} | sql
