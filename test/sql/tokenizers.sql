-- Tokenizers: what each makes of a text, and the same wherever one is taken.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA tokenizers_test;
SET search_path = tokenizers_test, public;
SET simjoin.device = cpu;

-- Golden values.
SELECT token_set('310/246-1501', 'alnum') AS alnum, token_set64('310/246-1501', 'alnum64') AS alnum64;
SELECT token_set('aaaa', 'shingles(3, multi)') AS multi, token_set64('a a', 'alnum64(multi)') AS multi64, word_set('to be or not to be', 'simple', 'words(multi)') AS words;
SELECT token_set('a b', 'qgrams') AS qgrams, token_set64('a b', 'qgrams64') AS qgrams64;

-- Runs of letters and digits are words between which everything else is a space.
SELECT token_set('310/246-1501', 'alnum') = word_shingles('310 246 1501', 1) AS numbers,
       token_set('O''Reilly & Söhne_GmbH (№ 7)', 'alnum') = word_shingles('o reilly söhne gmbh 7', 1) AS letters,
       token_set(U&'cafe\0301-bar', 'alnum') = word_shingles(U&'cafe\0301 bar', 1) AS marks,
       token_set('漢字、仮名', 'alnum') = word_shingles('漢字 仮名', 1) AS ideographs,
       token_set('', 'alnum') AS empty, token_set(E' -/\t', 'alnum') AS blank, token_set(NULL, 'alnum') IS NULL AS null,
       token_set('a', NULL) IS NULL AS no_tokenizer;
SELECT token_set(repeat('ab-cd_', 200000), 'alnum') = word_shingles('ab cd', 1) AS long, token_set(repeat('ab', 200000), 'alnum') = shingles(repeat('ab', 200000), 400000) AS long_run;
-- q-grams are padded by q - 1 characters, and not folded.
CREATE FUNCTION qgrams(t text, q int) RETURNS bigint[] LANGUAGE sql AS
$$ SELECT coalesce(array_agg(DISTINCT h ORDER BY h), '{}')
   FROM (SELECT repeat('#', q - 1) || t || repeat('$', q - 1)) p (padded), generate_series(1, length(padded) - q + 1) i,
        LATERAL (SELECT substr(padded, i, q)) g (gram), LATERAL unnest(shingles64(gram, q)) h $$;
SELECT t, q, token_set64(t, format('qgrams64(%s)', q)::tokenizer) = qgrams(t, q) AS grams
FROM unnest(ARRAY['database', 'a', '漢字仮名', 'naïve']) t, unnest(ARRAY[1, 2, 3, 9]) q ORDER BY t COLLATE "C", q;
SELECT cardinality(token_set('', 'qgrams(1)')) AS empty, cardinality(token_set('', 'qgrams(3)')) AS padding, cardinality(token_set('   ', 'qgrams(3)')) AS blank,
       token_set('A', 'qgrams') = token_set('a', 'qgrams') AS folded, jaccard_similarity('a b', 'a  b', 'qgrams(2)') AS spaces,
       cardinality(token_set(repeat('abcdefghij', 100000), 'qgrams(255)')) AS long;
SELECT token_set('a b c', 'shingles(3)') = shingles('a b c', 3) AS shingles, token_set64('a b c', 'word_shingles64(2)') = word_shingles64('a b c', 2) AS words;

-- With multi, sets compare as bags: the shared elements are the smaller number of occurrences of each.
CREATE FUNCTION bag_overlap(a text[], b text[]) RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce(sum(least(x.n, y.n)), 0) FROM (SELECT w, count(*) FROM unnest(a) w GROUP BY w) x (w, n)
   JOIN (SELECT w, count(*) FROM unnest(b) w GROUP BY w) y (w, n) USING (w) $$;
CREATE TABLE bags (id int PRIMARY KEY, body text);
INSERT INTO bags SELECT i, string_agg((ARRAY['tom', 'DICK', 'harry', 'to', 'tot'])[1 + ('x' || substr(md5(i || '.' || j), 1, 7))::bit(28)::int % 5], ' ')
FROM generate_series(1, 30) i, generate_series(1, 2 + i % 9) j GROUP BY i;
SELECT count(*) AS pairs, bool_and(overlap_count(a.body, b.body, 'alnum(multi)') = shared) AS alnum,
       bool_and(jaccard_similarity(a.body, b.body, 'words(multi)') = shared::float8 / (cardinality(x) + cardinality(y) - shared)) AS words,
       bool_or(overlap_count(a.body, b.body, 'alnum') <> shared) AS sets_differ
