-- A messy table of people: a fifth of its rows are copies of others, with typos, abbreviations, lost accents, other case, and
-- missing values written in several ways. Column person says which rows are of one person. Nothing is random: the
-- same number of rows always gives the same table. messy_tasks.sql searches it:
--   test/tools/with-server psql --no-psqlrc -v rows=1000000 -f test/demo/messy.sql -f test/demo/messy_tasks.sql
\if :{?rows}
\else
  \set rows 1000000
\endif
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET jit = off;
CREATE EXTENSION IF NOT EXISTS simjoin;

-- A number from 0 to below 1 that depends on a row and on what it is for.
CREATE FUNCTION chance(i bigint, purpose int) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((hashint8extended(i, purpose) >> 12) & 1099511627775) / 1099511627776.0::float8;

CREATE FUNCTION syllables(n int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (ARRAY['ma', 'ren', 'lo', 'stein', 'ka', 'ber', 'vi', 'sön', 'da', 'hol', 'mé', 'ter', 'ni', 'gar', 'po', 'wald', 'ru', 'lin', 'sa', 'mül'])[1 + n % 20]
  || (ARRAY['ner', 'ra', 'dorf', 'lia', 'cek', 'mann', 'ño', 'ton', 'vic', 'sen', 'ley', 'ri', 'bach', 'tti', 'ova', 'ham', 'kis', 'rd', 'eau', 'x'])[1 + n / 20 % 20]
  || CASE WHEN n >= 400 THEN (ARRAY['a', 'son', 'er', 'ová', 'io', 'ski', 'berg', 'i', 'feld', 'ens'])[1 + n / 400 % 10] ELSE '' END
  || CASE WHEN n >= 4000 THEN (ARRAY['-Al', ' de', 'ius', 'th', 'mir'])[1 + n / 4000 % 5] ELSE '' END;

-- One of n words, the first ones more often: of 20,000 the most frequent is 1 in 140.
CREATE FUNCTION word(i bigint, purpose int, n int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN syllables((n * chance(i, purpose) ^ 2)::int);

-- The text with one character left out, doubled, swapped with the next, or replaced.
CREATE FUNCTION typo(t text, place float8, kind float8) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT CASE (kind * 4)::int % 4
    WHEN 0 THEN overlay(t PLACING '' FROM p FOR 1)
    WHEN 1 THEN overlay(t PLACING substr(t, p, 1) FROM p FOR 0)
    WHEN 2 THEN overlay(t PLACING reverse(substr(t, p, 2)) FROM p FOR 2)
    ELSE overlay(t PLACING chr(97 + (place * 1e6)::int % 26) FROM p FOR 1) END
  FROM (SELECT 1 + (place * (length(t) - 1))::int AS p OFFSET 0) at);

-- A cell as somebody else types it. Up to two typos; each purpose is a number of its own for chance().
CREATE FUNCTION retyped(t text, i bigint, purpose int) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF chance(i, purpose) < 0.6 THEN t := typo(t, chance(i, purpose + 1), chance(i, purpose + 2)); END IF;
  IF chance(i, purpose) < 0.2 THEN t := typo(t, chance(i, purpose + 3), chance(i, purpose + 4)); END IF;
  IF chance(i, purpose + 5) < 0.3 THEN t := translate(t, 'áéíöüñÁÉÍÖÜÑ', 'aeiounAEIOUN'); END IF;
  RETURN CASE WHEN chance(i, purpose + 6) < 0.1 THEN upper(t) WHEN chance(i, purpose + 6) < 0.2 THEN lower(t)
              WHEN chance(i, purpose + 6) < 0.25 THEN '  ' || replace(t, ' ', '  ') ELSE t END;
END $$;

-- What stands in a cell without a value.
CREATE FUNCTION missing(t text, share float8, i bigint, purpose int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN chance(i, purpose) < share
            THEN (ARRAY[NULL, NULL, NULL, '', '  ', 'n/a', 'N/A', 'unknown', '-', 'none'])[1 + (chance(i, purpose + 1) * 10)::int % 10] ELSE t END;

CREATE TABLE people AS
WITH entries AS (
  -- The first four fifths are people, the others copies of a person; the ids mix them.
  SELECT i, CASE WHEN i <= :rows * 0.8 THEN i ELSE 1 + (chance(i, 1) * (:rows * 0.8 - 1))::int END AS p
  FROM generate_series(1::bigint, :rows) i),
right_values AS (
  SELECT i, p, i <> p AS copy, initcap(word(p, 10, 800)) AS given, initcap(word(p, 11, 20000)) AS family,
         initcap(word(p, 12, 10000)) AS street, 1 + (200 * chance(p, 13) ^ 2)::int AS house, initcap(word(p, 14, 3000)) AS town,
         (ARRAY['Street', 'Road', 'Avenue', 'Square'])[1 + (chance(p, 15) * 4)::int % 4] AS kind,
         (SELECT string_agg(word(p, 20 + w, 8000), ' ' ORDER BY w) FROM generate_series(1, 8 + (p % 9)::int) w) AS body
  FROM entries),
written AS (
  SELECT i, p, copy,
         CASE WHEN copy AND chance(i, 50) < 0.15 THEN family || ', ' || given
              WHEN copy AND chance(i, 50) < 0.22 THEN left(given, 1) || '. ' || family ELSE given || ' ' || family END AS name,
         CASE WHEN copy AND chance(i, 51) < 0.3 THEN house || ' ' || street || ' ' || left(kind, 2) || '., ' || town
              ELSE house || ' ' || street || ' ' || kind || ', ' || town END AS address,
         lower(given) || '.' || replace(lower(family), ' ', '') || p % 100 || '@' || (ARRAY['mail', 'post', 'web'])[1 + p % 3] || '.example' AS email,
         CASE WHEN copy AND chance(i, 52) < 0.3 THEN body || ' ' || word(i, 53, 8000) || ' ' || word(i, 54, 8000) ELSE body END AS body
  FROM right_values)
SELECT row_number() OVER (ORDER BY chance(i, 2), i) AS id, p AS person,
       missing(CASE WHEN copy THEN retyped(name, i, 60) ELSE name END, 0.03, i, 70) AS name,
       missing(CASE WHEN copy THEN retyped(address, i, 80) ELSE address END, 0.08, i, 90) AS address,
       missing(CASE WHEN copy AND chance(i, 55) < 0.4 THEN replace(email, '@', '.' || i % 1000 || '@') ELSE email END, 0.3, i, 92) AS email,
       missing(CASE WHEN copy THEN retyped(body, i, 100) ELSE body END, 0.4, i, 110) AS body,
       timestamp '2024-01-01' + chance(i, 2) * interval '365 days' AS created
FROM written;
ALTER TABLE people ADD PRIMARY KEY (id);
VACUUM ANALYZE people;
SELECT count(*) AS rows, count(DISTINCT person) AS people,
       (SELECT sum(n * (n - 1) / 2) FROM (SELECT count(*) AS n FROM people GROUP BY person) c) AS pairs_of_one_person FROM people;
SELECT name, address, email, left(body, 30) AS body FROM people WHERE person IN (SELECT person FROM people GROUP BY person HAVING count(*) > 2 ORDER BY person LIMIT 2) ORDER BY person, id;
