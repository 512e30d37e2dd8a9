-- Weights of columns without labels, and the probability of a match by them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET client_min_messages = notice;
CREATE SCHEMA linkage_test;
SET search_path = linkage_test, public;
SET extra_float_digits = 0;

-- 6,000 pairs of a known model: a fifth are matches. The names of matches are equal (0.6), alike (0.3) or not, those of others
-- 0.05, 0.15 and 0.8. Dates of birth agree with 0.9 and 0.1, and a tenth is missing. Towns: levels 2 (0.7, 0.1), 1 (0.2, 0.2) and 0.
CREATE FUNCTION share(i int, what text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(i || what), 1, 8))::bit(32)::bigint / 4294967296.0 $$;
CREATE TABLE pairs AS
SELECT i AS id, is_match,
       CASE WHEN name < (CASE WHEN is_match THEN 0.6 ELSE 0.05 END) THEN 1 WHEN name < (CASE WHEN is_match THEN 0.9 ELSE 0.2 END) THEN 0.8 + name / 10 ELSE name / 2 END AS name,
       CASE WHEN share(i, 'missing') > 0.1 THEN share(i, 'born') < CASE WHEN is_match THEN 0.9 ELSE 0.1 END END AS born,
       CASE WHEN town < (CASE WHEN is_match THEN 0.7 ELSE 0.1 END) THEN 2 WHEN town < (CASE WHEN is_match THEN 0.9 ELSE 0.3 END) THEN 1 ELSE 0 END AS town
FROM generate_series(1, 6000) i, LATERAL (SELECT share(i, 'match') < 0.2 AS is_match, share(i, 'name') AS name, share(i, 'town') AS town) s;

CREATE TABLE weights AS SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": [1, 0.8, 0.8]}');
SELECT place, comparison, level, at_least, pairs, round(m::numeric, 2) AS m, round(u::numeric, 2) AS u, round(weight::numeric, 1) AS weight,
       round(probability::numeric, 2) AS probability, round(m_error::numeric, 2) AS m_error, round(u_error::numeric, 2) AS u_error,
       round(weight_error::numeric, 1) AS weight_error, round(prior::numeric, 2) AS prior, round(prior_error::numeric, 2) AS prior_error
FROM weights ORDER BY place, level;

-- Nearly all pairs above 0.95 are matches. The probabilities are those of the matches: their mean is the share that is right.
SELECT p >= 0.95 AS taken, count(*), round(avg(is_match::int), 2) AS right, round(avg(p)::numeric, 2) AS probability
FROM pairs, match_probability((SELECT jsonb_agg(w) FROM weights w), name, born, town) p GROUP BY 1 ORDER BY 1;
-- A weight is what it says: odds multiply. A NULL weighs nothing, and a value between two thresholds is at the lower one.
WITH w AS (SELECT jsonb_agg(w) AS w FROM weights w)
SELECT a.probability, b.same, c.same, d.same FROM w,
  LATERAL (SELECT match_probability(w, 1, true, 2) > 0.99 AND match_probability(w, 0.1, false, 0) < 0.01 AS probability) a,
  LATERAL (SELECT abs(match_probability(w, NULL, NULL, NULL) - (SELECT max(prior) FROM weights)) < 1e-15 AS same) b,
  LATERAL (SELECT match_probability(w, 0.8, NULL, NULL) = match_probability(w, 0.99::real, NULL, 7 - 7 + NULL) AS same) c,
  LATERAL (SELECT abs(match_probability(w, 1.5::numeric, NULL::boolean, NULL::int) - (SELECT probability FROM weights WHERE comparison = 'name' AND level = 2)) < 1e-12 AS same) d;