FROM bags a, bags b, LATERAL string_to_array(lower(a.body), ' ') x, LATERAL string_to_array(lower(b.body), ' ') y, LATERAL bag_overlap(x, y) shared;
SELECT count(*) FROM bags a JOIN bags b ON a.id < b.id AND cosine_similarity(a.body, b.body, 'words(multi)') >= 0.8;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bags a JOIN bags b ON a.id < b.id AND cosine_similarity(a.body, b.body, 'words(multi)') >= 0.8;
SELECT count(*) FROM similarity_self_join('SELECT id, body FROM bags', 0.8, measure => 'cosine', tokens => 'words(multi)');
SELECT threshold, pairs FROM similarity_profile('SELECT id, body FROM bags', '{0.5,0.8}', tokens => 'alnum(multi)') p;
SELECT count(*) FROM similarity_self_join('SELECT id, body FROM bags', 0.8, tokens => 'alnum(multi)');
SELECT create_similarity_index('bags', 'word_set(body, ''simple'', ''words(multi)'')', 0.5);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM bags WHERE jaccard_similarity(body, 'to to tom', 'words(multi)') >= 0.6;
RESET enable_seqscan;
-- A word with # in it is never taken for an occurrence of another one.
SELECT word_set('x.org/a#2 x.org/a x.org/a', 'simple', 'words(multi)');
-- Names have one form, by which queries find indexes.
SELECT 'alnum( multi )'::tokenizer, 'shingles(multi)'::tokenizer, 'words ( "multi" ,multi)'::tokenizer, 'words(multi)'::tokenizer;

-- Prepared texts, whatever the collation: PostgreSQL's own normalisation, the letters without accents, and Unicode's case folding.
SELECT token_set('ﬁn ①②', 'qgrams(2, nfkc)') = token_set('fin 12', 'qgrams(2)') AS nfkc,
       token_set(t, 'qgrams(2, nfkc)') = token_set(normalize(t, NFKC), 'qgrams(2)') AS as_postgresql,
       token_set(t, 'shingles(4)') = token_set(normalize(t, NFKC), 'shingles(4)') AS without
FROM (SELECT string_agg(chr(c), '' ORDER BY c % 97, c) FROM generate_series(33, 12543) c WHERE c < 128 OR c BETWEEN 161 AND 2160 OR c BETWEEN 7680 AND 8190 OR c > 12352) t (t);
SELECT token_set('Łódź, Ærøskøbing, Þór, ĲSSEL', 'qgrams(2, unaccent)') = token_set('Lodz, AEroskobing, THor, ĲSSEL', 'qgrams(2)') AS latin,
       token_set('й ΐ', 'qgrams(2, unaccent)') = token_set('и ι', 'qgrams(2)') AS others, token_set('हिन्दी が', 'qgrams(2, unaccent)') = token_set('हिन्दी が', 'qgrams(2)') AS vowels;
SELECT token_set('STRASSE ΣΑΣ É' COLLATE "C", 'shingles(2, casefold)') = token_set('straße σας é' COLLATE "C", 'shingles(2, casefold)') AS casefold,
       token_set('STRASSE', 'qgrams(2, casefold)') = token_set('strasse', 'qgrams(2)') AS ascii, token_set('É' COLLATE "C", 'shingles(1)') = token_set('é' COLLATE "C", 'shingles(1)') AS without;
SELECT token_set('Ｃａｆé-Ｂａｒ', 'alnum(multi, nfkc, unaccent, casefold)') = token_set('cafe bar', 'alnum') AS all, jaccard_similarity('Müller & Söhne', 'MULLER SOHNE', 'words(unaccent)') AS words,
       word_set('Über die Straße', 'german', 'words(casefold, unaccent)') AS stems, token_set('', 'alnum(nfkc)') AS empty;
SELECT token_set(repeat('É', 300000), 'shingles(2, casefold, unaccent)') = token_set('eeee', 'shingles(2)') AS long, cardinality(token_set(repeat('ﷺ', 20000), 'shingles(2, multi, nfkc)')) > 350000 AS longer;
CREATE TABLE people (id int PRIMARY KEY, name text, tokens bigint[] GENERATED ALWAYS AS (token_set64(name, 'shingles64(2, nfkc, unaccent, casefold)')) STORED);
INSERT INTO people VALUES (1, 'José Núñez'), (2, 'JOSE NUNEZ'), (3, U&'Jose\0301 Nun\0303ez'), (4, 'Łukasz');
SELECT a.id, b.id FROM people a JOIN people b ON a.id < b.id AND jaccard_similarity(a.name, b.name, 'shingles64(2, casefold, unaccent, nfkc)') >= 1 ORDER BY 1, 2;
SELECT create_similarity_index('people', 'tokens', 0.5);
SELECT group_id, count(*) FROM duplicate_groups('SELECT id, name FROM people', 1, tokens => 'qgrams(2, nfkc, unaccent, casefold)', max_group_share => 1) GROUP BY group_id ORDER BY group_id;
SELECT a, b FROM minhash_self_join('SELECT id, name FROM people', 0.9, key => NULL::int, tokens => 'alnum(unaccent, casefold)') ORDER BY a, b;

