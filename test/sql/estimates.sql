-- Estimated rows beside real ones on collections of different shapes, and where the join operator takes over from the
-- nested loop.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
SET jit = off;

-- Returns 'good' if the estimate of the query's rows is within a factor of ten of their number, otherwise both.
CREATE FUNCTION estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  estimated float8;
  counted bigint;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  estimated := plan -> 0 -> 'Plan' -> 'Plan Rows';
  EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO counted;
  IF estimated BETWEEN greatest(counted, 1) / 10.0 AND greatest(counted, 1) * 10 THEN
    RETURN 'good';
  END IF;
  RETURN format('estimated %s, counted %s', estimated, counted);
END $$;

-- A number in [0, 1) that is the same on every server.
CREATE FUNCTION draw(VARIADIC seed int[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int / 268435456.0 $$;
-- A set of random tokens from 0 .. universe - 1. Small tokens are the most frequent.
CREATE FUNCTION drawn_set(id int, size int, universe int, skew float8) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg(DISTINCT floor(universe * draw(id, j) ^ skew)::int) FROM generate_series(1, size) j $$;

CREATE TABLE shapes (shape text, id int, tokens int[]);
-- Baskets: most of one to three items, all different.
INSERT INTO shapes SELECT 'baskets', min(id), tokens
FROM (SELECT id, drawn_set(id, (1 / (0.02 + draw(id, 0)) ^ 0.8)::int + 1, 1500, 3) AS tokens FROM generate_series(1, 9000) id) s
GROUP BY tokens;
-- The same with repetitions.
INSERT INTO shapes SELECT 'clicks', id, drawn_set(id, (1 / (0.02 + draw(id, 0)) ^ 0.8)::int + 1, 1500, 3)
FROM generate_series(1, 3000) id;
-- Documents: a tenth of them edited copies of others.
INSERT INTO shapes SELECT 'documents', id, CASE WHEN id % 10 > 0 THEN drawn_set(id, 40 + id % 30, 3000, 2)
  ELSE (drawn_set(id - 1, 40 + (id - 1) % 30, 3000, 2))[id % 7 + 1:] || ARRAY[4000 + id % 100] END
FROM generate_series(1, 2000) id;
-- Versions: thirty families of sets that have most of their tokens in common.
INSERT INTO shapes SELECT 'versions', id, drawn_set(id % 30, 18, 5000, 1) || drawn_set(id, 1 + id % 3, 5000, 1)
FROM generate_series(1, 3000) id;
-- Tags: dense sets over few tokens.
INSERT INTO shapes SELECT 'tags', id, drawn_set(id, 4 + id % 8, 30, 1.5) FROM generate_series(1, 2000) id;
-- Categories: few different sets.
INSERT INTO shapes SELECT 'categories', id, drawn_set(id % 60, 6, 500, 1) FROM generate_series(1, 3000) id;
CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE name text;
BEGIN
  FOR name IN SELECT DISTINCT shape FROM shapes LOOP
    EXECUTE format('CREATE TABLE %I AS SELECT id, tokens, tokens::int8[] AS bigs, tokens::text[] AS texts '
                   'FROM shapes WHERE shape = %1$L ORDER BY md5(id::text)', name);
    EXECUTE format('ANALYZE %I', name);
  END LOOP;
END $$;
SELECT make_tables();

-- Pairs within a table.
SELECT shape, clause, estimate(format('SELECT FROM %1$I a JOIN %1$I b ON a.id <> b.id AND %2$s', shape, clause))
FROM (VALUES ('baskets'), ('clicks'), ('documents'), ('versions'), ('tags'), ('categories')) s (shape),
     (VALUES ('jaccard_similarity(a.tokens, b.tokens) >= 0.65'),
             ('jaccard_similarity(a.tokens, b.tokens) >= 0.5'), ('dice_similarity(a.texts, b.texts) >= 0.75'),
             ('cosine_similarity(a.bigs, b.bigs) >= 0.7'), ('overlap_count(a.tokens, b.tokens) >= 3')) c (clause)
ORDER BY 1, 2;

-- Other joins of two tables, and more of one.
CREATE TABLE half AS SELECT * FROM clicks WHERE id % 2 = 0;
CREATE TABLE rest AS SELECT * FROM clicks WHERE id % 2 = 1;
ANALYZE half, rest;
SELECT join_type, threshold, estimate(format('SELECT FROM half a %s JOIN rest b ON jaccard_similarity(a.tokens, b.tokens) >= %s', join_type, threshold))
FROM unnest('{INNER,LEFT,RIGHT,FULL}'::text[]) join_type, unnest('{0.5,0.9}'::float8[]) threshold ORDER BY 1, 2;
SELECT shape, condition, threshold, estimate(format('SELECT FROM %1$I a WHERE %2$s (SELECT FROM %1$I b WHERE a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= %3$s)', shape, condition, threshold))
FROM unnest('{baskets,documents,versions,categories}'::text[]) shape, unnest('{EXISTS,NOT EXISTS}'::text[]) condition,
     unnest('{0.55}'::float8[]) threshold
WHERE (shape, condition) NOT IN (('versions', 'NOT EXISTS'), ('categories', 'NOT EXISTS'))  -- one row in total
ORDER BY 1, 2, 3;
-- Rows paired with themselves; conditions on one side and on both; NULLs; the operator; more joins above.
SELECT estimate('SELECT FROM documents a JOIN documents b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9');
SELECT estimate('SELECT FROM documents a JOIN documents b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 WHERE a.id < 500');
SELECT estimate('SELECT FROM documents a JOIN documents b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 WHERE a.id < 500 AND b.id < 500');
SELECT estimate('SELECT FROM documents a JOIN documents b ON a.tokens ~= b.tokens');
SELECT estimate('SELECT FROM documents a WHERE EXISTS (SELECT FROM documents b WHERE a.tokens ~= b.tokens)');
SELECT estimate('SELECT FROM baskets a JOIN baskets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5 JOIN baskets c ON c.id = b.id WHERE a.id <> b.id');
SELECT estimate('SELECT FROM baskets a, baskets b, half c, rest d WHERE a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6 AND b.id = c.id AND c.id + 1 = d.id');
CREATE TABLE sparse AS SELECT id, CASE WHEN id % 10 = 0 THEN tokens END AS tokens FROM documents;
ANALYZE sparse;
SELECT estimate('SELECT FROM sparse a JOIN sparse b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9');
-- The estimate is that of the clause, whatever evaluates it.
SET simjoin.enable_join = off;
SELECT estimate('SELECT FROM versions a JOIN versions b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6 WHERE a.id <= 100');
RESET simjoin.enable_join;
-- The next ANALYZE replaces the cached statistics of a column. More columns than a session caches.
CREATE TABLE changing AS SELECT id, tokens FROM tags;
ANALYZE changing;
CREATE FUNCTION estimated_rows(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan; RETURN plan -> 0 -> 'Plan' -> 'Plan Rows'; END $$;
SELECT estimated_rows('SELECT FROM changing a JOIN changing b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5') > 10000 AS many;
UPDATE changing SET tokens = ARRAY[10 * id, 10 * id + 1, 10 * id + 2];
ANALYZE changing;
SELECT estimated_rows('SELECT FROM changing a JOIN changing b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5') < 1000 AS few;
DO $$ BEGIN
  FOR i IN 1..20 LOOP
    EXECUTE format('CREATE TEMP TABLE column_%s AS SELECT id, tokens FROM %s WHERE id < 1000', i, CASE WHEN i % 2 = 0 THEN 'tags' ELSE 'documents' END);
    EXECUTE format('ANALYZE column_%s', i);
  END LOOP;
END $$;
SELECT i % 20 AS i, estimate(format('SELECT FROM column_%s a JOIN column_%1$s b ON a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5', i % 20 + 1))
FROM generate_series(1, 25) i WHERE i % 20 IN (1, 2, 19, 0);
DO $$ BEGIN FOR i IN 1..20 LOOP EXECUTE format('DROP TABLE column_%s', i); END LOOP; END $$;
-- Partition by partition.
CREATE TABLE parts (id int, lang int, tokens int[]) PARTITION BY LIST (lang);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
INSERT INTO parts SELECT id, id % 2, tokens FROM versions;
ANALYZE parts;
SET enable_partitionwise_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT estimate('SELECT FROM parts a JOIN parts b ON a.lang = b.lang AND a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6');
RESET ALL;
SET client_min_messages = warning;
SET jit = off;

-- The planner takes the nested loop for a handful of rows, and the join operator beyond, earlier if sets are large.
CREATE FUNCTION join_plan(size int, row_count int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE format('CREATE TEMP TABLE few AS SELECT id, drawn_set(id, %s, 2000, 1) AS tokens FROM generate_series(1, %s) id',
                 size, row_count);
  ANALYZE few;
  EXECUTE 'EXPLAIN (FORMAT JSON) SELECT FROM few a JOIN few b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7' INTO plan;
  DROP TABLE few;
  RETURN coalesce(plan -> 0 -> 'Plan' ->> 'Custom Plan Provider', plan -> 0 -> 'Plan' ->> 'Node Type');
END $$;
SELECT size, row_count, join_plan(size, row_count)
FROM unnest('{5,200}'::int[]) size, unnest('{2,3,8,40,400}'::int[]) row_count ORDER BY 1, 2;
-- A FULL join has no other plan.
SET simjoin.enable_join = off;
SELECT count(*) > 0 AS works FROM half a FULL JOIN rest b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9;
EXPLAIN (COSTS OFF) SELECT FROM half a JOIN rest b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9;
RESET simjoin.enable_join;
-- If the join has few pairs, another table is joined to them. If it has many, the table is joined to one side before.
CREATE TABLE labels AS SELECT id, 'label ' || id AS label FROM generate_series(1, 100000) id;
CREATE UNIQUE INDEX ON labels (id);
ANALYZE labels;
CREATE FUNCTION plan_nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ '->|^[^ ]' THEN RETURN NEXT line; END IF;
  END LOOP;
END $$;
SELECT plan_nodes('SELECT label FROM documents a JOIN documents b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9
JOIN labels l ON l.id = b.id');
SELECT plan_nodes('SELECT label FROM tags a JOIN tags b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.3
JOIN labels l ON l.id = b.id');
DROP TABLE shapes, baskets, clicks, documents, versions, tags, categories, half, rest, sparse, changing, parts, labels;
DROP FUNCTION estimate, estimated_rows, draw, drawn_set, make_tables, join_plan, plan_nodes;
