-- Which of several similarity clauses drives a join: the sets of both sides tell, not the order in which the clauses are written.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA driving_test;
SET search_path = driving_test, public;

-- 100 families whose members share two of the three words of their names, while hardly two rows share an address.
CREATE TABLE people AS
SELECT i AS id, format('F%s L%s m%s', i % 100, i % 100, i) AS name, format('s%s c%s z%s', i % 1000, i % 7, i % 1999) AS address, ARRAY[1] AS one,
       format('kind %s', i % 3) AS kind
FROM generate_series(1, 2000) i;
ALTER TABLE people ADD names text[], ADD addresses text[];
UPDATE people SET names = string_to_array(lower(name), ' '), addresses = string_to_array(lower(address), ' ');
ANALYZE people;

-- Returns the nodes of a plan that join by sets.
CREATE FUNCTION joins_of(query text) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN QUERY SELECT jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "SetSimilarityJoin")');
END $$;
-- Returns what drives a join of `people` with itself, and whether it has the fewest candidates by the sample, and why there is none.
CREATE FUNCTION driven(clauses text, source text DEFAULT 'people a JOIN people b') RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(concat_ws(', ', (regexp_match(node ->> 'Similarity Clause', 'address|name|kind|one'))[1],
                              CASE WHEN (node ->> 'Estimated Candidates')::float8 < ALL (
                                     SELECT (other ->> 'Estimated Candidates')::float8
                                     FROM jsonb_array_elements(node -> 'Other Clauses') other) THEN 'fewest of '
                                || jsonb_array_length(node -> 'Other Clauses') + 1 END,
                              node ->> 'Candidates Not Estimated'), '; ')
  FROM joins_of(format('SELECT FROM %s ON %s', source, clauses)) node $$;

-- Sets that are computed in the query, and columns, whose statistics show no families.
CREATE TABLE spelled (what text, name text, address text);
INSERT INTO spelled VALUES
  ('computed', $$jaccard_similarity(string_to_array(lower(a.name), ' '), string_to_array(lower(b.name), ' ')) >= 0.5$$,
   $$jaccard_similarity(string_to_array(lower(a.address), ' '), string_to_array(lower(b.address), ' ')) >= 0.5$$),
  ('tokenizer', $$jaccard_similarity(a.name, b.name, 'words') >= 0.5$$, $$jaccard_similarity(a.address, b.address, 'words') >= 0.5$$),
  ('alnum', $$jaccard_similarity(a.name, b.name, 'alnum') >= 0.5$$, $$jaccard_similarity(a.address, b.address, 'alnum') >= 0.5$$),
  ('options', $$jaccard_similarity(a.name, b.name, 'words(casefold)') >= 0.5$$, $$jaccard_similarity(a.address, b.address, 'words(casefold)') >= 0.5$$),
  ('columns', 'jaccard_similarity(a.names, b.names) >= 0.5', 'jaccard_similarity(a.addresses, b.addresses) >= 0.5'),
  ('both', $$dice_similarity(a.names, b.names) >= 0.6$$, $$jaccard_distance(shingles(a.address, 3), shingles(b.address, 3)) <= 0.4$$);
SELECT what, driven(name || ' AND ' || address) AS name_first, driven(address || ' AND ' || name) AS address_first FROM spelled;
-- Clauses that a sum implies. Of one that bounds no similarity alone, the arms do not depend on the order either.
SELECT driven('jaccard_similarity(a.names, b.names) + jaccard_similarity(a.addresses, b.addresses) >= 1.4') AS name_first,
       driven('jaccard_similarity(a.addresses, b.addresses) + jaccard_similarity(a.names, b.names) >= 1.4') AS address_first;
