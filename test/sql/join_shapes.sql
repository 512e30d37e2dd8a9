-- The join operator in unusual places: clauses of unusual form, rows without a partner, statements that write,
-- parameters that change, wide rows. Findings of the equivalence suite (test/equivalence) are added here.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;
SET enable_nestloop = off;

CREATE TABLE docs (id int PRIMARY KEY, owner text, lang int, title text, tokens int[]);
INSERT INTO docs SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i % 3, repeat('title ' || i % 20 || ' ', 3) || i / 20,
                        CASE WHEN i % 13 > 0 THEN ARRAY(SELECT 10 * (i % 20) + j FROM generate_series(1, 6 + i % 3) j) END
FROM generate_series(1, 60) i;
CREATE TABLE more AS SELECT id + 100 AS id, owner, lang, title, tokens[2:] AS tokens FROM docs WHERE id % 4 > 0;
ANALYZE docs, more;

CREATE FUNCTION uses_operator(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN plan::text LIKE '%SetSimilarityJoin%';
END $$;
-- Returns whether a query gives the same rows with the join operator as without it (or as another query does), and
-- whether its plan has the operator.
CREATE FUNCTION compare(query text, expected text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  used boolean := uses_operator(query);
  difference bigint;
  total bigint;
BEGIN
  EXECUTE 'CREATE TEMP TABLE with_node AS ' || query;
  SET LOCAL simjoin.enable_join = off;
  EXECUTE 'CREATE TEMP TABLE without_node AS ' || coalesce(expected, query);
  SET LOCAL simjoin.enable_join = on;
  SELECT count(*) INTO difference FROM
    ((TABLE with_node EXCEPT ALL TABLE without_node) UNION ALL
     (TABLE without_node EXCEPT ALL TABLE with_node)) d;
  SELECT count(*) INTO total FROM without_node;
  DROP TABLE with_node, without_node;
  RETURN CASE WHEN used THEN 'join operator' ELSE 'no join operator' END || ', ' ||
         CASE WHEN difference > 0 THEN difference || ' rows differ' WHEN total = 0 THEN 'nothing to compare' ELSE 'same rows' END;
END $$;

-- Rows without a partner: an expression of missing columns is not always NULL.
SELECT compare($$SELECT a.id, b.id AS b, coalesce(b.tokens, '{7}') AS t, jaccard_similarity(a.tokens, coalesce(b.tokens, '{7}')) AS s
                 FROM docs a LEFT JOIN more b ON jaccard_similarity(a.tokens, coalesce(b.tokens, '{7}')) >= 0.7$$);
SELECT compare($$SELECT a.id, b.id AS b, CASE WHEN a.id > 9 THEN a.tokens ELSE '{1}' END AS t
                 FROM docs a RIGHT JOIN more b ON 0.7 <= jaccard_similarity(CASE WHEN a.id > 9 THEN a.tokens ELSE '{1}' END, b.tokens)$$);
SELECT compare($$SELECT a.id, b.id AS b, ARRAY[a.lang, 1] AS x, ARRAY[b.lang, 2] AS y
                 FROM docs a FULL JOIN more b ON overlap_count(ARRAY[a.lang, 1], ARRAY[b.lang, 2]) > 1$$,
               $$SELECT a.id, b.id AS b, ARRAY[a.lang, 1] AS x, ARRAY[b.lang, 2] AS y
                 FROM docs a LEFT JOIN more b ON overlap_count(ARRAY[a.lang, 1], ARRAY[b.lang, 2]) > 1
                 UNION ALL SELECT NULL, b.id, ARRAY[NULL, 1], ARRAY[b.lang, 2] FROM more b
                 WHERE NOT EXISTS (SELECT FROM docs a WHERE overlap_count(ARRAY[a.lang, 1], ARRAY[b.lang, 2]) > 1)$$);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT compare($$SELECT a.id, b.id AS b, coalesce(b.lang, 5) AS l
                 FROM docs a LEFT JOIN more b ON a.lang = coalesce(b.lang, 5) AND dice_similarity(a.tokens, b.tokens) > 0.7$$);
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Outer joins above one another: columns that an outer join has made nullable below, in it, and in both.
SELECT compare($$SELECT a.id, b.id AS b, c.id AS c, jaccard_similarity(a.tokens, b.tokens) AS s, jaccard_similarity(c.tokens, b.tokens) AS t
                 FROM docs a LEFT JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7
                 LEFT JOIN docs c ON c.id <> a.id AND c.lang >= b.lang AND jaccard_similarity(b.tokens, c.tokens) >= 0.6$$);
SELECT compare($$SELECT a.id, b.id AS b, c.id AS c, c.tokens || b.tokens AS t
                 FROM more c RIGHT JOIN (docs a LEFT JOIN more b ON a.id < b.id AND dice_similarity(a.tokens, b.tokens) >= 0.8)
                 ON c.id > b.id AND dice_similarity(b.tokens || 1, c.tokens || 1) >= 0.8 WHERE c.id IS NULL OR b.lang + c.lang < 3$$);
SELECT compare($$SELECT a.id, p.b, p.c, p.s, p.t FROM docs a LEFT JOIN
                 (SELECT b.id AS b, c.id AS c, coalesce(c.tokens, '{1}') AS t, jaccard_similarity(b.tokens, c.tokens) AS s
                  FROM more b LEFT JOIN more c ON b.id < c.id AND jaccard_similarity(b.tokens, c.tokens) >= 0.7) p
                 ON p.b <> a.id AND overlap_count(a.tokens, p.t) >= 5$$);
SELECT compare($$SELECT a.id, b.id AS b, b.l FROM docs a FULL JOIN (SELECT id, tokens, lang + 1 AS l FROM more) b
                 ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 AND a.lang < b.l WHERE a.lang IS DISTINCT FROM b.l$$,
               $$SELECT a.id, b.id AS b, b.lang + 1 AS l FROM docs a LEFT JOIN more b
                 ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 AND a.lang < b.lang + 1 WHERE a.lang IS DISTINCT FROM b.lang + 1
                 UNION ALL SELECT NULL, id, lang + 1 FROM more b WHERE NOT EXISTS
                 (SELECT FROM docs a WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.7 AND a.lang < b.lang + 1)$$);
-- In every join, the similarity in the select list is that of the clause.
CREATE FUNCTION takes_similarity(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO plan;
  RETURN jsonb_path_query_first(plan, '$.** ? (@."Custom Plan Provider" == "SetSimilarityJoin")') ->> 'Output' LIKE '%(jaccard_similarity(%))%';
END $$;
SELECT kind, takes_similarity(format('SELECT jaccard_similarity(b.tokens, a.tokens) FROM docs a %s JOIN more b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7', kind))
FROM unnest('{INNER,LEFT,RIGHT,FULL}'::text[]) kind;
DROP FUNCTION takes_similarity;

-- Clauses: negated, ranges, distances of either width, an overlap above zero, and joins from IN.
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON NOT jaccard_similarity(a.tokens, b.tokens) < 0.7');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON cosine_similarity(a.tokens, b.tokens) BETWEEN 0.8 AND 0.95');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON a.tokens <%> b.tokens < 0.5::float4');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON 0.25::float4 >= jaccard_distance(a.tokens, b.tokens)');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON overlap_count(a.tokens, b.tokens) > 0');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_distance(a.tokens, b.tokens) < 1');
-- A distance that is a short decimal fraction is on the threshold of that fraction, and the pairs are those by exact arithmetic.
CREATE TABLE ladder AS SELECT i AS id, ARRAY(SELECT generate_series(1, i)) AS tokens FROM generate_series(1, 40) i;
SELECT compare('SELECT a.id, b.id AS b, a.tokens <%> b.tokens AS d FROM ladder a JOIN ladder b ON a.tokens <%> b.tokens <= 0.3');
SELECT compare('SELECT a.id, b.id AS b FROM ladder a JOIN ladder b ON a.id < b.id AND a.tokens <%> b.tokens < 0.15');
SELECT uses_operator('SELECT d, (SELECT count(*) FROM ladder a JOIN ladder b ON a.tokens <%> b.tokens <= d) FROM (VALUES (0.05::float8)) v (d)');
SELECT count(*) AS distances, count(*) FILTER (WHERE "within" <> exactly_within) AS wrong, count(*) FILTER (WHERE below <> exactly_below) AS strict_wrong,
       count(*) FILTER (WHERE exactly_within > exactly_below) AS on_the_threshold
