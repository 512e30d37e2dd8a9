-- Conditions on sums of similarities: a similarity that the sum bounds drives the join, and the sum filters.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET simjoin.explain_device = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

CREATE TABLE people (id int PRIMARY KEY, name int[], street int[], town text[]);
INSERT INTO people
SELECT i, ARRAY(SELECT i / 4 * 17 % 1009 + CASE WHEN k = i % 12 THEN 50 ELSE k END FROM generate_series(1, 7 + i % 3) k),
       CASE WHEN i % 29 <> 0 THEN ARRAY(SELECT i / 6 * 13 % 97 + CASE WHEN k = i % 10 THEN 50 ELSE k END FROM generate_series(1, 4 + i % 2) k) END,
       ARRAY(SELECT 't' || (i / 8 + k) FROM generate_series(1, 3) k)
FROM generate_series(1, 240) i;
ANALYZE people;

-- What is implied, and what is shown.
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.id, b.id FROM people a JOIN people b
  ON a.id < b.id AND 0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.8;

-- Each condition by the join and by a nested loop: how many rows, whether they are the same, and whether the join was planned.
CREATE FUNCTION compare(condition text, jointype text DEFAULT 'JOIN') RETURNS TABLE (pairs bigint, same bool, clause text)
LANGUAGE plpgsql AS $$
DECLARE
  query text := format('SELECT a.id AS l, b.id AS r FROM (SELECT * FROM people WHERE id %% 3 <> 0) a %s people b ON a.id <> b.id AND %s',
                       jointype, condition);
  line text;
