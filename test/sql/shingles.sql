-- Sets from text: the hashes are the same on every machine, and never change.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;

-- Golden values.
SELECT shingles('simjoin');
SELECT shingles('simjoin', 3);
SELECT shingles64('simjoin', 6);
SELECT word_shingles('the quick brown fox jumps');
SELECT word_shingles64('the quick brown fox jumps', 4);
SELECT shingles64('hello') AS hello, word_shingles64('hello', 1) AS the_same;

-- Lower case, and white space folded and trimmed.
SELECT shingles('  The  QUICK' || E'\t\n' || 'brown ') = shingles('the quick brown') AS characters,
       word_shingles('  The  QUICK' || E'\t\n' || 'brown ', 2) = word_shingles('the quick brown', 2) AS words,
       shingles('a b', 3) = shingles('ab', 3) AS space_counts;

-- The shingles are the hashes of the text's runs.
SELECT array_agg(DISTINCT s ORDER BY s) = shingles64('banana', 3) AS runs, count(*) AS runs_of_text, count(DISTINCT s) AS distinct_runs
FROM generate_series(1, 4) i, unnest(shingles64(substr('banana', i, 3), 3)) s;
SELECT array_agg(DISTINCT s ORDER BY s) = word_shingles64('a b c b c', 2) AS runs, count(DISTINCT s) AS distinct_runs
FROM unnest(ARRAY['a b', 'b c', 'c b', 'b c']) t, unnest(shingles64(t, 3)) s;

-- The 32-bit hashes are the low bits of the 64-bit ones.
SELECT array_agg(DISTINCT low ORDER BY low) = shingles('the quick brown fox') AS low_bits
FROM unnest(shingles64('the quick brown fox')) h, LATERAL (SELECT (h & 4294967295)::bit(32)::int) l(low);
SELECT array_agg(DISTINCT low ORDER BY low) = word_shingles('the quick brown fox', 2) AS low_bits
FROM unnest(word_shingles64('the quick brown fox', 2)) h, LATERAL (SELECT (h & 4294967295)::bit(32)::int) l(low);

-- Short texts are one shingle, and blank ones none.
SELECT shingles('abc') = shingles('abc', 3) AS short, cardinality(shingles('abc')) AS count,
       cardinality(word_shingles('two words')) AS words, shingles('abc', 2147483647) = shingles('abc', 3) AS huge_size,
       word_shingles('abc', 2147483647) = shingles('abc', 3) AS huge_words;
SELECT shingles('') AS empty, shingles(E' \t\r\n ') AS blank, word_shingles('') AS words, word_shingles64(' ') AS blank_words,
       shingles('') = '{}' AS equal, shingles(NULL) IS NULL AS no_text, shingles('abc', NULL) IS NULL AS no_size;

-- Characters count, not bytes, and Unicode's white space too.
SELECT cardinality(shingles('äöüß€𝄞', 2)) AS pairs, cardinality(shingles('äöüß€𝄞', 6)) AS whole,
       array_agg(DISTINCT s ORDER BY s) = shingles('äöü€𝄞', 2) AS runs
FROM unnest(ARRAY['äö', 'öü', 'ü€', '€𝄞']) t, unnest(shingles(t, 2)) s;
SELECT shingles(U&'a\00A0\2003\3000b\2028', 2) = shingles('a b', 2) AS unicode_space,
       shingles(U&'a\200Bb', 3) = shingles('a b', 3) AS zero_width;

-- Letters follow the collation, as in lower().
SELECT shingles('ÄBC' COLLATE "C", 3) = shingles('Äbc' COLLATE "C", 3) AS ascii_only,
       shingles('ÄBC' COLLATE "C", 3) = shingles('äbc' COLLATE "C", 3) AS umlaut;

-- A long text: every position of a period once.
SELECT cardinality(shingles(repeat('abcdefghij', 100000))) AS characters,
       cardinality(word_shingles(repeat('one two three four ', 50000))) AS words,
       cardinality(word_shingles(repeat('word ', 50000), 40000)) AS long_runs;
-- Long texts are put into lower case part by part, also without spaces. All parts of these texts are alike.
SELECT shingles(repeat('ABCDEFGHIJ', 20000)) = shingles(repeat('abcdefghij', 3)) AS letters,
       shingles(repeat('漢字仮名', 20000)) = shingles(repeat('漢字仮名', 3)) AS ideographs,
       shingles(repeat('가나다라마', 20000)) = shingles(repeat('가나다라마', 3)) AS hangul,
       shingles(repeat('éàü', 40000)) = shingles(repeat('éàü', 4)) AS accents;

-- The purpose of shingles.
SELECT round(jaccard_similarity(shingles('The quick brown fox jumps over the lazy dog'),
                                shingles('the quick brown fox jumped over the lazy dog'))::numeric, 4) AS characters,
       round(jaccard_similarity(word_shingles('The quick brown fox jumps over the lazy dog', 2),
                                word_shingles('the quick brown fox jumped over the lazy dog', 2))::numeric, 4) AS words;
SELECT proname, pronargdefaults, provolatile, proisstrict, proparallel, prorettype::regtype
FROM pg_proc WHERE proname ~ '^(word_)?shingles(64)?$' ORDER BY proname COLLATE "C";