FROM (SELECT (SELECT count(*) FROM ladder a JOIN ladder b ON a.tokens <%> b.tokens <= d::float8) AS "within",
             (SELECT count(*) FROM ladder a JOIN ladder b ON a.tokens <%> b.tokens < d::float8) AS below,
             (SELECT count(*) FROM ladder a, ladder b WHERE abs(a.id - b.id) <= d * greatest(a.id, b.id)) AS exactly_within,
             (SELECT count(*) FROM ladder a, ladder b WHERE abs(a.id - b.id) < d * greatest(a.id, b.id)) AS exactly_below
      FROM generate_series(0, 1, 0.05) d) counts;
-- This IN is a join since PostgreSQL 17, a subplan before.
SELECT split_part(compare('SELECT a.id FROM docs a WHERE a.lang IN (SELECT b.lang FROM more b WHERE jaccard_similarity(a.tokens, b.tokens) >= 0.8)'), ', ', 2) AS compare;

-- If every pair qualifies, the nested loop does it, but it cannot do a FULL JOIN.
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON overlap_count(a.tokens, b.tokens) > -1');
SELECT compare('SELECT a.id, b.id AS b FROM docs a FULL JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0 AND a.id + 100 < b.id',
               'SELECT a.id, b.id AS b FROM docs a LEFT JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0 AND a.id + 100 < b.id
                UNION ALL SELECT NULL, b.id FROM more b WHERE NOT EXISTS
                  (SELECT FROM docs a WHERE jaccard_similarity(a.tokens, b.tokens) >= 0 AND a.id + 100 < b.id)');

-- Thresholds: stable expressions and uncorrelated subqueries, but not those that differ between rows or calls.
SET simjoin_test.threshold = '0.7';
SELECT compare($$SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= current_setting('simjoin_test.threshold')::float8$$);
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= (SELECT 0.9 - count(*) / 300.0 FROM docs)');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= least(a.lang / 2.0 + 0.3, 0.7)');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) - 0.7 >= 0');
-- A condition without columns, which PostgreSQL 17 and later check once, between the node and the select list.
SELECT count(*), sum(cardinality(rest)) FROM (
  SELECT a.id, a.tokens[2:] AS rest FROM docs a JOIN more b
  ON jaccard_similarity(a.tokens[2:], b.tokens) >= 0.6 AND current_setting('simjoin_test.unknown', true) IS NULL OFFSET 0) s;
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 OR a.id = b.id - 100');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(a.tokens || b.lang, b.tokens) >= 0.6');
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON jaccard_similarity(ARRAY(SELECT unnest(a.tokens)), b.tokens) >= 0.6');

