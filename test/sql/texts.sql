-- Texts as they come: a call with a tokenizer gives what the same call gives with a column of sets.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA texts_test;
SET search_path = texts_test, public;

CREATE FUNCTION draw(n int, VARIADIC seed int[]) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ('x' || substr(md5(array_to_string(seed, ',')), 1, 7))::bit(28)::int % n $$;
-- Near copies: each text is one of 40 texts, of which it keeps most words. Some are empty, blank, NULL or long.
CREATE TABLE notes AS
SELECT id, CASE id % 41 WHEN 7 THEN NULL WHEN 8 THEN '' WHEN 9 THEN E' \t\n' WHEN 10 THEN repeat('Running foxes jumped. ', 4100 / id)
           ELSE (SELECT string_agg((ARRAY['The', 'QUICK', 'foxes', 'fox', 'ran', 'running', 'Straße', 'ÄPFEL', 'jump', 'jumping', 'over',
                                          'lazy', 'dogs', 'x@y.org', '12.5', 'Fuchs'])[1 + draw(16, base, w)], CASE draw(9, base, w, 1) WHEN 0 THEN E'\t ' ELSE ' ' END
                                   ORDER BY w)
                 FROM generate_series(1, 4 + draw(12, base)) w WHERE draw(8, id, w) > 0) END AS body
FROM (SELECT id, draw(40, id, 100) AS base FROM generate_series(1, 200) id) i;
CREATE DOMAIN named AS text;
CREATE TABLE typed AS SELECT id, body::varchar(200) AS vc, body::char(300) AS c, body::named AS dom, body COLLATE "C" AS plain FROM notes;
-- A text search configuration of our own, whose name has everything that a name may have.
CREATE TEXT SEARCH CONFIGURATION "Our (own) words" (COPY = pg_catalog.german);