-- Two files of restaurants write a telephone number in different ways.
CREATE TABLE fodors (id int PRIMARY KEY, body text);
CREATE TABLE zagats (id int PRIMARY KEY, body text);
INSERT INTO fodors VALUES (1, 'Arnie Morton''s of Chicago, 435 S. La Cienega Blvd., 310/246-1501'), (2, 'Art''s Delicatessen, 12224 Ventura Blvd., 818/762-1221'),
  (3, 'Hotel Bel-Air, 701 Stone Canyon Rd., 310/472-1211');
INSERT INTO zagats VALUES (1, 'arnie morton''s of chicago - 435 s. la cienega blvd. - 310-246-1501'), (2, 'art''s deli - 12224 ventura blvd. - 818-762-1221'),
  (3, 'bel-air hotel - 701 stone canyon rd. - 310-472-1211');
SELECT f.id, z.id, round(jaccard_similarity(f.body, z.body, 'words')::numeric, 2) AS words, round(jaccard_similarity(f.body, z.body, 'alnum')::numeric, 2) AS alnum
FROM fodors f, zagats z WHERE jaccard_similarity(f.body, z.body, 'alnum') >= 0.6 ORDER BY f.id;

-- The planner takes the measure of two texts for that of two sets, whose indexes serve it.
EXPLAIN (COSTS OFF) SELECT f.id, z.id FROM fodors f JOIN zagats z ON jaccard_similarity(f.body, z.body, ' alnum ') >= 0.6;
SELECT create_similarity_index('zagats', 'token_set(body, '' alnum'')', 0.5);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM zagats WHERE jaccard_similarity(body, 'Arnie Morton''s, 435 S. La Cienega Blvd.', 'alnum') >= 0.5;
SELECT id FROM zagats WHERE jaccard_similarity(body, 'Arnie Morton''s, 435 S. La Cienega Blvd.', 'alnum') >= 0.5;
RESET enable_seqscan;

-- Generated columns, triggers and dedup views.
CREATE TABLE kept (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (token_set(body, 'alnum')) STORED, mark bool);
SELECT create_similarity_index('kept', 'tokens', 0.6);
CREATE TRIGGER marked BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens', 0.6, 'mark');
INSERT INTO kept SELECT * FROM fodors;
INSERT INTO kept SELECT id + 10, body FROM zagats;
SELECT id, mark FROM kept ORDER BY id;
DELETE FROM kept WHERE mark;
CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.6);
INSERT INTO kept VALUES (21, 'arnie mortons of chicago 435 s la cienega blvd (310) 246 1501');
SELECT create_dedup_view('places', 'SELECT id, token_set(body, ''alnum'') FROM (TABLE fodors UNION ALL SELECT id + 10, body FROM zagats) t', 0.6);
SELECT group_id, array_agg(id ORDER BY id) FROM places GROUP BY group_id ORDER BY group_id;

-- What users write wrong.
SELECT 'alnum(3)'::tokenizer;
SELECT 'alnums'::tokenizer;
SELECT 'qgrams(256)'::tokenizer;
SELECT 'shingles(3, mutli)'::tokenizer;
SELECT 'shingles(multi, 3)'::tokenizer;
SELECT 'shingles(3, multi, multi)'::tokenizer;
SELECT 'words(multi, english)'::tokenizer;
SELECT 'alnum(,)'::tokenizer;
SELECT token_set('a', 'words');
SELECT token_set('a', 'alnum64');
SELECT token_set64('a', 'alnum');
SELECT word_set('a', 'simple', 'alnum');
SELECT word_set('a', 'simple', 'words(english, multi)');

DROP SCHEMA tokenizers_test CASCADE;

-- Hashes are those of UTF-8 in a database of another encoding, which has no prepared texts.
SELECT token_set(chr(233) || '-B', 'alnum') AS alnum, token_set(chr(233), 'qgrams(2)') AS qgrams;
SELECT current_database() AS database \gset
CREATE DATABASE simjoin_tokenizers ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
\c simjoin_tokenizers
CREATE EXTENSION simjoin;
SELECT token_set(chr(233) || '-B', 'alnum') AS alnum, token_set(chr(233), 'qgrams(2)') AS qgrams;
SELECT jaccard_similarity('a', 'b', 'alnum(multi, casefold)');
\c :database
DROP DATABASE simjoin_tokenizers;
