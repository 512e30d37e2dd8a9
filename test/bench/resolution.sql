-- The filtering of a benchmark of entity resolution, by joins and by nearest neighbours, and restaurants by two tokenizers.
-- psql -v folder=/DATA -f test/bench/resolution.sql, in a new database, as a superuser of a server that may read /DATA.
-- /DATA/filtering has files NAME-left.psv and NAME-right.psv (id|v) and NAME-gold.psv for d1, d2 and d4. /DATA/gold has
-- fodors.csv, zagats.csv and fodors-zagats-gold.csv.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION simjoin;
SELECT set_config('bench.folder', :'folder', false) AS folder;
CREATE TABLE records (id int, v text, name text);
CREATE TABLE gold (l int, r int, name text);
CREATE TABLE restaurants (id int, name text, addr text, city text, phone text, type text, class int, file text);
DO $$
DECLARE
  file text;
BEGIN
  FOREACH file IN ARRAY '{d1-left,d1-right,d2-left,d2-right,d4-left,d4-right}'::text[] LOOP
    EXECUTE format('ALTER TABLE records ALTER name SET DEFAULT %L', file);
    EXECUTE format('COPY records (id, v) FROM %L (FORMAT csv, HEADER, DELIMITER ''|'', QUOTE E''\b'', FORCE_NOT_NULL (v))',
                   current_setting('bench.folder') || '/filtering/' || file || '.psv');
  END LOOP;
  FOREACH file IN ARRAY '{d1,d2,d4}'::text[] LOOP
    EXECUTE format('ALTER TABLE gold ALTER name SET DEFAULT %L', file);
    EXECUTE format('COPY gold (l, r) FROM %L (FORMAT csv, HEADER, DELIMITER ''|'')', current_setting('bench.folder') || '/filtering/' || file || '-gold.psv');
  END LOOP;
  ALTER TABLE gold ALTER name SET DEFAULT 'restaurants';
  EXECUTE format('COPY gold (l, r) FROM %L (FORMAT csv, HEADER)', current_setting('bench.folder') || '/gold/fodors-zagats-gold.csv');
  FOREACH file IN ARRAY '{fodors,zagats}'::text[] LOOP
    EXECUTE format('ALTER TABLE restaurants ALTER file SET DEFAULT %L', file);
    EXECUTE format('COPY restaurants (id, name, addr, city, phone, type, class) FROM %L (FORMAT csv, HEADER, QUOTE %L, ESCAPE %L)',
                   current_setting('bench.folder') || '/gold/' || file || '.csv', '''', '\');
  END LOOP;
END $$;
INSERT INTO records SELECT id, concat_ws(' ', name, addr, city, phone), 'restaurants' FROM restaurants;
ANALYZE;
CREATE FUNCTION rows_of(file text) RETURNS text LANGUAGE sql AS $$ SELECT format('SELECT id, v FROM records WHERE name = %L', file) $$;
\timing on

\echo pairs and right pairs of joins by cosine: published are 210 and 80, 6,571 and 969, 2,290 and 2,030
SELECT f.name, tokens, threshold, count(*) AS pairs, count(g) AS right_pairs
FROM (VALUES ('d1', 'shingles64(4)', 0.63), ('d2', 'shingles64(3, multi)', 0.38), ('d4', 'alnum64', 1)) f (name, tokens, threshold)
     CROSS JOIN LATERAL similarity_join(rows_of(f.name || '-left'), rows_of(f.name || '-right'), threshold, tokens => f.tokens::tokenizer, measure => 'cosine') j
     LEFT JOIN gold g ON g.name = f.name AND (g.l, g.r) = (j.a, j.b)
GROUP BY 1, 2, 3 ORDER BY 1;

\echo the same of nearest neighbours with ties, from the side named: published are 282 and 87, 3,375 and 995, 2,642 and 2,210
\echo (of d2 one pair more is as near as the third: 20 / sqrt(33 * 28) = 30 / sqrt(33 * 63), which sqrt(33) * sqrt(28) rounds apart)
SELECT f.name, side, tokens, k, count(*) AS pairs, count(g) AS right_pairs
FROM (VALUES ('d1', 'left', 'right', 'shingles64(5)', 1), ('d2', 'right', 'left', 'shingles64(2)', 3), ('d4', 'right', 'left', 'shingles64(3)', 1)) f (name, side, other, tokens, k)
     CROSS JOIN LATERAL similarity_neighbors(rows_of(f.name || '-' || side), rows_of(f.name || '-' || other), k, 0, tokens => f.tokens::tokenizer, measure => 'cosine', ties => true) n
     LEFT JOIN gold g ON g.name = f.name AND CASE side WHEN 'left' THEN (g.l, g.r) = (n.a, n.b) ELSE (g.l, g.r) = (n.b, n.a) END
GROUP BY 1, 2, 3, 4 ORDER BY 1;

\echo the best F1 of one file of 864 restaurants of which 112 are twice in it, over all thresholds
SELECT tokens, max(2.0 * right_pairs / (pairs + all_right))::numeric(4, 3) AS f1
FROM (SELECT tokens, count(*) OVER below AS pairs, count(g) OVER below AS right_pairs, (SELECT count(*) FROM gold WHERE name = 'restaurants') AS all_right
      FROM unnest('{words,alnum}'::text[]) tokens
           CROSS JOIN LATERAL similarity_self_join(rows_of('restaurants'), 0.2, tokens => tokens::tokenizer, measure => 'cosine') j
           LEFT JOIN gold g ON g.name = 'restaurants' AND (g.r, g.l) = (j.a, j.b)
      WINDOW below AS (PARTITION BY tokens ORDER BY similarity DESC)) t
GROUP BY tokens ORDER BY tokens;
