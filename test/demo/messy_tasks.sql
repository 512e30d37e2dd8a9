-- Six tasks on the table of messy.sql, as the recipes of the manual do them. Each prints what it found, by column
-- person how much of that is right (precision) and how much was found of what is there (recall), and its CPU seconds. These are
-- the session's with all its threads, read from /proc as only a superuser may. messy.sql says how to run it.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
LOAD 'simjoin';
-- The words are made of few syllables, so pieces of 5 characters are few and frequent, and beyond some 100,000 rows they take a time
-- that is quadratic in the rows. Then the tasks take longer pieces, as match-two-tables.md recommends.
SELECT count(*) <= 100000 AS few FROM people \gset
\if :few
  \set tokens '\'shingles(5, unaccent)\''
  \set threshold 0.4
\else
  \set tokens '\'shingles(9, unaccent)\''
  \set threshold 0.3
  SET simjoin.memory_limit = '4GB';
\endif
CREATE FUNCTION cpu_seconds() RETURNS numeric LANGUAGE sql VOLATILE AS $$
  SELECT (f[14]::numeric + f[15]::numeric) / 100 FROM string_to_array(pg_read_file('/proc/self/stat'), ' ') f $$;
CREATE TABLE figures (task text, found bigint, correct bigint, there bigint, cpu_seconds numeric);
CREATE FUNCTION pairs_within(counted bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN counted * (counted - 1) / 2;

-- deduplicate-a-table.md, 1: placeholders and blanks are set aside.
SELECT cpu_seconds() AS before \gset
UPDATE people SET name = CASE WHEN name !~* '^\W*(n/?a|none|unknown)?\W*$' THEN name END,
                  address = CASE WHEN address !~* '^\W*(n/?a|none|unknown)?\W*$' THEN address END,
                  email = CASE WHEN email !~* '^\W*(n/?a|none|unknown)?\W*$' THEN email END,
                  body = CASE WHEN body !~* '^\W*(n/?a|none|unknown)?\W*$' THEN body END;
VACUUM ANALYZE people;
INSERT INTO figures SELECT 'placeholders set aside', count(*), NULL, NULL, cpu_seconds() - :before FROM people WHERE name IS NULL OR address IS NULL OR email IS NULL OR body IS NULL;
-- The pairs that are there, and those of rows with the columns of a task.
CREATE TABLE there AS SELECT sum(pairs_within(rows)) AS pairs, sum(pairs_within(bodies)) AS of_bodies
FROM (SELECT count(*) AS rows, count(body) AS bodies FROM people GROUP BY person) persons;

-- 1. Pairs of similar bodies: README.md, Five minutes.
\if :few
SELECT cpu_seconds() AS before \gset
CREATE TABLE pairs AS
SELECT a.id AS a, b.id AS b
FROM people a JOIN people b ON a.id < b.id AND jaccard_similarity(a.body, b.body, 'shingles(5)') >= 0.5;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '1 pairs of bodies, 5-grams', count(*), count(*) FILTER (WHERE a.person = b.person), (SELECT of_bodies FROM there), :spent
FROM pairs JOIN people a ON a.id = pairs.a JOIN people b ON b.id = pairs.b;
\endif
-- The same by clean-a-training-corpus.md, 3.
SELECT cpu_seconds() AS before \gset
CREATE TABLE pairs_by_words AS
SELECT a.id AS a, b.id AS b
FROM people a JOIN people b ON a.id < b.id AND jaccard_similarity(word_shingles(a.body, 2), word_shingles(b.body, 2)) >= 0.3;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '1 pairs of bodies, word pairs', count(*), count(*) FILTER (WHERE a.person = b.person), (SELECT of_bodies FROM there), :spent
FROM pairs_by_words pairs JOIN people a ON a.id = pairs.a JOIN people b ON b.id = pairs.b;

-- 2. Groups by name and address: deduplicate-a-table.md, 4.
SELECT cpu_seconds() AS before \gset
CREATE TABLE people_groups AS
SELECT * FROM duplicate_groups('SELECT id, name || '' '' || address FROM people ORDER BY created DESC', :threshold,
                               tokens => :tokens, method => 'star', keep => 'first_row');
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures
SELECT '2 groups by name and address', sum(pairs_within(rows)), sum(correct), (SELECT pairs FROM there), :spent
FROM (SELECT sum(rows)::bigint AS rows, sum(pairs_within(rows)) AS correct
      FROM (SELECT group_id, count(*) AS rows FROM people_groups JOIN people USING (id) GROUP BY group_id, person) parts GROUP BY group_id) groups;

-- The same with one more way to be a duplicate: deduplicate-a-table.md, Several columns.
SELECT cpu_seconds() AS before \gset
CREATE TABLE components AS
SELECT * FROM connected_components(format($$
  SELECT a.id, b.id FROM people a JOIN people b ON a.id < b.id
    AND (jaccard_similarity(a.name || ' ' || a.address, b.name || ' ' || b.address, %L) >= %s OR a.email = b.email)$$, :tokens, :threshold));
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures
SELECT '2 the same, or by e-mail', sum(pairs_within(rows)), sum(correct), (SELECT pairs FROM there), :spent
FROM (SELECT sum(rows)::bigint AS rows, sum(pairs_within(rows)) AS correct
      FROM (SELECT component, count(*) AS rows FROM components JOIN people ON id = node GROUP BY component, person) parts GROUP BY component) groups;

-- 4 and 5 take the last hundredth, at most 1,000, as new rows, before 3 changes the table.
CREATE TABLE stored AS SELECT id, person, name, address FROM people WHERE id <= (SELECT max(id) - least(max(id) / 100, 1000) FROM people);
CREATE TABLE incoming AS SELECT id, person, name, address FROM people WHERE id > (SELECT max(id) FROM stored);
ALTER TABLE stored ADD PRIMARY KEY (id);
CREATE TABLE new_of_stored AS SELECT id FROM incoming WHERE person IN (SELECT person FROM stored);
-- Rows that the trigger should leave out: the person is stored, or came earlier in the load.
CREATE TABLE repeated AS
SELECT id FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY id) AS place FROM incoming) i
WHERE place > 1 OR id IN (TABLE new_of_stored);
ANALYZE stored, incoming;
-- Two tables without a key in common for 6: rows of even and of odd ids.
CREATE TABLE customers AS SELECT id, person, name, address, email FROM people WHERE id % 2 = 0;
CREATE TABLE patrons AS SELECT id, person, name, address, email FROM people WHERE id % 2 = 1;
ANALYZE customers, patrons;