BEGIN
  SET LOCAL simjoin.enable_join = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line LIKE '%Similarity Clause%' THEN clause := concat_ws(' OR ', clause, regexp_replace(line, '^ *Similarity Clause: ', '')); END IF;
  END LOOP;
  -- How a sum is split is up to the estimates.
  IF clause LIKE '% OR %' THEN clause := regexp_replace(clause, '''[0-9.]+''::double precision', 't', 'g'); END IF;
  EXECUTE 'CREATE TEMP TABLE joined AS ' || query;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE 'CREATE TEMP TABLE looped AS ' || query;
  SELECT count(*) INTO pairs FROM looped;
  same := NOT EXISTS ((TABLE joined EXCEPT ALL TABLE looped) UNION ALL (TABLE looped EXCEPT ALL TABLE joined));
  DROP TABLE joined, looped;
  RETURN NEXT;
END $$;

SELECT * FROM compare('0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.8');
SELECT * FROM compare('0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.8', 'LEFT JOIN');
SELECT * FROM compare('(jaccard_similarity(b.name, a.name) + cosine_similarity(a.street, b.street)) / 2 > 0.75');
SELECT * FROM compare('1.6 <= dice_similarity(a.name, b.name) + jaccard_similarity(a.street, b.street)');
SELECT * FROM compare('0.2 * jaccard_similarity(a.name, b.name) + 0.2 * jaccard_similarity(a.street, b.street) + 0.6 * jaccard_similarity(a.town, b.town) >= 0.85');
SELECT * FROM compare('jaccard_similarity(a.name, b.name) - 0.5 * jaccard_similarity(a.street, b.street) >= 0.3');
SELECT * FROM compare('jaccard_similarity(a.name, b.name) >= 0.3 + jaccard_similarity(a.street, b.street) / 2');
SELECT * FROM compare('0.5 * (a.name <%> b.name) + 0.5 * (a.street <%> b.street) <= 0.2');
SELECT * FROM compare('2 * jaccard_similarity(a.name, b.name) >= 1.5');
SELECT * FROM compare('-jaccard_similarity(a.name, b.name) < -0.7');
-- Equalities, numbers of other types, and functions that round.
SELECT * FROM compare('jaccard_similarity(a.name, b.name) = 7 / 9::float8');
SELECT * FROM compare('0.5 = jaccard_similarity(a.street, b.street)');
SELECT * FROM compare('a.street <%> b.street = 0');
SELECT * FROM compare('overlap_count(a.name, b.name) = 6');
SELECT * FROM compare('overlap_count(a.name, b.name) >= 6.0');
SELECT * FROM compare('overlap_count(a.name, b.name) / 2.0 > 2.9::float8');
SELECT * FROM compare('jaccard_similarity(a.name, b.name)::numeric >= 0.8');
SELECT * FROM compare('jaccard_similarity(a.name, b.name)::float4 >= 0.8::float4', 'LEFT JOIN');
SELECT * FROM compare('round(jaccard_similarity(a.name, b.name)::numeric, 2) >= 0.78');
SELECT * FROM compare('round(jaccard_similarity(a.name, b.name)::numeric, 1) = 0.8');
SELECT * FROM compare('round(100 * jaccard_similarity(a.name, b.name)) > 77');
SELECT * FROM compare('floor(100 * jaccard_similarity(a.name, b.name)) >= 78');
SELECT * FROM compare('trunc(jaccard_similarity(a.name, b.name)::numeric, 2) >= 0.78');
SELECT * FROM compare('abs(jaccard_similarity(a.name, b.name)) >= 0.8');
SELECT * FROM compare('1 - jaccard_similarity(a.name, b.name)::numeric <= 0.2');
SELECT * FROM compare('round((0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street))::numeric, 2) >= 0.8');
SELECT * FROM compare('overlap_count(a.name, b.name) - 3 * jaccard_similarity(a.street, b.street) >= 4');
-- No similarity alone is bounded: one of several is large enough. All pairs come once.
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name) + 0.35 * jaccard_similarity(a.street, b.street) + 0.15 * jaccard_similarity(a.town, b.town) >= 0.5');
SELECT * FROM compare('0.5 < 0.5 * jaccard_similarity(b.name, a.name) + 0.35 * cosine_similarity(a.street, b.street) + 0.15 * jaccard_similarity(a.town, b.town)');
SELECT * FROM compare('0.1 + 0.4 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.55 - 0.3 * jaccard_similarity(a.town, b.town)');
SELECT * FROM compare('jaccard_similarity(a.name, b.name) + jaccard_similarity(a.street, b.street) - 0.5 * jaccard_similarity(a.town, b.town) >= 0.9');
SELECT * FROM compare('0 * jaccard_similarity(a.town, b.town) + 0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.street, b.street) >= 0.45');
SELECT * FROM compare('0.4 * (a.name <%> b.name) + 0.4 * (a.street <%> b.street) + 0.2 * (a.town <%> b.town) <= 0.55');
SELECT * FROM compare('jaccard_similarity(a.name, b.name) + jaccard_similarity(a.street, b.street) - (a.town <%> b.town) >= 0.6');
SELECT * FROM compare('overlap_count(a.name, b.name) + 4 * jaccard_similarity(a.street, b.street) + 3 * jaccard_similarity(a.town, b.town) >= 7.5');
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name)::numeric + 0.3 * jaccard_similarity(a.street, b.street)::numeric + 0.2 * jaccard_similarity(a.town, b.town)::numeric >= 0.5');
SELECT * FROM compare('(0.5 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) + 0.2 * jaccard_similarity(a.town, b.town))::float4 >= 0.5::float4');
SELECT * FROM compare('round((0.5 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) + 0.2 * jaccard_similarity(a.town, b.town))::numeric, 1) = 0.5');
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.street, b.street) = 0.5');
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.street, b.street) >= 0.45 AND jaccard_similarity(a.town, b.town) >= 0.3');
SELECT * FROM compare('0.9 * jaccard_similarity(a.name, b.name) + overlap_count(a.street, b.street) >= 0.5');
-- What the clauses ask for adds up to what the sum needs of them, and no more.
CREATE FUNCTION thresholds(condition text, OUT t float8[]) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT FROM people a JOIN people b ON a.id <> b.id AND ' || condition LOOP
    IF line LIKE '% Threshold: %' THEN t := t || substring(line FROM 'Threshold: (.*)')::float8; END IF;
  END LOOP;
END $$;
SELECT cardinality(t), round((0.5 * t[1] + 0.35 * t[2])::numeric, 4), 0.5 * t[1] + 0.35 * t[2] <= 0.35 AS safe
FROM thresholds('0.5 * jaccard_similarity(a.name, b.name) + 0.35 * jaccard_similarity(a.street, b.street) + 0.15 * jaccard_similarity(a.town, b.town) >= 0.5');
SELECT cardinality(t), round((0.5 * t[1] + 0.5 * t[2])::numeric, 4), 0.5 * t[1] + 0.5 * t[2] <= 0.45 AS safe
FROM thresholds('0.5 * jaccard_similarity(a.name, b.name) + 0.1 >= 0.55 - 0.5 * cosine_similarity(a.street, b.street) + 0.1 * jaccard_similarity(a.town, b.town)');
SELECT cardinality(t), round((0.4 * (1 - t[1]) + 0.4 * (1 - t[2]))::numeric, 4), 0.4 * (1 - t[1]) + 0.4 * (1 - t[2]) <= 0.25 AS safe
FROM thresholds('0.4 * (a.name <%> b.name) + 0.4 * (a.street <%> b.street) + 0.2 * (a.town <%> b.town) <= 0.55');
DROP FUNCTION thresholds;
-- Outer joins have no such form.
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.street, b.street) >= 0.45', 'LEFT JOIN');
-- The sum is not one of similarities and constants.
SELECT * FROM compare('0.7 * jaccard_similarity(a.name, b.name) + 0.3 * (a.town = b.town)::int >= 0.8');
SELECT * FROM compare('round(jaccard_similarity(a.name, b.name)) >= 0.5');
SELECT * FROM compare('round(jaccard_similarity(a.name, b.name)::numeric, a.id % 3) >= 0.8');
SELECT * FROM compare('abs(jaccard_similarity(a.name, b.name) - 0.5) >= 0.4');
SELECT * FROM compare('jaccard_similarity(a.name, b.name)::int = 1');
SELECT * FROM compare('a.id * jaccard_similarity(a.name, b.name) + jaccard_similarity(a.street, b.street) >= 1.5');
SELECT * FROM compare('1e308::float8 * jaccard_similarity(a.name, b.name) - 1e308::float8 * jaccard_similarity(a.street, b.street) >= 1e307::float8');
SELECT * FROM compare('''NaN'' * jaccard_similarity(a.name, b.name) + jaccard_similarity(a.street, b.street) >= 1.5');
-- Nothing can be that similar.
SELECT * FROM compare('0.5 * jaccard_similarity(a.name, b.name) + 0.5 * jaccard_similarity(a.street, b.street) >= 1.01');

-- Borders: thresholds that sums of tenths reach or just miss.
SELECT bool_and(same), count(clause) > 40 AS mostly_joined, sum(pairs) > 500 AS some_found
FROM generate_series(1, 9, 2) w, generate_series(6, 10, 2) t, generate_series(0, 3) k,
     LATERAL compare(format('0.%s * jaccard_similarity(a.name, b.name) + %s * jaccard_similarity(a.street, b.street) >= %s',
                            w, 1 - w / 10.0, (ARRAY[t / 10.0, t / 10.0 + 1e-12, t / 10.0 - 1e-12, t / 11.0])[k + 1]));

SELECT bool_and(same), count(clause) > 40 AS mostly_joined, sum(pairs) > 500 AS some_found
FROM generate_series(1, 4) w, generate_series(3, 7, 2) t, generate_series(0, 3) k,
     LATERAL compare(format('0.%s * jaccard_similarity(a.name, b.name) + %s * jaccard_similarity(a.street, b.street) + 0.5 * jaccard_similarity(a.town, b.town) >= %s',
                            w, 0.5 - w / 10.0, (ARRAY[t / 10.0, t / 10.0 + 1e-12, t / 10.0 - 1e-12, t / 11.0])[k + 1]));

-- A FULL join, which needs the clause, and semi and anti joins.
SELECT count(*), count(a.id), count(b.id) FROM people a FULL JOIN (SELECT * FROM people WHERE id % 2 = 0) b
  ON 0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.75;
SELECT count(*) FROM people a WHERE EXISTS (SELECT FROM people b WHERE b.id <> a.id
  AND 0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.75);
SELECT count(*) FROM people a WHERE NOT EXISTS (SELECT FROM people b WHERE b.id <> a.id
  AND 0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.75);
SET simjoin.enable_join = off;
SELECT count(*) FROM people a WHERE EXISTS (SELECT FROM people b WHERE b.id <> a.id
  AND 0.7 * jaccard_similarity(a.name, b.name) + 0.3 * jaccard_similarity(a.street, b.street) >= 0.75);
RESET simjoin.enable_join;

DROP FUNCTION compare;
DROP TABLE people;