-- Rows in another order, and a prepared statement with other weights.
SELECT bool_and(match_probability(a, name, born, town) = match_probability(b, name, born, town)) AS same
FROM pairs, (SELECT jsonb_agg(w ORDER BY pairs) AS a, jsonb_agg(w ORDER BY weight DESC) AS b FROM weights w) w;
PREPARE scored(float8) AS SELECT count(*) FROM pairs
WHERE match_probability((SELECT jsonb_agg(to_jsonb(w) || jsonb_build_object('prior', $1)) FROM weights w), name, born, town) >= 0.95;
EXECUTE scored(0.2);
EXECUTE scored(0.0001);
-- The same weights for pairs in another order, and of types that are domains.
CREATE DOMAIN degree AS real CHECK (VALUE >= 0);
SELECT count(*) AS differ FROM
  (TABLE weights EXCEPT SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs ORDER BY id DESC', '{"name": [0.8, 1]}')) d;
SELECT count(*) AS levels FROM linkage_weights('SELECT name::degree, born, town::int2 FROM pairs');

-- A column that speaks against the others, a constant one and one that is NULL weigh nothing.
SELECT comparison, level, pairs, round(weight::numeric, 1) AS weight, weight_error IS NULL AS no_error
FROM linkage_weights('SELECT name >= 0.8 AS name, born, town = 2 AS town, NOT (town = 2 AND name >= 0.8) AS odd, true AS same, NULL::real AS missing FROM pairs')
ORDER BY place, level;
SELECT count(*) FROM linkage_weights(NULL);
-- Thresholds in per cent.
SELECT level, pairs FROM linkage_weights('SELECT name, born, town, town = 2 AS near FROM pairs', '{"name": [80, 90]}') WHERE comparison = 'name';

-- Errors.
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs WHERE false');
SELECT * FROM linkage_weights('SELECT name, born, true AS same, NULL::float8 AS missing FROM pairs');
SELECT * FROM linkage_weights('SELECT name, born, town::text FROM pairs');
SELECT * FROM linkage_weights('SELECT');
DO $$
BEGIN
  PERFORM FROM linkage_weights('SELECT ' || (SELECT string_agg('born', ', ') FROM generate_series(1, 33)) || ' FROM pairs');
EXCEPTION WHEN datatype_mismatch THEN RAISE NOTICE '%', SQLERRM;
END $$;
SELECT count(*) FROM linkage_weights('SELECT ' || (SELECT string_agg('share(id, ' || i || '::text) < CASE WHEN is_match THEN 0.9 ELSE 0.1 END', ', ') FROM generate_series(1, 32) i) || ' FROM pairs LIMIT 500');
SELECT * FROM linkage_weights('SELECT name, born, ''NaN''::real AS town FROM pairs');
SELECT * FROM linkage_weights('SELECT name, born, ''Infinity''::float8 AS town FROM pairs');
SELECT * FROM linkage_weights('SELECT name, born, 1e400 AS town FROM pairs');
SELECT * FROM linkage_weights('SELECT id, name, born, town FROM pairs');
SELECT * FROM linkage_weights('SELECT name, born, -town AS town FROM pairs');
SELECT * FROM linkage_weights('SELECT name, born, 1 / 0 AS town FROM pairs');
SELECT * FROM linkage_weights('pairs');
SELECT * FROM linkage_weights('DELETE FROM pairs RETURNING name, born, town');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '[0.5]');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"nam": [0.5]}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": 0.5}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": []}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": ["0.5"]}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": [1e999]}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"name": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}');
SELECT * FROM linkage_weights('SELECT name, born, town FROM pairs', '{"born": [1]}');
SELECT match_probability(NULL, 1, true, 2);
SELECT match_probability('{}', 1, true, 2);
SELECT match_probability('[]', 1);
SELECT match_probability('1', 1);
SELECT match_probability('[1]', 1);
SELECT match_probability('[{"place": 1}]', 1);
SELECT match_probability('[{"place": 33, "prior": 0.5}]', 1);
SELECT match_probability('[{"place": 1, "prior": 1, "level": 1, "weight": 0}]', 1);
SELECT match_probability('[{"place": 1, "prior": 0.5, "level": 1, "weight": "Infinity", "at_least": 1}]', 1);
SELECT match_probability((SELECT jsonb_agg(jsonb_build_object('place', 1, 'prior', 0.5, 'level', i, 'weight', 0, 'at_least', i)) FROM generate_series(1, 16) i), 1);
SELECT match_probability((SELECT jsonb_agg(w) FROM weights w), 1, true);
SELECT match_probability((SELECT jsonb_agg(w) FROM weights w), 1, true, '2'::text);
SELECT match_probability((SELECT jsonb_agg(w) FROM weights w), 'NaN'::float8, true, 2);
SELECT match_probability((SELECT jsonb_agg(w) FROM weights w), VARIADIC ARRAY[1, 1, 2]);
SELECT count(*) FROM pairs;
SET client_min_messages = warning;
DROP SCHEMA linkage_test CASCADE;
