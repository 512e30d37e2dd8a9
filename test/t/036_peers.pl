# Scenarios of other packages' test suites, over generated texts: every measure at every threshold and comparison for several tokenizers, as
# py_stringsimjoin has them, edit distances of short texts, and pg_trgm's functions and operators at the float4 numbers beside a threshold. Each
# join is compared with a table of all pairs, which is computed once.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('peers');

sub available
{
	return $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = '$_[0]'") eq '1';
}

# ---- What all parts need ----

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET session_preload_libraries = 'simjoin';
	-- Rows, and a sum that tells which, of a join of the tables l and r. The plan must be the operator's.
	CREATE FUNCTION joined(l regclass, r regclass, condition text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		query text := format('SELECT count(*) || '' '' || coalesce(sum(l.id::bigint * 100003 + r.id), 0) FROM %s l JOIN %s r ON %s', l, r, condition);
		line text;
		taken bool := false;
		result text;
	BEGIN
		-- The operator's part of an OR stands beside nested loops.
		PERFORM set_config('enable_nestloop', CASE WHEN condition ~ ' OR ' THEN 'on' ELSE 'off' END, true);
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP taken := taken OR line ~ 'SetSimilarityJoin'; END LOOP;
		EXECUTE query INTO result;
		RETURN CASE WHEN taken THEN result ELSE 'not taken' END;
	END $$ SET enable_nestloop = off SET enable_hashjoin = off SET enable_mergejoin = off SET client_min_messages = error;
	-- The same of a table of pairs.
	CREATE FUNCTION listed(pairs regclass, condition text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		result text;
	BEGIN
		EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(a::bigint * 100003 + b), 0) FROM %s WHERE %s', pairs, condition) INTO result;
		RETURN result;
	END $$;
	CREATE TABLE scenarios (topic text, condition text, found text, wanted text)});

# Tests that each scenario of a topic found what it is to find, that there are this many, and that some found pairs.
sub scenarios_hold
{
	my ($topic, $count) = @_;
	is($node->safe_psql('postgres', "SELECT condition, found, wanted FROM scenarios WHERE topic = '$topic' AND found IS DISTINCT FROM wanted LIMIT 20"), '', "$topic: the pairs");
	is($node->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE wanted NOT LIKE '0 %') > count(*) / 4 FROM scenarios WHERE topic = '$topic'"), "$count|t", "$topic: $count scenarios");
	return;
}

# ---- Sets of texts: five measures, six thresholds (four numbers of tokens), three comparisons, five tokenizers ----