-- Sets that are computed: from texts, by subqueries, on either side of an outer join.
SELECT compare('SELECT a.id, b.id AS b FROM docs a JOIN more b ON a.id <> b.id - 100 AND jaccard_similarity(shingles(a.title), shingles(b.title)) >= 0.8');
SELECT compare($$SELECT a.id, b.id AS b FROM docs a JOIN docs b ON a.id < b.id AND string_to_array(a.title, ' ') ~= string_to_array(b.title, ' ')$$);
SELECT compare($$SELECT a.id, b.s FROM docs a LEFT JOIN (SELECT owner, lang, coalesce(array_agg(id), '{}') AS s FROM docs GROUP BY 1, 2) b
                 ON overlap_count(ARRAY[a.id, a.id + 6], b.s) >= 2$$);

-- Clauses of the same rows that hold for a pair one way round at most, whatever the order of the rows: with ties, NULLs and more
-- clauses. Most of the rows come from a temporary file.
CREATE TABLE drawn AS SELECT id, md5(id::text) < '8' AS low, md5(id::text) AS drawn, nullif(id % 3, 1) AS third,
  (SELECT string_agg(md5(id * 100 + j || ''), '') FROM generate_series(1, 59) j) AS wide, tokens FROM docs, generate_series(1, 4)