CREATE FUNCTION thresholds(clause text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg((regexp_match(node ->> 'Similarity Clause', 'address|name|kind|one'))[1], ', ' ORDER BY node ->> 'Similarity Clause')
         || CASE WHEN max((node ->> 'Threshold')::float8) FILTER (WHERE node ->> 'Similarity Clause' ~ 'name') > 0.5
                 THEN '; names of one family are no candidates' ELSE '' END
  FROM joins_of('SELECT FROM people a JOIN people b ON ' || clause) node $$;
SELECT thresholds('0.6 * ' || replace(name, '>= 0.5', '') || ' + 0.5 * ' || replace(address, '>= 0.5', '') || ' >= 0.5') AS name_first,
       thresholds('0.5 * ' || replace(address, '>= 0.5', '') || ' + 0.6 * ' || replace(name, '>= 0.5', '') || ' >= 0.5') AS address_first
FROM spelled WHERE what <> 'both';

-- Subqueries and WITH queries give the sets of their tables.
SELECT what, driven(name || ' AND ' || address, '(SELECT id, addresses, names, address, name FROM people WHERE id > 0 OFFSET 0) a JOIN people b') AS of_subquery FROM spelled;
SELECT joins ->> 'Similarity Clause' AS clause, (joins ->> 'Estimated Candidates')::float8 < (joins #>> '{Other Clauses,0,Estimated Candidates}')::float8 AS fewest
FROM joins_of($$WITH sets AS (SELECT string_to_array(lower(name), ' ') AS n, string_to_array(lower(address), ' ') AS a, id FROM people)
  SELECT FROM sets x JOIN sets y ON jaccard_similarity(x.n, y.n) >= 0.5 AND jaccard_similarity(x.a, y.a) >= 0.5$$) joins;
-- A WITH query that changes rows is not looked into: what it sets is not what it returns.
SELECT node ->> 'Candidates Not Estimated' AS why_not
FROM joins_of($$WITH moved AS (UPDATE people p SET id = q.id FROM people q WHERE q.id = p.id RETURNING p.names, p.addresses)
  SELECT FROM moved a JOIN people b ON jaccard_similarity(a.names, b.names) >= 0.5 AND jaccard_similarity(a.addresses, b.addresses) >= 0.5$$) node;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM people WHERE id > 0;
SELECT what, driven(clauses, source) FROM spelled, LATERAL (SELECT name || ' AND ' || address AS clauses) c, unnest(ARRAY['barrier a JOIN people b',
  '(SELECT * FROM people UNION ALL SELECT * FROM people OFFSET 0) a JOIN people b',
  '(SELECT max(name) AS name, max(address) AS address FROM people GROUP BY id % 1500) a JOIN people b']) source WHERE what = 'computed';
-- Where no sample can be taken, the planner's estimates decide, by statistics of expressions if there are any.
CREATE FUNCTION words_of(t text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN string_to_array(t, ' '); END $$;
CREATE TABLE by_function AS
SELECT 'jaccard_similarity(words_of(a.kind), words_of(b.kind)) >= 0.5' AS kind,
       'jaccard_similarity(words_of(a.address), words_of(b.address)) >= 0.5' AS address;
SELECT driven(kind || ' AND ' || address) AS kind_first, driven(address || ' AND ' || kind) AS address_first FROM by_function;
CREATE STATISTICS of_kinds ON (words_of(kind)) FROM people;
CREATE STATISTICS of_addresses ON (words_of(address)) FROM people;
ANALYZE people;
SELECT driven(kind || ' AND ' || address) AS kind_first, driven(address || ' AND ' || kind) AS address_first FROM by_function;
-- Partitions, and rows that are not there.
CREATE TABLE parts (LIKE people) PARTITION BY LIST (id);
CREATE TABLE parts_odd (address text, addresses text[], names text[], one int[], id int, kind text, name text);
CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM people;
ALTER TABLE parts ATTACH PARTITION parts_odd FOR VALUES IN (-1, -2);
ANALYZE parts;
SELECT driven(name || ' AND ' || address, 'parts a JOIN people b') AS of_parts FROM spelled WHERE what = 'computed';
CREATE TABLE emptied WITH (autovacuum_enabled = off) AS TABLE people;
ANALYZE emptied;
DELETE FROM emptied;
SELECT driven(name || ' AND ' || address, 'emptied a JOIN people b') AS of_nothing FROM spelled WHERE what = 'computed';
-- Few pairs are not worth a sample. Without costs EXPLAIN shows no estimates.
SELECT driven(name || ' AND ' || address || ' AND a.id < 100 AND b.id < 100') IN ('name', 'address') AS few FROM spelled WHERE what = 'columns';
EXPLAIN (COSTS OFF) SELECT FROM people a JOIN people b
  ON jaccard_similarity(a.names, b.names) >= 0.5 AND jaccard_similarity(a.addresses, b.addresses) >= 0.5;
-- The pairs are the same in any order, and as by a filter of the other clause.
SELECT a.id, b.id AS other INTO TEMP name_first FROM people a JOIN people b
  ON jaccard_similarity(a.name, b.name, 'words') >= 0.5 AND jaccard_similarity(a.address, b.address, 'words') >= 0.4;
SELECT a.id, b.id AS other INTO TEMP filtered FROM people a JOIN people b ON jaccard_similarity(a.names, b.names) >= 0.5
  WHERE (jaccard_similarity(a.addresses, b.addresses) >= 0.4) IS TRUE;
SELECT count(*), count(*) - (SELECT count(*) FROM (TABLE name_first INTERSECT TABLE filtered) both_ways) AS missing,
       (SELECT count(*) FROM filtered) - count(*) AS more FROM name_first;

-- Planning runs no code of other roles, even if it is called immutable, and EXPLAIN does not either.
CREATE TABLE called (function text);
CREATE FUNCTION noted(t text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  INSERT INTO called VALUES ('noted');
  RAISE EXCEPTION 'noted was called';
END $$;
SELECT driven(clause || ' AND jaccard_similarity(a.addresses, b.addresses) >= 0.5') AS not_run
FROM unnest(ARRAY['jaccard_similarity(noted(a.name), noted(b.name)) >= 0.5',
                  'jaccard_similarity(string_to_array((noted(a.name))[1], a.name), b.names) >= 0.5',
                  'jaccard_similarity(string_to_array(a::text, ''f''), b.names) >= 0.5',
                  'jaccard_similarity(string_to_array(now()::text || a.name, '' ''), b.names) >= 0.5',
                  'jaccard_similarity(string_to_array(a.name, random()::text), b.names) >= 0.5']) clause;
SELECT count(*) AS calls FROM called;
-- A domain's check is such code.
CREATE FUNCTION allowed(t text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'allowed was called'; END $$;
CREATE DOMAIN checked AS text CHECK (allowed(VALUE));
SELECT driven('jaccard_similarity(string_to_array(a.name::checked, '' ''), b.names) >= 0.5 AND jaccard_similarity(a.addresses, b.addresses) >= 0.5') AS domain;

-- An error in a row that the query leaves out does not fail it.
CREATE VIEW fallible AS SELECT id, ARRAY[1000 / (id - 7)] AS fraction, addresses FROM people;
SELECT driven('jaccard_similarity(a.fraction, b.fraction) >= 0.5 AND jaccard_similarity(a.addresses, b.addresses) >= 0.5 AND a.id > 7 AND b.id > 7',
              'fallible a JOIN fallible b') AS fallible;
SELECT count(*) FROM fallible a JOIN fallible b ON jaccard_similarity(a.fraction, b.fraction) >= 0.5
  AND jaccard_similarity(a.addresses, b.addresses) >= 0.5 WHERE a.id > 7 AND b.id > 7;
-- Arrays that are no sets count as rows without one.
SELECT driven('jaccard_similarity(ARRAY[a.one, a.one], b.one) >= 0.5 AND jaccard_similarity(a.addresses, b.addresses) >= 0.5') AS flawed;

-- What EXPLAIN says of the sample is not for those who may not read all rows.
CREATE ROLE regress_simjoin_sampler;
GRANT USAGE ON SCHEMA driving_test TO regress_simjoin_sampler;
GRANT SELECT ON spelled TO regress_simjoin_sampler;
GRANT SELECT (id, name, address) ON people TO regress_simjoin_sampler;
CREATE VIEW people_view AS SELECT * FROM people;
GRANT SELECT ON people_view TO regress_simjoin_sampler;
SET ROLE regress_simjoin_sampler;
SELECT driven(name || ' AND ' || address) AS by_column, driven(name || ' AND ' || address, 'people_view a JOIN people_view b') AS by_view
FROM spelled WHERE what = 'computed';
RESET ROLE;
CREATE POLICY some_rows ON people TO regress_simjoin_sampler USING (id > 5);
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simjoin_sampler;
SELECT driven(name || ' AND ' || address) AS by_policy, driven(name || ' AND ' || address, 'people_view a JOIN people_view b') AS by_view
FROM spelled WHERE what = 'computed';
RESET ROLE;
DROP SCHEMA driving_test CASCADE;
DROP ROLE regress_simjoin_sampler;