# Names and remarks with accents, repeated and exchanged words, in two tables, with copies, empty texts and NULL.
$node->safe_psql('postgres', q{
	SELECT setseed(0.61);
	CREATE FUNCTION phrase(i int) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT string_agg((ARRAY['red', 'Red', 'green', 'blue', 'café', 'Café', 'noël', 'Straße', '相似', 'x1', '42', 'of', 'of', 'the', 'hill'])[1 + (random() * 14)::int],
			(ARRAY[' ', ' ', ' ', '  ', ', ', '-'])[1 + (random() * 5)::int]) FROM generate_series(0, i % 6) $$;
	CREATE TABLE lefts AS SELECT i AS id, CASE WHEN i % 25 = 0 THEN NULL WHEN i % 23 = 0 THEN '' WHEN i % 29 = 0 THEN ' ' ELSE phrase(i) END AS t FROM generate_series(1, 120) i;
	CREATE TABLE rights AS SELECT i AS id, CASE WHEN i % 27 = 0 THEN NULL WHEN i % 31 = 0 THEN '' WHEN i % 4 = 0 THEN (SELECT t FROM lefts WHERE id = i) ELSE phrase(i) END AS t
		FROM generate_series(1, 110) i;
	ANALYZE lefts, rights;
	-- The sets by plain SQL, and by the tokenizers.
	CREATE FUNCTION grams(t text, q int) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
		SELECT coalesce(array_agg(DISTINCT substr(padded, i, q)), '{}')
		FROM (SELECT repeat('#', q - 1) || t || repeat('$', q - 1) AS padded) p, generate_series(1, length(t) + q - 1) i WHERE t IS NOT NULL $$;
	CREATE FUNCTION delimited(t text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT AS $$SELECT array_remove(string_to_array(t, ' '), '')$$;
	CREATE TABLE tokenizers (name text, set_of text, argument text);
	INSERT INTO tokenizers VALUES ('delimiter', 'delimited(%s)', NULL), ('words', 'tsvector_to_array(to_tsvector(''simple'', %s))', 'words'),
		('alnum', 'array_remove(regexp_split_to_array(lower(%s), ''[^[:alnum:]]+''), '''')', 'alnum'), ('qgrams(2)', 'grams(%s, 2)', 'qgrams(2)'), ('qgrams(3)', 'grams(%s, 3)', 'qgrams(3)');
	CREATE TABLE measures (name text, formula text);
	INSERT INTO measures VALUES ('jaccard_similarity', 'o / nullif(l + r - o, 0)'), ('cosine_similarity', 'o / nullif(sqrt(l * r), 0)'), ('dice_similarity', '2 * o / nullif(l + r, 0)'),
		('overlap_coefficient', 'o / nullif(least(l, r), 0)'), ('containment', 'o / nullif(l, 0)'), ('overlap_count', 'o')});
# The sets of alnum are compared only where PostgreSQL knows the same letters, so not in the locale C.
my @tokenizers = split(/\n/, $node->safe_psql('postgres', 'SELECT name FROM tokenizers'));
my @measures = split(/\n/, $node->safe_psql('postgres', 'SELECT name FROM measures'));
for my $tokenizer (@tokenizers)
{
	my ($set_of, $argument) = split(/\|/, $node->safe_psql('postgres', "SELECT set_of, coalesce(argument, '') FROM tokenizers WHERE name = '$tokenizer'"), -1);
	my $sets = sub { my ($expression) = @_; return sprintf($set_of, $expression) };
	my $call = sub {
		my ($measure, $l, $r) = @_;
		return $argument eq '' ? "$measure(" . $sets->($l) . ', ' . $sets->($r) . ')' : "$measure($l, $r, '$argument')";
	};
	my $columns = join(', ', map { $call->($_, 'l.t', 'r.t') . " AS $_" } @measures);
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS pairs; SET simjoin.enable_join = off; CREATE TABLE pairs AS SELECT l.id AS a, r.id AS b, l.t AS lt, r.t AS rt, $columns FROM lefts l, rights r");
	# The measures, by the number of equal tokens.
	if ($tokenizer ne 'alnum')
	{
		my $wrong = join(' + ', map {
			my $formula = $node->safe_psql('postgres', "SELECT formula FROM measures WHERE name = '$_'");
			"count(*) FILTER (WHERE abs($_ - coalesce($formula, 0)) > 1e-12)" } @measures);
		is($node->safe_psql('postgres', "SELECT count(*) > 9000, $wrong FROM (SELECT p.*, cardinality(ARRAY(SELECT unnest(x.s) INTERSECT SELECT unnest(y.s)))::float8 AS o,
			cardinality(x.s)::float8 AS l, cardinality(y.s)::float8 AS r FROM pairs p
			JOIN (SELECT id, ARRAY(SELECT DISTINCT unnest(" . $sets->('t') . ")) AS s FROM lefts WHERE t <> '') x ON x.id = p.a
			JOIN (SELECT id, ARRAY(SELECT DISTINCT unnest(" . $sets->('t') . ")) AS s FROM rights WHERE t <> '') y ON y.id = p.b) q"), 't|0', "$tokenizer: the measures by plain SQL");
	}
	for my $measure (@measures)
	{
		my @bounds = $measure eq 'overlap_count' ? (1, 2, 3, 5) : (0.3, 0.5, 0.7, 0.85, 0.9, 1);
		my $joined = $call->($measure, 'l.t', 'r.t');
		$joined =~ s/'/''/g;
		my $values = join(', ', map { my $bound = $_; map { "('$_', '$bound')" } ('>=', '>', '=') } @bounds);
		$node->safe_psql('postgres', "INSERT INTO scenarios SELECT '$tokenizer, $measure', c, joined('lefts', 'rights', '$joined ' || c), listed('pairs', '$measure ' || c)
			FROM (SELECT op || ' ' || bound AS c FROM (VALUES $values) v (op, bound)) s");
		# Texts that are missing match all others.
		$node->safe_psql('postgres', "INSERT INTO scenarios SELECT '$tokenizer, $measure', 'or missing', joined('lefts', 'rights', '($joined >= $bounds[2] OR l.t IS NULL OR r.t IS NULL)'),
			listed('pairs', '($measure >= $bounds[2] OR lt IS NULL OR rt IS NULL)')");
		scenarios_hold("$tokenizer, $measure", 3 * @bounds + 1);
	}
}

# ---- Edit distances up to 9 of texts of 0 to 20 characters ----

$node->safe_psql('postgres', q{
	SELECT setseed(0.62);
	DROP TABLE pairs;
	CREATE FUNCTION few_letters(i int, n int) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT coalesce(string_agg(substr('abcé相 -x', 1 + (random() * 7)::int, 1), ''), '') FROM generate_series(1, n) WHERE i IS NOT NULL $$;
	CREATE TABLE short_lefts AS SELECT i AS id, CASE WHEN i % 17 = 0 THEN NULL ELSE few_letters(i, i % 21) END AS t FROM generate_series(1, 105) i;
	CREATE TABLE short_rights AS SELECT i AS id, CASE WHEN i % 19 = 0 THEN NULL WHEN i % 3 > 0 THEN overlay(t placing substr('qzé', i % 4, 1) from 1 + i % 9 for i % 3) ELSE few_letters(i, i % 20) END AS t
		FROM (SELECT i, coalesce((SELECT t FROM short_lefts WHERE id = i), 'aaa') AS t FROM generate_series(1, 100) i) s;
	ANALYZE short_lefts, short_rights});
my @distances = ('edit_distance', 'damerau_distance');
if (available('fuzzystrmatch'))
{
	$node->safe_psql('postgres', 'CREATE EXTENSION fuzzystrmatch');
	push(@distances, 'levenshtein');
}
else
{
	note('levenshtein is left out: fuzzystrmatch is not available');
}
$node->safe_psql('postgres', 'SET simjoin.enable_join = off; CREATE TABLE pairs AS SELECT l.id AS a, r.id AS b, l.t AS lt, r.t AS rt, '
	  . join(', ', map { "$_(l.t, r.t) AS $_" } @distances) . ' FROM short_lefts l, short_rights r');
for my $distance (@distances)
{
	$node->safe_psql('postgres', "INSERT INTO scenarios SELECT '$distance', op || k, joined('short_lefts', 'short_rights', '$distance(l.t, r.t) ' || op || k), listed('pairs', '$distance ' || op || k)
		FROM unnest(ARRAY['<=', '<', '=']) op, generate_series(1, 9) k;
		INSERT INTO scenarios SELECT '$distance', 'or missing, ' || k, joined('short_lefts', 'short_rights', '($distance(l.t, r.t) <= ' || k || ' OR l.t IS NULL OR r.t IS NULL)'),
			listed('pairs', '($distance <= ' || k || ' OR lt IS NULL OR rt IS NULL)') FROM unnest(ARRAY[1, 4, 9]) k");
	scenarios_hold($distance, 30);
}

# ---- pg_trgm: numbers in words ----

SKIP:
{
	skip('pg_trgm is not available', 1) unless available('pg_trgm');
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_trgm;
		DROP TABLE pairs;
		CREATE FUNCTION in_words(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
			SELECT concat_ws(' ', CASE WHEN n = 1000 THEN 'one thousand' WHEN n >= 100 THEN small[n / 100] || ' hundred' END,
				CASE WHEN n % 100 >= 20 THEN (ARRAY['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'])[n % 100 / 10 - 1] || coalesce('-' || small[nullif(n % 10, 0)], '')
					WHEN n % 100 > 0 THEN small[n % 100] END)
			FROM (SELECT string_to_array('one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen', ' ') AS small) s $$;
		CREATE TABLE numbers AS SELECT i AS id, CASE i % 97 WHEN 0 THEN upper(in_words(i)) WHEN 1 THEN in_words(i) || ' & ' || in_words(1 + i % 7) ELSE in_words(i) END AS t FROM generate_series(1, 1000) i;
		INSERT INTO numbers VALUES (1001, NULL), (1002, ''), (1003, '?!');
		CREATE TABLE some_numbers AS SELECT * FROM numbers WHERE id % 14 = 1 OR id > 1000;
		ANALYZE numbers, some_numbers;
		SET simjoin.enable_join = off;
		CREATE TABLE pairs AS SELECT l.id AS a, r.id AS b, similarity(l.t, r.t) AS s, word_similarity(l.t, r.t) AS w, strict_word_similarity(l.t, r.t) AS sw FROM some_numbers l, numbers r;
		ANALYZE pairs});
	is($node->safe_psql('postgres', 'SELECT count(*), count(s), count(DISTINCT s) > 100 FROM pairs'), '75225|74148|t', 'pg_trgm: pairs');
	for my $kind ([ 's', 'similarity', '%', '<->', 'similarity_threshold' ], [ 'w', 'word_similarity', '<%', '<<->', 'word_similarity_threshold' ],
		[ 'sw', 'strict_word_similarity', '<<%', '<<<->', 'strict_word_similarity_threshold' ])
	{
		my ($column, $function, $operator, $distance, $setting) = @$kind;
		# Similarities that occur, and the float4 and float8 numbers beside them.
		my @seen = split(/\n/, $node->safe_psql('postgres', "SELECT DISTINCT $column FROM pairs WHERE $column > 0.4 AND $column < 1 ORDER BY 1"));
		@seen = @seen[ map { int($_ * $#seen / 2) } 0 .. 2 ];
		for my $seen (@seen)
		{
			my ($float, $above, $below) = (unpack('f', pack('f', $seen)), map { unpack('f', pack('L', unpack('L', pack('f', $seen)) + $_)) } (1, -1));
			my @bounds = ((map { sprintf("'%.9g'::float4", $_) } ($float, $above, $below)), (map { sprintf("'%.17g'::float8", $_) } ($float, ($float + $above) / 2, ($float + $below) / 2)));
			for my $bound (@bounds)
			{
				(my $quoted = $bound) =~ s/'/''/g;
				$node->safe_psql('postgres', "INSERT INTO scenarios SELECT 'pg_trgm: $function', c, joined('some_numbers', 'numbers', c), listed('pairs', e) FROM (VALUES
					('$function(l.t, r.t) >= $quoted', '$column >= $quoted'), ('$function(l.t, r.t) > $quoted', '$column > $quoted'),
					('l.t $distance r.t <= 1 - $quoted', '(1 - $column)::float4 <= 1 - $quoted')) v (c, e)");
			}
			$node->safe_psql('postgres', sprintf("SET pg_trgm.$setting = '%.17g'; INSERT INTO scenarios SELECT 'pg_trgm: $function', 'l.t $operator r.t', joined('some_numbers', 'numbers', 'l.t $operator r.t'),
				listed('pairs', '$column >= ''%.17g''::float8')", $_, $_)) for ($float, $above, $below);
		}
		scenarios_hold("pg_trgm: $function", 3 * 21);
	}
}

stop_unharmed($node);
done_testing();