ORDER BY md5(id || 'x');
ANALYZE drawn;
SET simjoin.memory_limit = '1MB';
SELECT kind, clause, compare(format('SELECT a.id, b.id AS b, a.third, b.drawn, a.wide AS s, b.wide AS t FROM drawn a %s drawn b
                                     ON %s AND jaccard_similarity(a.tokens, b.tokens) >= 0.7', kind, clause))
FROM unnest('{JOIN,LEFT JOIN}'::text[]) kind, unnest('{a.id < b.id,a.drawn > b.drawn,a.low > b.low AND a.third <= b.third,
  a.third < b.third,a.id < b.id AND a.drawn > b.drawn,a.id <> b.id,a.third < b.id}'::text[]) clause;
SELECT compare('SELECT a.id, b.id AS b, b.wide AS t FROM drawn a JOIN drawn b ON a.third < b.third AND containment(a.tokens, b.tokens) >= 0.8');
RESET simjoin.memory_limit;
-- Clauses that exclude a row with itself, and hold for some pairs both ways round.
SELECT clause, compare('SELECT a.id, b.id AS b, a.drawn, b.drawn AS d FROM drawn a JOIN drawn b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6 AND ' || clause)
FROM unnest('{"overlap_count(a.tokens, b.tokens) < overlap_count(a.tokens, a.tokens)",(a.id - 30) * (b.id - 30) < (b.id - 30) * (b.id - 30),
  a.id + b.id > b.id + b.id,a.third < b.third + a.id - b.id}'::text[]) clause;
DROP TABLE drawn;

-- Volatile clauses run only on similar pairs.
CREATE SEQUENCE calls;
CREATE FUNCTION counted(int, int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('calls'); RETURN $1 < $2; END $$;
SELECT count(*) AS rows FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 AND counted(a.id, b.id);
SELECT last_value AS calls, (SELECT count(*) FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7) AS similar
FROM calls;
SELECT compare('SELECT a.id, b.id AS b FROM docs a LEFT JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 AND random() < 2');
DROP FUNCTION counted;
DROP SEQUENCE calls;

-- Prepared statements: a plan for each value, or one for all.
PREPARE pairs (float8, int) AS
SELECT count(*) FROM docs a JOIN more b ON jaccard_similarity(a.tokens, b.tokens) >= $1 AND a.id <> $2;
SET plan_cache_mode = force_custom_plan;
SELECT uses_operator('EXECUTE pairs (0.7, 3)'), uses_operator('EXECUTE pairs (0, 3)') AS for_every_pair;
EXECUTE pairs (0.7, 3);
EXECUTE pairs (0.8, 3);
SET plan_cache_mode = force_generic_plan;
SELECT uses_operator('EXECUTE pairs (0.7, 3)'), uses_operator('EXECUTE pairs (0, 3)') AS for_every_pair;
EXECUTE pairs (0.7, 3);
EXECUTE pairs (0.8, 3);
RESET plan_cache_mode;
DEALLOCATE pairs;

-- Cursors forward and backward over the node itself, and WITH HOLD beyond the transaction.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT 'a pair' AS found FROM docs a JOIN docs b ON a.id < b.id AND a.id < 3 AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
FETCH ABSOLUTE 2 FROM c;
DECLARE forward NO SCROLL CURSOR FOR SELECT 'a pair' AS found FROM docs a JOIN docs b ON a.id < b.id AND a.id < 3 AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
FETCH 1 FROM forward;
FETCH BACKWARD 1 FROM forward;
ROLLBACK;
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT 'a pair' AS found FROM docs a JOIN docs b ON a.id < b.id AND a.id < 3 AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
FETCH 1 FROM held;
COMMIT;
FETCH ALL FROM held;
FETCH BACKWARD ALL FROM held;
CLOSE held;

-- LIMIT stops the join: it gives no more rows than requested.
CREATE FUNCTION rows_out(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) ' || query INTO plan;
  RETURN jsonb_path_query_first(plan, '$.**?(@."Custom Plan Provider" == "SetSimilarityJoin")."Actual Rows"')::numeric::int;
END $$;
SELECT rows_out('SELECT a.id FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7 LIMIT 7') AS limited,
       rows_out('SELECT a.id FROM docs a JOIN docs b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7') AS unlimited;

-- Statements that write: a join with the changed table, or EXISTS.
BEGIN;
UPDATE more SET owner = 'twin' FROM docs WHERE jaccard_similarity(more.tokens, docs.tokens) >= 0.85;
SELECT owner, count(*) FROM more GROUP BY 1 ORDER BY 1;
DELETE FROM more WHERE NOT EXISTS (SELECT FROM docs WHERE docs.lang <> more.lang AND jaccard_similarity(more.tokens, docs.tokens) >= 0.75);
SELECT count(*) FROM more;
WITH gone AS (DELETE FROM docs d USING docs k WHERE k.id < d.id AND jaccard_similarity(k.tokens, d.tokens) >= 0.7 RETURNING d.id)
INSERT INTO more (id, tokens) SELECT id + 1000, NULL FROM gone;
SELECT count(*), count(tokens) FROM more;
ROLLBACK;
-- PostgreSQL 14 has no MERGE.
CREATE FUNCTION merge_docs() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('server_version_num')::int >= 150000 THEN
    EXECUTE 'MERGE INTO more USING docs ON jaccard_similarity(more.tokens, docs.tokens) >= 0.85
             WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (id, tokens) VALUES (docs.id + 500, docs.tokens)';
  ELSE
    INSERT INTO more (id, tokens) SELECT docs.id + 500, docs.tokens FROM docs
    WHERE NOT EXISTS (SELECT FROM more WHERE jaccard_similarity(more.tokens, docs.tokens) >= 0.85);
  END IF;
  RETURN (SELECT count(*) FROM more WHERE id > 500);
END $$;
SELECT merge_docs(), merge_docs() AS again, (SELECT count(*) FROM docs WHERE tokens IS NULL) AS never_matched;
DELETE FROM more WHERE id > 500;

-- PL/pgSQL: a loop in a loop, each over a join, and a row trigger that joins for each row.
CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a record; b record; n int := 0; m int := 0;
BEGIN
  FOR a IN SELECT x.id, x.lang FROM docs x JOIN docs y ON x.id < y.id AND jaccard_similarity(x.tokens, y.tokens) >= 0.8 LOOP
    n := n + 1;
    FOR b IN SELECT FROM docs x JOIN more y ON y.lang = a.lang AND jaccard_similarity(x.tokens, y.tokens) >= 0.8 LOOP
      m := m + 1;
      EXIT WHEN m % 3 = 0;
    END LOOP;
  END LOOP;
  RETURN n || ' times, ' || m || ' rows';
END $$;
SELECT nested();
CREATE FUNCTION note_twins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.owner := (SELECT count(*) FROM docs d JOIN (VALUES (NEW.tokens), ('{1}')) v (tokens) ON jaccard_similarity(d.tokens, v.tokens) >= 0.7);
  RETURN NEW;
END $$;
CREATE TRIGGER twins BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION note_twins();
INSERT INTO docs (id, tokens) SELECT 2000 + i, ARRAY(SELECT generate_series(11, 16)) FROM generate_series(1, 3) i RETURNING id, owner;
DROP TRIGGER twins ON docs;
DELETE FROM docs WHERE id >= 2000;

-- The nearest rows of a few rows: in LATERAL, as similarity_neighbors finds them.
SELECT a.id, near.id AS near, 1 - near.distance AS similarity
FROM docs a, LATERAL (SELECT b.id, a.tokens <%> b.tokens AS distance FROM more b ORDER BY distance, b.id LIMIT 2) near
WHERE a.id IN (1, 5) ORDER BY 1, 3 DESC, 2;
SELECT a, b, similarity FROM similarity_neighbors('SELECT id, tokens FROM docs WHERE id IN (1, 5)', 'SELECT id, tokens FROM more', 2) ORDER BY 1, rank;

-- Row-level security: a function that leaks its rows gets only the rows of the policy, beside the clause and in it.
CREATE FUNCTION tell(text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE WARNING 'saw %', $1; RETURN true; END $$;
CREATE FUNCTION tell(int[]) RETURNS int[] LANGUAGE plpgsql STABLE COST 0.0001 AS $$ BEGIN RAISE WARNING 'saw %', $1; RETURN $1; END $$;
CREATE ROLE regress_simjoin_reader;
GRANT SELECT ON docs, more TO regress_simjoin_reader;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON docs USING (id IN (2, 4, 22));
SET ROLE regress_simjoin_reader;
SELECT uses_operator('SELECT FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(tell(a.tokens), b.tokens) >= 0.7 AND tell(a.title || b.title)');
SELECT a.id, b.id FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(tell(a.tokens), b.tokens) >= 0.7 AND tell(a.title || b.title);
SELECT count(*) FROM docs a RIGHT JOIN more b ON tell(a.title) AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
RESET ROLE;
-- A barrier over a join, and a join with rows behind a barrier.
CREATE VIEW even_pairs WITH (security_barrier) AS
SELECT a.id AS a, b.id AS b, b.title FROM docs a JOIN docs b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8 WHERE b.id = 22;
SELECT uses_operator('SELECT * FROM even_pairs WHERE tell(title)');
SELECT * FROM even_pairs WHERE tell(title);
DROP POLICY few ON docs;
DROP VIEW even_pairs;
REVOKE SELECT ON docs, more FROM regress_simjoin_reader;
DROP ROLE regress_simjoin_reader;
DROP FUNCTION tell(text), tell(int[]);

-- Wide columns: a row keeps its values as the table stores them, compressed or elsewhere. Only beyond the limit, rows go to a file.
CREATE TABLE wide (id int, far text, dense text, tokens int[]);
ALTER TABLE wide ALTER far SET STORAGE EXTERNAL;
INSERT INTO wide SELECT i, repeat(i::text, 20000), repeat('dense', 20000), ARRAY[i / 2, i / 2 + 1] FROM generate_series(1, 200) i;
ANALYZE wide;
SET simjoin.memory_limit = '1MB';
CREATE FUNCTION waiting(query text) RETURNS TABLE (fact text, present bool) LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
  RETURN QUERY SELECT f.key, (regexp_match(f.value, '^\d+'))[1]::bigint > 0
  FROM jsonb_each_text(jsonb_path_query_first(plan, '$.**?(@."Custom Plan Provider" == "SetSimilarityJoin")')) f
  WHERE f.key ~ '^Row (Memory|Temporary)';
END $$;
SELECT * FROM waiting('SELECT count(a.far || b.dense) FROM wide a JOIN wide b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9');
SELECT * FROM waiting($$SELECT count(a.far || b.dense) FROM (SELECT tokens, far || 'x' AS far, dense FROM wide OFFSET 0) a
                        JOIN wide b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9$$);
SELECT compare($$SELECT a.id, b.id AS b, md5(a.far) AS f, md5(b.dense) AS d FROM (SELECT id, tokens, far || 'x' AS far FROM wide OFFSET 0) a
                 LEFT JOIN wide b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9$$);
RESET simjoin.memory_limit;
DROP TABLE wide;

-- If every pair satisfies the clause, an empty set is paired with itself, at a similarity of 0.
CREATE TABLE few (id int, s int[]);
INSERT INTO few VALUES (1, '{}'), (2, '{1}'), (3, NULL);
SELECT a.id, b.id, jaccard_similarity(a.s, b.s) FROM few a FULL JOIN few b ON jaccard_similarity(a.s, b.s) >= 0 ORDER BY 1, 2;
SET plan_cache_mode = force_generic_plan;
SET enable_nestloop = off;
PREPARE low(float8) AS SELECT a.id, b.id, jaccard_similarity(a.s, b.s) FROM few a JOIN few b
  ON jaccard_similarity(a.s, b.s) >= $1 AND jaccard_similarity(a.s, b.s) < 0.5 ORDER BY 1, 2;
EXECUTE low(0);
EXECUTE low(0.1);
PREPARE near(float8) AS SELECT a.id, b.id, a.s <%> b.s AS distance FROM few a JOIN few b ON a.s <%> b.s <= $1 ORDER BY 1, 2;
EXECUTE near(1);
EXECUTE near(0.9);
DEALLOCATE low;
DEALLOCATE near;
RESET enable_nestloop;
RESET plan_cache_mode;
DROP TABLE few;

-- All formats of EXPLAIN name the same facts.
CREATE FUNCTION names(format text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; plan text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, FORMAT ' || format || ') SELECT FROM docs a JOIN docs b ON a.id < b.id AND a.tokens ~= b.tokens' LOOP
    plan := plan || line;
  END LOOP;
  RETURN (SELECT string_agg(name, ', ') FROM unnest('{Similarity Clause,Join Type,Algorithm}'::text[]) name
          WHERE replace(plan, '-', ' ') LIKE '%' || name || '%');
END $$;
SELECT format, names(format) FROM unnest('{text,json,yaml,xml}'::text[]) format;

RESET ALL;
DROP TABLE docs, more;
DROP FUNCTION compare, uses_operator, rows_out, merge_docs, nested, note_twins, waiting, names;