CREATE FUNCTION compare(x text, y text, OUT differences bigint, OUT n bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('WITH x AS (%s), y AS (%s)
                  SELECT (SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d), (SELECT count(*) FROM x)', x, y)
    INTO differences, n;
END $$;
CREATE FUNCTION differences(x text, y text) RETURNS bigint LANGUAGE sql AS $$ SELECT differences FROM compare(x, y) $$;
CREATE TABLE tokenizers (tokens text, set text);
INSERT INTO tokenizers VALUES ('shingles', 'shingles(#)'), ('shingles(1)', 'shingles(#, 1)'), (' shingles64 ( 4 ) ', 'shingles64(#, 4)'),
  ('shingles64', 'shingles64(#)'), ('shingles(2147483647)', 'shingles(#, 2147483647)'),
  ('word_shingles', 'word_shingles(#)'), ('word_shingles(2)', 'word_shingles(#, 2)'), ('word_shingles64(1)', 'word_shingles64(#, 1)'),
  ('words', 'tsvector_to_array(to_tsvector(''simple'', #))'), ('words(english)', 'tsvector_to_array(to_tsvector(''english'', #))'),
  ('words( pg_catalog.german )', 'tsvector_to_array(to_tsvector(''german'', #))'),
  ('words("Our (own) words")', 'tsvector_to_array(to_tsvector(''german'', #))'), ('alnum', 'token_set(#, ''alnum'')'),
  ('qgrams64(2)', 'token_set64(#, ''qgrams64(2)'')'), ('words(english,multi)', 'word_set(#, ''english'', ''words(multi)'')'),
  ('shingles(3, casefold, unaccent)', 'token_set(#, ''shingles(3, unaccent, casefold)'')');

-- Of a call with # for the column and $ for more arguments: the call with texts, and the one with sets.
CREATE FUNCTION with_texts(call text, tokens text) RETURNS text LANGUAGE sql AS
$$ SELECT replace(replace(call, '#', 'body'), '$)', format(', tokens => %L)', tokens)) $$;
CREATE FUNCTION with_sets(call text, set text) RETURNS text LANGUAGE sql AS
$$ SELECT replace(replace(call, '#', replace(set, '#', 'body')), '$)', ')') $$;
CREATE TABLE calls (name text, call text);
INSERT INTO calls VALUES
  ('self_join', 'SELECT * FROM similarity_self_join($q$SELECT id, # FROM notes$q$, 0.4$)'),
  ('self_join, key', 'SELECT * FROM similarity_self_join($q$SELECT ''n'' || id, # FROM notes$q$, 0.5, measure => ''dice'', key => NULL::text$)'),
  ('self_join, containment', 'SELECT * FROM similarity_self_join($q$SELECT id, # FROM notes$q$, 0.8, measure => ''containment''$)'),
  ('join', 'SELECT * FROM similarity_join($q$SELECT id, # FROM notes$q$, $q$SELECT id, # FROM notes WHERE id % 3 = 0$q$, 0.5, measure => ''cosine''$)'),
  ('join, keys', 'SELECT * FROM similarity_join($q$SELECT id, # FROM notes$q$, $q$SELECT id::text, # FROM notes WHERE id % 3 = 0$q$, 2,
                  left_key => NULL::int, right_key => NULL::text, measure => ''overlap''$)'),
  ('neighbours', 'SELECT * FROM similarity_neighbors($q$SELECT id, # FROM notes$q$, $q$SELECT id, # FROM notes WHERE id % 3 = 0$q$, 3, min_similarity => 0.2$)'),
  ('neighbours, keys', 'SELECT * FROM similarity_neighbors($q$SELECT id, # FROM notes$q$, $q$SELECT id::numeric, # FROM notes$q$, 2, min_similarity => 0,
                        left_key => NULL::int, right_key => NULL::numeric$)'),
  ('groups', 'SELECT * FROM duplicate_groups($q$SELECT id, # FROM notes$q$, 0.6, max_group_share => 1$)'),
  ('groups, key', 'SELECT * FROM duplicate_groups($q$SELECT id::text, # FROM notes ORDER BY id DESC$q$, 0.6, key => NULL::text, method => ''star'',
                   keep => ''first_row'', max_group_share => 1$)');
SELECT name, sum(differences) AS differences, min(n) > 0 AS some_rows, max(n) > 100 AS many_rows
FROM calls, tokenizers, compare(with_texts(call, tokens), with_sets(call, set)) GROUP BY name ORDER BY name COLLATE "C";

-- Columns of other types that are texts, and collations.
SELECT col, sum(differences(format('SELECT * FROM similarity_self_join(''SELECT id, %I FROM typed'', 0.5, tokens => %L)', col, tokens),
                            format('SELECT * FROM similarity_self_join(''SELECT id, %s FROM typed'', 0.5)', replace(replace(set, '''', ''''''), '#', col))))
       AS differences
FROM unnest('{vc,c,dom,plain}'::text[]) col, tokenizers GROUP BY col ORDER BY col;
SELECT * FROM similarity_self_join('VALUES (1, ''ÄPFEL'' COLLATE "C"), (2, ''äPFEL''), (3, ''Äpfel'')', 1, tokens => 'shingles(2)');
SELECT * FROM similarity_self_join('SELECT id, plain || dom COLLATE "C" FROM typed WHERE false', 0.5, tokens => 'shingles');
SELECT * FROM similarity_self_join('SELECT id, plain || vc FROM (SELECT id, plain, vc COLLATE "POSIX" AS vc FROM typed) x', 0.5, tokens => 'shingles');

-- What a text is before it becomes a set is an expression of the query.
SELECT differences($$SELECT * FROM similarity_self_join('SELECT id, normalize(translate(body, ''äÄß'', ''aAs''), NFKC) FROM notes', 0.5, tokens => 'shingles(3)')$$,
                   $$SELECT * FROM similarity_self_join('SELECT id, shingles(normalize(translate(body, ''äÄß'', ''aAs''), NFKC), 3) FROM notes', 0.5)$$);

-- A tsvector is the set of its lexemes, also beside a text[].
CREATE TABLE vectors AS SELECT id, to_tsvector('english', body) AS v, tsvector_to_array(to_tsvector('english', body)) AS s FROM notes;
CREATE DOMAIN vector AS tsvector;
SELECT differences('SELECT * FROM similarity_self_join(''SELECT id, v FROM vectors'', 0.5)', 'SELECT * FROM similarity_self_join(''SELECT id, s FROM vectors'', 0.5)') AS self_join,
       differences('SELECT * FROM similarity_join(''SELECT id, v::vector FROM vectors'', ''SELECT id, s FROM vectors'', 0.5)',
                   'SELECT * FROM similarity_join(''SELECT id, s FROM vectors'', ''SELECT id, s FROM vectors'', 0.5)') AS join,
       differences('SELECT * FROM similarity_neighbors(''SELECT id, s FROM vectors'', ''SELECT id, v FROM vectors'', 2)',
                   'SELECT * FROM similarity_neighbors(''SELECT id, s FROM vectors'', ''SELECT id, s FROM vectors'', 2)') AS neighbours,
       differences('SELECT * FROM duplicate_groups(''SELECT id::text, v FROM vectors'', 0.5, key => NULL::text, max_group_share => 1)',
                   'SELECT * FROM duplicate_groups(''SELECT id::text, s FROM vectors'', 0.5, key => NULL::text, max_group_share => 1)') AS groups,
       differences('SELECT * FROM minhash_self_join(''SELECT id, v FROM vectors'', 0.5)', 'SELECT * FROM minhash_self_join(''SELECT id, s FROM vectors'', 0.5)') AS bands;

-- The measures of two tsvectors are those of their lexemes.
SELECT count(*) > 1000 AS pairs, bool_and(jaccard_similarity(a.v, b.v) = jaccard_similarity(a.s, b.s)) AS jaccard,
       bool_and(cosine_similarity(a.v, b.v) = cosine_similarity(a.s, b.s)) AS cosine, bool_and(dice_similarity(a.v, b.v) = dice_similarity(a.s, b.s)) AS dice,
       bool_and(overlap_count(a.v, b.v) = overlap_count(a.s, b.s)) AS overlap, bool_and(containment(a.v, b.v) = containment(a.s, b.s)) AS containment,
       bool_and(overlap_coefficient(a.v, b.v) = overlap_coefficient(a.s, b.s)) AS coefficient,
       bool_and(jaccard_distance(a.v, b.v) = jaccard_distance(a.s, b.s)) AS distance
FROM vectors a JOIN vectors b ON b.id < 40 AND a.v IS NOT NULL AND b.v IS NOT NULL;
SELECT jaccard_similarity(to_tsvector('simple', 'a b'), NULL) IS NULL AS null, jaccard_similarity(''::tsvector, ''::tsvector) = 0 AS empty;

-- The measures of two texts with a tokenizer are those of their sets: with a constant one, which the planner replaces, and with
-- one from a column, which it does not.
CREATE TABLE measures (measure text);
INSERT INTO measures VALUES ('jaccard_similarity'), ('cosine_similarity'), ('dice_similarity'), ('overlap_count'), ('containment'),
  ('overlap_coefficient'), ('jaccard_distance');
-- Only one pair has a long text.
CREATE FUNCTION compare_measure(measure text, tokens text, set text, OUT differences bigint, OUT pairs bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT count(*) FILTER (WHERE constant IS DISTINCT FROM sets OR varying IS DISTINCT FROM sets), count(sets)
                  FROM (SELECT %1$s(a.body, b.body, %2$L) AS constant, %1$s(a.body, b.body, t.tokens::tokenizer) AS varying, %1$s(%3$s, %4$s) AS sets
                        FROM notes a, notes b, tokenizers t
                        WHERE (a.id BETWEEN 6 AND 13 AND a.id <> 10 OR a.id = 10 AND b.id = 170) AND b.id IN (170, 171, 172, 173, 175, 176) AND t.tokens = %2$L) m',
                 measure, tokens, replace(set, '#', 'a.body'), replace(set, '#', 'b.body')) INTO differences, pairs;
END $$;
SELECT measure, sum(differences) AS differences, min(pairs) AS pairs
FROM measures, tokenizers, compare_measure(measure, tokens, set) GROUP BY measure ORDER BY measure COLLATE "C";

-- The planner sees sets, those of constant texts as constants, and uses an index on them.
SET simjoin.device = cpu;
CREATE INDEX shingle_index ON notes USING gin (shingles(body, 3) int4_similarity_ops);
ANALYZE notes;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM notes WHERE dice_similarity(body, 'ab', 'shingles(3)') >= 0.9;
SELECT differences('SELECT id FROM notes WHERE jaccard_similarity(body, ''Running foxes'', ''shingles(3)'') >= 0.3',
                   'SELECT id FROM notes WHERE jaccard_similarity(shingles(body, 3), shingles(''Running foxes'', 3)) >= 0.3') AS search;
RESET enable_seqscan;
DROP INDEX shingle_index;
EXPLAIN (COSTS OFF) SELECT count(*) FROM notes a JOIN notes b ON jaccard_similarity(a.body, b.body, 'shingles(5)') >= 0.6 AND a.id < b.id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM typed a JOIN typed b ON 0.2 >= jaccard_distance(a.vc, b.vc, 'words(english)');
EXPLAIN (COSTS OFF) SELECT a.id FROM notes a FULL JOIN notes b ON 0.5 * cosine_similarity(a.body, b.body, 'word_shingles64') + 0.5 * dice_similarity(a.body, b.body, 'shingles64(2)') > 0.9;
SELECT differences('SELECT a.id, b.id FROM notes a JOIN notes b ON jaccard_similarity(a.body, b.body, ''shingles(5)'') >= 0.6 AND a.id < b.id',
                   'SELECT a, b FROM similarity_self_join(''SELECT id, body FROM notes'', 0.6, tokens => ''shingles(5)'')') AS shingles,
       differences('SELECT a.id, b.id FROM notes a JOIN notes b ON 0.4 >= jaccard_distance(a.body, b.body, ''words(english)'') AND a.id < b.id',
                   'SELECT a, b FROM similarity_self_join(''SELECT id, body FROM notes'', 0.6, tokens => ''words(english)'')') AS words;
SELECT a.id FROM notes a FULL JOIN notes b ON jaccard_similarity(a.body, b.body, format('shingles(%s)', a.id)::tokenizer) > 0.9;
-- A parameter is a constant to a plan of its own, and no constant to a generic plan.
CREATE TABLE few AS SELECT id, body FROM notes WHERE id % 4 = 0;
ANALYZE few;
PREPARE tokenized(tokenizer) AS SELECT count(*) FROM few a JOIN few b ON jaccard_similarity(a.body, b.body, $1) >= 0.6 AND a.id < b.id;
EXPLAIN (COSTS OFF) EXECUTE tokenized('word_shingles(1)');
EXECUTE tokenized('word_shingles(1)');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE tokenized('word_shingles(1)');
EXECUTE tokenized('word_shingles(1)');
RESET plan_cache_mode;
-- NULL, empty sets, and arguments that are computed once.
SELECT jaccard_similarity(NULL, 'a', 'words') IS NULL AS left_null, jaccard_similarity('a', NULL, 'words') IS NULL AS right_null,
       jaccard_similarity('a', 'b', NULL) IS NULL AS tokenizer_null, jaccard_similarity('', ' ', 'shingles') AS empty,
       jaccard_similarity('a', 'a', 'words(english)') AS stop_words;
CREATE SEQUENCE drawn;
SELECT jaccard_similarity('a ' || nextval('drawn'), 'a ' || nextval('drawn'), 'words') AS once;
-- Case is folded by the collation of both texts, which must be clear.
SELECT jaccard_similarity('ÄPFEL' COLLATE "C", 'äpfel', 'shingles(1)') < 1 AS plain, jaccard_similarity('APFEL' COLLATE "C", 'apfel', 'shingles(1)') AS ascii;
SELECT jaccard_similarity(a.plain, b.vc, 'shingles(1)') FROM typed a, (SELECT vc COLLATE "POSIX" AS vc FROM typed) b LIMIT 1;
SELECT jaccard_similarity(a.plain, b.vc, t.tokens::tokenizer) FROM typed a, (SELECT vc COLLATE "POSIX" AS vc FROM typed) b, (TABLE tokenizers LIMIT 1) t LIMIT 1;
-- A configuration is looked up by the search path of each execution.
CREATE SCHEMA other_texts;
CREATE TEXT SEARCH CONFIGURATION ours (COPY = pg_catalog.simple);
CREATE TEXT SEARCH CONFIGURATION other_texts.ours (COPY = pg_catalog.english);
PREPARE by_path AS SELECT jaccard_similarity(x, 'a running fox', 'words(ours)'), jaccard_similarity(x, 'a running fox', ('words' || substr(x, 1, 0) || '(ours)')::tokenizer)
  FROM (VALUES ('foxes run')) v (x);
EXECUTE by_path;
SET search_path = other_texts, texts_test, public;
EXECUTE by_path;
SET search_path = texts_test, public;
DROP SCHEMA other_texts CASCADE;
-- So an index or a generated column cannot have it.
CREATE INDEX ON notes (jaccard_similarity(body, 'fox', 'words(english)'));
CREATE TABLE generated (body text, near float8 GENERATED ALWAYS AS (jaccard_similarity(body, 'fox', 'shingles(3)')) STORED);
-- A function that calls itself below a measure is inlined once.
CREATE FUNCTION itself(t text) RETURNS text LANGUAGE sql AS $$ SELECT t $$;
CREATE OR REPLACE FUNCTION itself(t text) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN t = '' THEN t ELSE jaccard_similarity(itself(left(t, -1)), 'ab', 'shingles(1)')::text END $$;
SELECT itself(v) FROM (VALUES ('ab'), ('')) x(v);
-- Names in the search path change nothing. PostgreSQL still decides who may call what.
CREATE FUNCTION shingles(text, int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT '{1}'::int[] $$;
CREATE FUNCTION jaccard_similarity(int[], int[]) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT 1::float8 $$;
CREATE FUNCTION to_tsvector(regconfig, text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$ SELECT 'x'::tsvector $$;
SET search_path = texts_test, public, pg_catalog;
SELECT jaccard_similarity('abc', 'xyz', 'shingles(1)') AS shingles, jaccard_similarity('abc', 'xyz', 'words') AS words,
       jaccard_similarity(body, body || ' z', 'shingles(1)') < 1 AS planned FROM notes WHERE id = 1;
SET search_path = texts_test, public;
DROP FUNCTION texts_test.shingles(text, int), texts_test.jaccard_similarity(int[], int[]), texts_test.to_tsvector(regconfig, text);
CREATE ROLE texts_test_role;
GRANT USAGE ON SCHEMA texts_test TO texts_test_role;
GRANT SELECT ON few TO texts_test_role;
SET ROLE texts_test_role;
PREPARE granted AS SELECT count(*) FROM few a JOIN few b ON jaccard_similarity(a.body, b.body, 'shingles(5)') >= 0.6 AND a.id < b.id;
EXECUTE granted;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION shingles(text, int) FROM PUBLIC;
SET ROLE texts_test_role;
EXPLAIN (COSTS OFF) EXECUTE granted;
EXECUTE granted;
RESET ROLE;
GRANT EXECUTE ON FUNCTION shingles(text, int) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION jaccard_similarity(text, text, tokenizer) FROM PUBLIC;
SET ROLE texts_test_role;
EXECUTE granted;
RESET ROLE;
GRANT EXECUTE ON FUNCTION jaccard_similarity(text, text, tokenizer) TO PUBLIC;
ALTER FUNCTION jaccard_similarity(text, text, tokenizer) SET search_path = pg_catalog;
EXPLAIN (COSTS OFF) EXECUTE granted;
ALTER FUNCTION jaccard_similarity(text, text, tokenizer) RESET search_path;
DEALLOCATE granted;
REVOKE ALL ON few FROM texts_test_role;
REVOKE ALL ON SCHEMA texts_test FROM texts_test_role;
DROP ROLE texts_test_role;
SELECT jaccard_similarity('a', 'b', 'letters');
SELECT jaccard_similarity('a', 'b', 'words(no_such_language)');
SELECT jaccard_similarity('a', 'b', t::tokenizer) FROM (VALUES ('words'), ('words(no_such_language)')) v (t);
RESET simjoin.device;

-- The join operator joins sets that are made in its clause.
ANALYZE notes, vectors;
SET simjoin.device = cpu;
EXPLAIN (COSTS OFF) SELECT count(*) FROM notes a JOIN notes b ON jaccard_similarity(shingles(a.body, 5), shingles(b.body, 5)) >= 0.6 AND a.id < b.id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM vectors a JOIN vectors b ON jaccard_similarity(a.v, b.v) >= 0.6 AND a.id < b.id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM vectors a JOIN vectors b ON containment(a.v, b.v) >= 0.9;
SELECT differences('SELECT a.id, b.id FROM notes a JOIN notes b ON jaccard_similarity(shingles(a.body, 5), shingles(b.body, 5)) >= 0.6 AND a.id < b.id',
                   'SELECT a, b FROM similarity_self_join(''SELECT id, body FROM notes'', 0.6, tokens => ''shingles(5)'')') AS shingles,
       differences('SELECT a.id, b.id FROM vectors a JOIN vectors b ON jaccard_similarity(a.v, b.v) >= 0.6 AND a.id < b.id',
                   'SELECT a, b FROM similarity_self_join(''SELECT id, body FROM notes'', 0.6, tokens => ''words(english)'')') AS words;
RESET simjoin.device;

-- Values of the type. A text that is not a literal is cast.
SELECT 'shingles(5)'::tokenizer, ' words( a.b ) '::tokenizer, pg_typeof(format('shingles(%s)', 3)::tokenizer);
SELECT count(*) > 0 AS cast FROM similarity_self_join('SELECT id, body FROM notes', 0.8, tokens => format('shingles(%s)', 3)::tokenizer);
PREPARE untyped AS SELECT count(*) > 0 FROM similarity_self_join($1, $2, tokens => $3, measure => $4);
EXECUTE untyped('SELECT id, body FROM notes', 0.8, 'shingles(4)', 'dice');
EXECUTE untyped('SELECT id, body FROM notes', 0.8, NULL, 'dice');
EXECUTE untyped('SELECT id, body FROM notes', 0.8, 'shingle', 'dice');
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8, key => NULL::int, tokens => NULL);
-- Calls without types still mean what they meant.
PREPARE measure3 AS SELECT count(*) FROM similarity_self_join($1, $2, $3);
PREPARE measure4 AS SELECT count(*) FROM similarity_join($1, $2, $3, $4);
PREPARE neighbours4 AS SELECT count(*) FROM similarity_neighbors($1, $2, $3, $4);
PREPARE neighbours5 AS SELECT count(*) FROM similarity_neighbors($1, $2, $3, $4, $5);
PREPARE groups3 AS SELECT count(*) FROM duplicate_groups($1, $2, $3);
PREPARE groups6 AS SELECT count(*) FROM duplicate_groups($1, $2, $3, $4, $5, $6);
SELECT name, parameter_types FROM pg_prepared_statements WHERE name ~ '\d$' ORDER BY name;
SELECT count(*) FROM similarity_self_join('VALUES (''a'', ''{1}''::int[]), (''b'', ''{1}'')', 0.5, NULL::text, 'dice');
SELECT count(*) FROM similarity_join('VALUES (''a'', ''{1}''::int[])', 'VALUES (''b'', ''{1}''::int[])', 0.5, NULL::text, NULL::text);
SELECT count(*) FROM similarity_neighbors('VALUES (''a'', ''{1}''::int[])', 'VALUES (''b'', ''{1}''::int[])', 1, 0, NULL::text, NULL::text);

-- Errors.
SELECT 'shingles(0)'::tokenizer;
SELECT ''::tokenizer;
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8, tokens => 'trigrams');
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8, tokens => 'words(no_such_language)');
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8, tokens => 'words(a.b.c.d)');
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8, tokens => 'words(a"b)');
SELECT * FROM similarity_self_join('SELECT id, body FROM notes', 0.8);
SELECT * FROM similarity_self_join('SELECT id::text, body FROM notes', 0.8, tokens => 'shingles');
SELECT * FROM similarity_self_join('SELECT id::text, body FROM notes', 0.8, tokens => 'shingles', key => NULL::uuid);
SELECT * FROM similarity_self_join('SELECT id FROM notes', 0.8, tokens => 'shingles');
SELECT * FROM similarity_self_join('SELECT id, s FROM vectors', 0.8, tokens => 'shingles');
SELECT * FROM similarity_self_join('SELECT id, v FROM vectors', 0.8, tokens => 'words');
SELECT * FROM similarity_self_join('SELECT id, id FROM vectors', 0.8, tokens => 'words');
SELECT * FROM similarity_join('SELECT id, body FROM notes', 'SELECT id, s FROM vectors', 0.8, tokens => 'words');
SELECT * FROM similarity_join('SELECT id, shingles(body) FROM notes', 'SELECT id, v FROM vectors', 0.8);
SELECT * FROM similarity_self_join('SELECT id, body FROM notes; SELECT 1, 2', 0.8, tokens => 'words');
SELECT * FROM similarity_self_join('VALUES (1, ''a''), (1, ''b'')', 0.8, tokens => 'words');
SELECT * FROM similarity_self_join('SELECT id, shingles(body) FROM notes', 0.8, tokens => 'words', key => NULL::int);
SELECT * FROM minhash_self_join('SELECT id, body FROM notes', 0.8);

-- A query that drops the configuration of its words.
CREATE TEXT SEARCH CONFIGURATION dropped (COPY = pg_catalog.simple);
CREATE FUNCTION drops(i int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF i = 3 THEN DROP TEXT SEARCH CONFIGURATION dropped; END IF; RETURN 'a b c'; END $$;
SELECT * FROM similarity_self_join('SELECT i, drops(i) FROM generate_series(1, 5) i', 0.8, tokens => 'words(dropped)');
SELECT count(*) FROM pg_ts_config WHERE cfgname = 'dropped';

-- Sets of other types: the hint has a cast.
CREATE TYPE hstore AS (a int);
SELECT * FROM similarity_self_join('SELECT 1, ''{1}''::smallint[]', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ''{a}''::varchar[]', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ''{}''::uuid[]', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ''{1.0}''::numeric[]', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ''["a", "b"]''::jsonb', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ''["a", "b"]''::json', 0.8);
SELECT * FROM similarity_self_join('SELECT 1, ROW(1)::hstore', 0.8);
SELECT * FROM tf_idf('SELECT id, v FROM vectors');
SELECT * FROM similarity_self_join('SELECT id, ARRAY(SELECT jsonb_array_elements_text(j)) FROM (VALUES (1, ''["a", 1, "c"]''::jsonb), (2, ''["a", "1"]'')) x (id, j)', 0.5);
DEALLOCATE ALL;
DROP SCHEMA texts_test CASCADE;