-- 3. A table without duplicates: deduplicate-a-table.md, 5.
SELECT count(*) AS of_people FROM (SELECT DISTINCT person FROM people) p \gset
CREATE TABLE gone AS
SELECT g.id, p.person = kept.person AS correct
FROM people_groups g JOIN people p USING (id) JOIN people kept ON kept.id = g.group_id
WHERE NOT is_representative;
SELECT count(*) - :of_people AS too_many FROM people \gset
SELECT cpu_seconds() AS before \gset
SELECT relation, deleted, updated FROM merge_duplicates('people_groups', 'people',
  '{"name": "longest", "address": "longest", "email": "first_not_null", "body": "first_not_null"}');
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '3 rows merged away', count(*), count(*) FILTER (WHERE correct), :too_many, :spent FROM gone;

-- 5. The best match of each new row: nearest-rows.md.
SELECT cpu_seconds() AS before \gset
CREATE TABLE best AS
SELECT i.id, i.person, m.person AS matched FROM incoming i LEFT JOIN LATERAL (
  SELECT s.person FROM stored s
  WHERE jaccard_similarity(i.name || ' ' || i.address, s.name || ' ' || s.address, :tokens) >= :threshold
  ORDER BY jaccard_similarity(i.name || ' ' || i.address, s.name || ' ' || s.address, :tokens) DESC NULLS LAST, s.id LIMIT 1) m ON true;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '5 best match of new rows', count(matched), count(*) FILTER (WHERE matched = person), (SELECT count(*) FROM new_of_stored), :spent FROM best;

