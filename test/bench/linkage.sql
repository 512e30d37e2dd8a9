-- Records of public data, matched. test/bench/linkage runs this in a new database.
SET client_min_messages = warning;
CREATE EXTENSION simjoin;
CREATE TABLE abt (id int, name text, description text, price text);
CREATE TABLE buy (LIKE abt);
CREATE TABLE dblp (id int, title text, authors text, venue text, year int);
CREATE TABLE acm (LIKE dblp);
CREATE TABLE fodors (id int, name text, addr text, city text, phone text, type text, class int);
CREATE TABLE zagats (LIKE fodors);
CREATE TABLE persons (uid text, cluster text, full_name text, first_and_surname text, first_name text, surname text, dob text, birth_place text, postcode text,
                      gender text, occupation text, id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE abt_buy (a int, b int);
CREATE TABLE dblp_acm (a int, b int);
CREATE TABLE fodors_zagats (a int, b int);
SELECT set_config('bench.folder', :'folder', false) AS folder \gset
DO $$
DECLARE
  f record;
BEGIN
  FOR f IN SELECT * FROM (VALUES ('abt', 'abt', 'DELIMITER ''|'''), ('buy', 'buy', 'DELIMITER ''|'''), ('abt_buy', 'abt-buy-gold', 'DELIMITER ''|'''),
                          ('dblp', 'dblp', 'DELIMITER ''%'''), ('acm', 'acm', 'DELIMITER ''%'''), ('dblp_acm', 'dblp-acm-gold', 'DELIMITER ''%'''),
                          ('fodors', 'fodors', 'QUOTE '''''''', ESCAPE ''\'''), ('zagats', 'zagats', 'QUOTE '''''''', ESCAPE ''\'''), ('fodors_zagats', 'fodors-zagats-gold', 'DELIMITER '',''')) t (name, file, format) LOOP
    EXECUTE format('COPY %I FROM %L (FORMAT csv, HEADER, %s)', f.name, current_setting('bench.folder') || '/' || f.file || '.csv', f.format);
  END LOOP;
  EXECUTE format('COPY persons (uid, cluster, full_name, first_and_surname, first_name, surname, dob, birth_place, postcode, gender, occupation) FROM %L (FORMAT csv, HEADER)',
                 current_setting('bench.folder') || '/historical_50k.csv');
END $$;
ANALYZE;

-- The CPU seconds of this session with its threads.
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql AS
$$ SELECT (split_part(s, ' ', 12)::numeric + split_part(s, ' ', 13)::numeric) / 100
   FROM regexp_replace(pg_read_file('/proc/' || pg_backend_pid() || '/stat', 0, 10000), '^.*\) ', '') s $$;
-- What was found by the pairs of a query, which is run once.
CREATE TABLE results (n serial, data text, method text, pairs bigint, precision numeric, recall numeric, f1 numeric, b3 numeric, cpu numeric(8, 2));
CREATE PROCEDURE judge(data text, method text, query text, gold regclass, since numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  begun numeric := coalesce(since, cpu());
BEGIN
  EXECUTE 'CREATE TEMP TABLE found AS ' || query;
  begun := cpu() - begun;
  EXECUTE format('INSERT INTO results (data, method, pairs, precision, recall, f1, cpu)
                  SELECT %L, %L, n, round(1.0 * r / n, 3), round(1.0 * r / g, 3), round(2.0 * r / (n + g), 3), %L
                  FROM (SELECT count(*) AS n, count(g) AS r, (SELECT count(*) FROM %s) AS g FROM found LEFT JOIN %s g USING (a, b)) t',
                 data, method, begun, gold, gold);
  DROP TABLE found;
END $$;
-- The groups that a query (id, grp) returns, by the pairs within them and by B-cubed.
CREATE PROCEDURE judge_groups(data text, method text, query text, since numeric) LANGUAGE plpgsql AS $$
DECLARE
  used numeric;
BEGIN
  EXECUTE 'CREATE TEMP TABLE grouped AS ' || query;
  used := cpu() - since;
  INSERT INTO results (data, method, pairs, precision, recall, f1, b3, cpu)
  WITH cells AS (SELECT grp, cluster, count(*) AS n FROM grouped JOIN persons USING (id) GROUP BY 1, 2),
       groups AS (SELECT grp, sum(n) AS n FROM cells GROUP BY 1), clusters AS (SELECT cluster, sum(n) AS n FROM cells GROUP BY 1),
       sums AS (SELECT (SELECT sum(n * (n - 1) / 2) FROM groups) AS p, (SELECT sum(n * (n - 1) / 2) FROM clusters) AS g, sum(c.n * (c.n - 1) / 2) AS t,
                       sum(1.0 * c.n * c.n / groups.n) / sum(c.n) AS bp, sum(1.0 * c.n * c.n / clusters.n) / sum(c.n) AS br
                FROM cells c JOIN groups USING (grp) JOIN clusters USING (cluster))
  SELECT data, method, p, round(t / p, 3), round(t / g, 3), round(2 * t / (p + g), 3), round(2 * bp * br / (bp + br), 3), used FROM sums;
  DROP TABLE grouped;
END $$;

-- Products: names without blanks and punctuation as q-grams, weighed by rarity in both tables. Each product has at most one partner,
-- so no threshold is needed: 0.1 only bounds the join.
SELECT cpu() AS since \gset
CREATE TABLE grams AS
SELECT * FROM idf($$SELECT id, regexp_replace(lower(name), '[^a-z0-9]', '', 'g') FROM abt UNION ALL SELECT id + 100000, regexp_replace(lower(name), '[^a-z0-9]', '', 'g') FROM buy$$,
                  NULL::int[], tokens => 'qgrams(3)');
CALL judge('Abt-Buy', 'q-grams by rarity, assignment',
           $$SELECT a, b - 100000 AS b FROM similarity_match('SELECT * FROM grams WHERE id < 100000', 'SELECT * FROM grams WHERE id >= 100000', 0.1, 'weighted_cosine', 'assignment')$$, 'abt_buy', :since);

-- Papers and restaurants: probabilities by columns.
SELECT cpu() AS since \gset
CREATE TABLE papers AS
SELECT x.id AS a, y.id AS b, cosine_similarity(x.title, y.title, 'alnum') AS title, cosine_similarity(x.authors, y.authors, 'alnum') AS authors, x.year = y.year AS year
FROM dblp x JOIN acm y ON cosine_similarity(x.title, y.title, 'alnum') >= 0.5;
CREATE TABLE paper_weights AS SELECT * FROM linkage_weights('SELECT title, authors, year FROM papers');
CREATE TABLE paper_scores AS SELECT a, b, match_probability((SELECT jsonb_agg(w) FROM paper_weights w), title, authors, year) AS p FROM papers;
SELECT cpu() - :since AS used \gset
CALL judge('DBLP-ACM', 'probability >= 0.5', 'SELECT a, b FROM paper_scores WHERE p >= 0.5', 'dblp_acm', cpu() - :used);
CALL judge('DBLP-ACM', 'the same, one_to_one', $$SELECT a, b FROM best_matches('TABLE paper_scores', 'one_to_one') WHERE similarity >= 0.5$$, 'dblp_acm', cpu() - :used);

SELECT cpu() AS since \gset
CREATE TABLE restaurants AS
SELECT x.id AS a, y.id AS b, cosine_similarity(x.name, y.name, 'alnum') AS name, cosine_similarity(x.addr, y.addr, 'alnum') AS addr, x.city = y.city AS city,
       translate(x.phone, '/- ', '') = translate(y.phone, '/- ', '') AS phone, x.type = y.type AS type
FROM fodors x JOIN zagats y ON (cosine_similarity(x.name, y.name, 'alnum') >= 0.4 OR cosine_similarity(x.addr, y.addr, 'alnum') >= 0.6);
CREATE TABLE restaurant_weights AS SELECT * FROM linkage_weights('SELECT name, addr, city, phone, type FROM restaurants');
CREATE TABLE restaurant_scores AS SELECT a, b, match_probability((SELECT jsonb_agg(w) FROM restaurant_weights w), name, addr, city, phone, type) AS p FROM restaurants;
SELECT cpu() - :since AS used \gset
CALL judge('Fodors-Zagats', 'probability >= 0.5', 'SELECT a, b FROM restaurant_scores WHERE p >= 0.5', 'fodors_zagats', cpu() - :used);
CALL judge('Fodors-Zagats', 'the same, one_to_one', $$SELECT a, b FROM best_matches('TABLE restaurant_scores', 'one_to_one') WHERE similarity >= 0.5$$, 'fodors_zagats', cpu() - :used);

-- Persons: several conditions find pairs, columns weigh them, and groups are made of persons who share half of their matches.
CREATE TABLE same_person AS SELECT x.id AS a, y.id AS b FROM persons x JOIN persons y ON x.cluster = y.cluster AND x.id < y.id;
SELECT cpu() AS since \gset
CREATE TABLE candidates AS
SELECT x.id AS a, y.id AS b, jaro_winkler_similarity(x.first_name, y.first_name) AS first_name, jaro_winkler_similarity(x.surname, y.surname) AS surname,
       CASE WHEN x.dob = y.dob THEN 3 WHEN damerau_distance(x.dob, y.dob, 1) <= 1 THEN 2
            WHEN left(x.dob, 4) = left(y.dob, 4) OR damerau_distance(x.dob, y.dob, 2) <= 2 THEN 1 WHEN x.dob <> y.dob THEN 0 END AS dob,
       CASE WHEN x.postcode = y.postcode THEN 3 WHEN damerau_distance(x.postcode, y.postcode, 1) <= 1 THEN 2
            WHEN split_part(x.postcode, ' ', 1) = split_part(y.postcode, ' ', 1) THEN 1 WHEN x.postcode <> y.postcode THEN 0 END AS postcode,
       x.birth_place = y.birth_place AS birth_place, x.occupation = y.occupation AS occupation
FROM persons x JOIN persons y ON x.id < y.id AND
  (x.postcode = y.postcode OR
   x.dob = y.dob AND jaccard_similarity(x.full_name, y.full_name, 'shingles(2)') >= 0.3 OR
   x.birth_place = y.birth_place AND jaccard_similarity(x.full_name, y.full_name, 'shingles(2)') >= 0.3 OR
   jaccard_similarity(x.full_name, y.full_name, 'shingles(3)') >= 0.5);
SELECT cpu() - :since AS joined \gset
CREATE TABLE person_weights AS SELECT * FROM linkage_weights('SELECT first_name, surname, dob, postcode, birth_place, occupation FROM candidates');
CREATE TABLE person_scores AS
SELECT a, b, match_probability((SELECT jsonb_agg(w) FROM person_weights w), first_name, surname, dob, postcode, birth_place, occupation) AS p FROM candidates;
SELECT cpu() - :since AS used \gset
CALL judge('historical_50k', 'candidate pairs', 'SELECT a, b FROM candidates', 'same_person', cpu() - :joined);
CALL judge('historical_50k', 'probability >= 0.5', 'SELECT a, b FROM person_scores WHERE p >= 0.5', 'same_person', cpu() - :used);
CALL judge_groups('historical_50k', 'components of pairs >= 0.95',
                  $$SELECT node AS id, component AS grp FROM connected_components('SELECT a, b FROM person_scores WHERE p >= 0.95', nodes => 'SELECT id FROM persons')$$, cpu() - :used);
CALL judge_groups('historical_50k', 'groups of those who share half of their matches >= 0.5',
  $$SELECT id, group_id AS grp FROM duplicate_groups('SELECT a, array_agg(b) FROM (SELECT a, b FROM person_scores WHERE p >= 0.5
                                                     UNION ALL SELECT b, a FROM person_scores WHERE p >= 0.5 UNION ALL SELECT id, id FROM persons) m GROUP BY a', 0.5)$$, cpu() - :used);
SELECT data, method, pairs, precision, recall, f1, b3, cpu FROM results ORDER BY n;