-- 4. Near-duplicates kept out at the insert: keep-duplicates-out.md.
SELECT cpu_seconds() AS before \gset
ALTER TABLE stored ADD COLUMN tokens int[] GENERATED ALWAYS AS (token_set(name || ' ' || address, :tokens)) STORED;
SELECT create_similarity_index('stored', 'tokens', :threshold) AS index;
CREATE TRIGGER only_new BEFORE INSERT ON stored
FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', :threshold);
INSERT INTO figures SELECT '  column and index for 4', count(*), NULL, NULL, cpu_seconds() - :before FROM stored;
SELECT cpu_seconds() AS before \gset
INSERT INTO stored (id, person, name, address) SELECT id, person, name, address FROM incoming ORDER BY id;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '4 kept out at insert', count(*), count(*) FILTER (WHERE id IN (TABLE repeated)), (SELECT count(*) FROM repeated), :spent
FROM incoming WHERE id NOT IN (SELECT id FROM stored);

-- 6. Two tables by name and address: match-two-tables.md, Names and addresses.
SELECT sum(c.n * p.n) AS across FROM (SELECT person, count(*) AS n FROM customers GROUP BY person) c
  JOIN (SELECT person, count(*) AS n FROM patrons GROUP BY person) p USING (person) \gset
SELECT cpu_seconds() AS before \gset
CREATE TABLE both_similar AS
SELECT c.id AS a, p.id AS b FROM customers c JOIN patrons p
  ON jaccard_similarity(c.name, p.name, 'alnum(unaccent)') >= 0.5 AND jaccard_similarity(c.address, p.address, 'alnum(unaccent)') >= 0.5;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '6 name AND address, words', count(*), count(*) FILTER (WHERE c.person = p.person), :across, :spent
FROM both_similar JOIN customers c ON c.id = a JOIN patrons p ON p.id = b;
SELECT cpu_seconds() AS before \gset
CREATE TABLE in_one AS
SELECT c.id AS a, p.id AS b FROM customers c JOIN patrons p
  ON jaccard_similarity(c.name || ' ' || c.address, p.name || ' ' || p.address, :tokens) >= :threshold OR c.email = p.email;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '6 both in one text, OR e-mail', count(*), count(*) FILTER (WHERE c.person = p.person), :across, :spent
FROM in_one JOIN customers c ON c.id = a JOIN patrons p ON p.id = b;
\if :few
SELECT cpu_seconds() AS before \gset
CREATE TABLE by_sum AS
SELECT c.id AS a, p.id AS b FROM customers c JOIN patrons p
  ON 0.5 * jaccard_similarity(c.name, p.name, 'shingles(3, unaccent)') + 0.5 * jaccard_similarity(c.address, p.address, 'shingles(3, unaccent)') >= 0.5;
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '6 sum of both, 3-grams', count(*), count(*) FILTER (WHERE c.person = p.person), :across, :spent
FROM by_sum JOIN customers c ON c.id = a JOIN patrons p ON p.id = b;
\endif
SELECT cpu_seconds() AS before \gset
CREATE TABLE by_rarity AS SELECT * FROM similarity_match('SELECT id, name || '' '' || address FROM customers WHERE name || address IS NOT NULL',
  'SELECT id, name || '' '' || address FROM patrons WHERE name || address IS NOT NULL', 0.4,
  tokens => 'alnum(unaccent)', measure => 'idf_cosine', method => 'one_to_one');
SELECT cpu_seconds() - :before AS spent \gset
INSERT INTO figures SELECT '6 rare words, one to one', count(*), count(*) FILTER (WHERE c.person = p.person), :across, :spent
FROM by_rarity JOIN customers c ON c.id = a JOIN patrons p ON p.id = b;

SELECT task, found, round(correct / nullif(found, 0)::numeric, 3) AS precision, round(correct / nullif(there, 0)::numeric, 3) AS recall, round(cpu_seconds, 2) AS cpu_seconds FROM figures;
