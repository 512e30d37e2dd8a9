# Joins by functions and operators of pg_trgm: the join operator gives the rows of a nested loop, takes only pg_trgm's own
# functions, and follows its settings.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('trigrams');
plan(skip_all => 'pg_trgm is not available')
  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'}) eq '0';
$node->safe_psql('postgres', 'CREATE SCHEMA tools; CREATE EXTENSION pg_trgm SCHEMA tools');

# Texts in families of similar ones: ASCII, accents, combining marks, Chinese, repeated words, long, empty, without words, NULL.
$node->safe_psql('postgres', q{
	SET search_path = public, tools;
	SELECT setseed(0.37);
	CREATE TABLE texts (id int PRIMARY KEY, grp int, t text);
	CREATE FUNCTION seed_text(i int) RETURNS text LANGUAGE sql AS $$
		SELECT CASE i % 9
			WHEN 0 THEN 'Matching Strings of Number ' || i
			WHEN 1 THEN 'Café Müller, Straße ' || i
			WHEN 2 THEN 'cafe' || chr(769) || ' noe' || chr(776) || 'l ' || i
			WHEN 3 THEN '相似的字符串连接 ' || i
			WHEN 4 THEN 'la la la la ' || repeat('la ', i % 5) || i
			WHEN 5 THEN repeat('long text about word ' || i || ' and ', 3)
			WHEN 6 THEN chr(97 + i % 7)
			WHEN 7 THEN substr(md5(i::text), 1, i % 13)
			ELSE 'x' || i END $$;
	-- One character of each copy is replaced, left out or doubled.
	CREATE FUNCTION changed(text, int, int) RETURNS text LANGUAGE sql AS $$
		SELECT CASE $3 WHEN 0 THEN $1 WHEN 1 THEN overlay($1 placing 'q' from $2 for 1) WHEN 2 THEN overlay($1 placing '' from $2 for 1)
			ELSE overlay($1 placing substr($1, $2, 1) || upper(substr($1, $2, 1)) from $2 for 1) END $$;
	INSERT INTO texts SELECT i, i % 4, changed(seed_text(i / 5), 1 + (random() * 12)::int, (random() * 3)::int) FROM generate_series(1, 140) i;
	INSERT INTO texts SELECT 140 + i, i, (ARRAY['', ' ', '?!', NULL, 'Ab', 'ab', E'a\tb', 'AB ab', repeat('z', 300), repeat('z', 299) || 'y'])[i]
	FROM generate_series(1, 10) i;
	ANALYZE texts;
	ALTER DATABASE postgres SET session_preload_libraries = 'simjoin';
});

# Returns the rows of a query without and with the operator, in order, and the plan with it. `before` is run first.
my $fixed = 'SET search_path = public, tools; SET enable_mergejoin = off; SET enable_hashjoin = off; SET client_min_messages = warning;';

sub both_ways
{
	my ($query, $before) = @_;
	my ($loop, $joined, $plan) = map {
		$node->safe_psql('postgres', "$fixed $before SET simjoin.enable_join = $_->[0]; $_->[1]")
	} (
		[ 'off', "SELECT * FROM ($query) q ORDER BY q::text" ],
		[ 'on', "SELECT * FROM ($query) q ORDER BY q::text" ],
		[ 'on', "EXPLAIN (COSTS OFF) $query" ]);
	return ($loop, $joined, $plan);
}

# Tests that the operator takes the query and gives the rows of the nested loop. Returns them.
sub same_rows
{
	my ($name, $query, $before) = @_;
	my ($loop, $joined, $plan) = both_ways($query, $before // '');
	like($plan, qr/SetSimilarityJoin/, "$name: taken");
	is($joined, $loop, "$name: the rows of the nested loop");
	return $loop;
}

# Tests that the operator does not take the query.
sub left_alone
{
	my ($name, $query, $before) = @_;
	my ($loop, $joined, $plan) = both_ways($query, $before // '');
	unlike($plan, qr/SetSimilarityJoin/, "$name: not taken");
	is($joined, $loop, "$name: the rows of the nested loop");
	return;
}

sub pairs_where
{
	my ($condition) = @_;
	return "SELECT a.id, b.id AS other FROM texts a JOIN texts b ON a.id <> b.id AND $condition";
}

# ---- Every form ----

my $most = 0;
for my $condition (
	'a.t % b.t', 'similarity(a.t, b.t) >= 0.6', 'similarity(a.t, b.t) > 0.5', '0.45 <= similarity(b.t, a.t)', '0.3::float4 < similarity(a.t, b.t)',
	'similarity(a.t, b.t)::float8 >= 0.25', 'a.t <-> b.t <= 0.4', 'a.t <-> b.t < 0.5::float4', '0.6 >= a.t <-> b.t', '1 - similarity(a.t, b.t) <= 0.35',
	'a.t <% b.t', 'a.t %> b.t', 'a.t <<% b.t', 'a.t %>> b.t', 'word_similarity(a.t, b.t) >= 0.7', 'strict_word_similarity(b.t, a.t) > 0.6',
	'a.t <<-> b.t <= 0.3', 'a.t <->> b.t < 0.3', 'a.t <<<-> b.t <= 0.3', 'a.t <->>> b.t <= 0.3', 'tools.similarity_op(a.t, b.t)',
	'a.t % b.t AND a.grp = b.grp', '(a.t % b.t OR a.t <% b.t)', '(similarity(a.t, b.t) + similarity(upper(a.t), b.t)) / 2 >= 0.6',
	'0.5 * similarity(a.t, b.t) + 0.5 * jaccard_similarity(shingles(a.t, 3), shingles(b.t, 3)) >= 0.7',
	'0.4::float4 * similarity(a.t, b.t) + 0.6::float4 * word_similarity(a.t, b.t) >= 0.8::float4')
{
	my $rows = same_rows($condition, pairs_where($condition));
	isnt($rows, '', "$condition: has rows");
}
for my $join ('LEFT JOIN', 'RIGHT JOIN')
{
	same_rows($join, "SELECT a.id, b.id AS other FROM texts a $join (SELECT * FROM texts WHERE grp > 1) b ON a.id <> b.id AND similarity(a.t, b.t) >= 0.5");
}
for my $exists ('EXISTS', 'NOT EXISTS')
{
	same_rows($exists, "SELECT id FROM texts a WHERE $exists (SELECT FROM texts b WHERE a.id <> b.id AND a.t <% b.t)",
		'SET pg_trgm.word_similarity_threshold = 0.8;');
}
like($node->safe_psql('postgres', "$fixed SELECT count(*) FROM texts a FULL JOIN texts b ON a.t % b.t"), qr/^\d+$/, 'a full join has a plan');
same_rows('a varchar column', 'SELECT a.id, b.id AS other FROM (SELECT id, t::varchar FROM texts) a JOIN texts b ON a.t % b.t');

# ---- Thresholds ----

# Similarities that occur, the doubles and floats beside them, and what is outside of their range.
my @seen = split(/\n/, $node->safe_psql('postgres', "$fixed SELECT DISTINCT similarity(a.t, b.t)::float8 FROM texts a, texts b
	WHERE similarity(a.t, b.t) > 0.2 ORDER BY 1 LIMIT 400"));
cmp_ok(scalar(@seen), '>', 40, 'many similarities occur');
for my $i (map { $_ * 9 } 0 .. 4)
{
	my $seen = $seen[$i];
	for my $bound ($seen, sprintf('%.17g', $seen * (1 + 1e-15)), sprintf('%.17g', $seen * (1 - 1e-15)), sprintf('%.9g', $seen + 3e-8), "$seen\::float4")
	{
		same_rows("threshold $bound", pairs_where("similarity(a.t, b.t) >= $bound"));
	}
	same_rows("distance to $seen", pairs_where("a.t <-> b.t <= 1 - $seen"));
	same_rows("% at $seen", pairs_where('a.t % b.t'), "SET pg_trgm.similarity_threshold = '$seen';");
}
# As parameters of a plan that is used again, which also follows the settings.
for my $bound ('0.5', '0', '-1', '1', '1.5', q('NaN'), q('Infinity'), q('-Infinity'), 'NULL')
{
	for my $condition ('similarity(a.t, b.t) >= $1', '$1 > similarity(a.t, b.t)', 'a.t <-> b.t <= $1', 'a.t <->> b.t < $1')
	{
		my @rows = map {
			$node->safe_psql('postgres', "$fixed SET simjoin.enable_join = $_; SET plan_cache_mode = force_generic_plan;
				PREPARE p(float8) AS SELECT count(*), sum(a.id * b.id) FROM texts a JOIN texts b ON a.id < b.id AND $condition; EXECUTE p(0.9); EXECUTE p($bound)")
		} ('off', 'on');
		is($rows[1], $rows[0], "$condition with $bound");
	}
}
my @counts = map {
	$node->safe_psql('postgres', "$fixed SET simjoin.enable_join = $_; SET plan_cache_mode = force_generic_plan;
		PREPARE p AS SELECT count(*) FROM texts a JOIN texts b ON a.t % b.t; EXECUTE p; SET pg_trgm.similarity_threshold = 0.9; EXECUTE p;
		SET pg_trgm.similarity_threshold = 0; EXECUTE p; SELECT set_limit(0.5); EXECUTE p")
} ('off', 'on');
is($counts[1], $counts[0], 'a plan follows the setting');
# A float4 as a numeric has six digits, which may be above it.
for my $condition ('similarity(a.t, b.t)::numeric::float8 >= $1', '(a.t <-> b.t)::numeric::float8 <= 1 - $1')
{
	my @rows = map {
		$node->safe_psql('postgres', "$fixed SET simjoin.enable_join = $_; SET plan_cache_mode = force_generic_plan; SET enable_nestloop = off;
			CREATE TEMP TABLE l AS SELECT 1 AS id, 'a b' AS t; CREATE TEMP TABLE r AS SELECT 2 AS id, 'a b c' AS t;
			PREPARE p(float8) AS SELECT a.id, b.id FROM l a JOIN r b ON $condition; EXECUTE p(0.666667)")
	} ('off', 'on');
	is($rows[1], '1|2', "$condition: the pair");
	is($rows[0], $rows[1], "$condition: and of the nested loop");
}
left_alone('every pair', pairs_where('similarity(a.t, b.t) >= 0'));
left_alone('an upper bound', pairs_where('similarity(a.t, b.t) <= 0.1'));
left_alone('a bound of each row', pairs_where('similarity(a.t, b.t) >= a.grp / 4.0::float8'));

# ---- An index on the sets of trigrams ----

$node->safe_psql('postgres', q{SET search_path = public, tools; CREATE TABLE found AS TABLE texts;
	SELECT create_similarity_index('found', 'trigram_set(show_trgm(t))', 0.4, 'jaccard'); ANALYZE found});
for my $case ([ "t % 'Matching Strings of Number 1'", '' ], [ "t % 'Matching Strings of Number 1'", 'SET pg_trgm.similarity_threshold = 0.5;' ],
	[ "similarity('Matching Strings of Number 1', t) > 0.5", '' ], [ "t <-> 'cafe noel 1' <= 0.5", '' ], [ "0.5 * similarity(t, 'x1') + 0.5 * similarity(t, 'X1') >= 0.9", '' ])
{
	my ($condition, $before) = @$case;
	my $start = "$fixed $before SET enable_seqscan = off;";  # the session has not loaded pg_trgm
	like($node->safe_psql('postgres', "$start EXPLAIN (COSTS OFF) SELECT id FROM found WHERE $condition"), qr/Bitmap Index Scan on found_similarity_idx/, "$condition $before: by the index");
	my @rows = map { $node->safe_psql('postgres', "$start SET enable_bitmapscan = $_; SELECT id FROM found WHERE $condition ORDER BY id") } ('on', 'off');
	is($rows[0], $rows[1], "$condition $before: the rows of the table");
	isnt($rows[0], '', "$condition $before: has rows");
}
$node->safe_psql('postgres', 'DROP TABLE found');

# ---- Whose functions ----

$node->safe_psql('postgres', q{
	CREATE SCHEMA mine;
	CREATE FUNCTION mine.similarity(text, text) RETURNS float4 LANGUAGE sql IMMUTABLE AS 'SELECT 1::float4';
	CREATE FUNCTION mine.similarity_op(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length($1) = length($2)';
	CREATE OPERATOR mine.% (PROCEDURE = mine.similarity_op, LEFTARG = text, RIGHTARG = text);
	CREATE FUNCTION mine.show_trgm(text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$SELECT '{}'::text[]$$;
	CREATE FUNCTION mine.trigram_set(text[]) RETURNS int4[] LANGUAGE sql IMMUTABLE AS $$SELECT '{}'::int4[]$$;
	CREATE FUNCTION mine.current_setting(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT '1'$$;
});
left_alone('a function of that name', pairs_where('mine.similarity(a.t, b.t) >= 0.5'));
left_alone('an operator of that name', pairs_where('a.t OPERATOR(mine.%) b.t'));
same_rows('functions of those names first in the path', pairs_where('a.t OPERATOR(tools.%) b.t'), 'SET search_path = mine, public, pg_catalog;');
for my $change (
	[ 'a setting of the function', 'ALTER FUNCTION tools.similarity_op(text, text) SET pg_trgm.similarity_threshold = 0.9',
		'ALTER FUNCTION tools.similarity_op(text, text) RESET ALL' ],
	[ 'show_trgm renamed', 'ALTER FUNCTION tools.show_trgm(text) RENAME TO trigrams', 'ALTER FUNCTION tools.trigrams(text) RENAME TO show_trgm' ],
	[ 'another show_trgm', 'ALTER FUNCTION tools.show_trgm(text) RENAME TO trigrams; ALTER FUNCTION mine.show_trgm(text) SET SCHEMA tools',
		'ALTER FUNCTION tools.show_trgm(text) SET SCHEMA mine; ALTER FUNCTION tools.trigrams(text) RENAME TO show_trgm' ])
{
	my ($name, $do, $undo) = @$change;
	$node->safe_psql('postgres', $do);
	left_alone($name, pairs_where('a.t % b.t'));
	$node->safe_psql('postgres', $undo);
	same_rows("$name, undone", pairs_where('a.t % b.t'));
}
$node->safe_psql('postgres', 'CREATE ROLE reader; GRANT USAGE ON SCHEMA tools TO reader; GRANT SELECT ON texts TO reader;
	REVOKE EXECUTE ON FUNCTION tools.show_trgm(text) FROM PUBLIC');
left_alone('show_trgm is not for everyone', pairs_where('a.t % b.t'), 'SET ROLE reader;');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION tools.show_trgm(text) TO PUBLIC');
same_rows('show_trgm is for everyone', pairs_where('a.t % b.t'), 'SET ROLE reader;');
$node->safe_psql('postgres', 'CREATE SCHEMA elsewhere; ALTER EXTENSION simjoin SET SCHEMA elsewhere; DROP FUNCTION mine.trigram_set(text[])');
same_rows('simjoin in another schema', pairs_where('a.t % b.t'));
$node->safe_psql('postgres', 'ALTER EXTENSION simjoin SET SCHEMA public; DROP EXTENSION pg_trgm');

# ---- Whether a session takes them ----

sub taken
{
	my ($before) = @_;
	my $row = $node->safe_psql('postgres', "$before SELECT taken, reason FROM public.pg_trgm_joins()");
	return (split(/\n/, $row))[-1];
}
is(taken(''), 'f|The extension pg_trgm is not in this database.', 'without pg_trgm');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_trgm');
is(taken(''), 't|', 'a session that preloads simjoin');
same_rows('pg_trgm made again', pairs_where('a.t % b.t'));
is(taken('SET simjoin.enable_join = off;'), 'f|simjoin.enable_join is off.', 'the operator is off');
like(taken('ALTER FUNCTION similarity(text, text) SET work_mem = 64; '), qr/^f\|A function of pg_trgm/, 'an altered function');
$node->safe_psql('postgres', 'ALTER FUNCTION similarity(text, text) RESET ALL; ALTER DATABASE postgres RESET session_preload_libraries');
like(taken(''), qr/^f\|simjoin was not loaded before this call\..*session_preload_libraries/, 'a session without simjoin');
is(taken(q{LOAD 'simjoin';}), 't|', 'a session that loads it');
is(taken('SELECT simjoin_version();'), 't|', 'a session that has used it');

# ---- Sets of trigrams ----

is($node->safe_psql('postgres', q{SELECT trigram_set(show_trgm('ab é')), trigram_set('{}'), trigram_set(NULL) IS NULL}),
	$node->safe_psql('postgres', q{SELECT ARRAY(SELECT CASE WHEN t LIKE '0x%' THEN ('x' || substr(t, 3))::bit(24)::int
		ELSE ascii(t) * 65536 + ascii(substr(t, 2)) * 256 + ascii(substr(t, 3)) END FROM unnest(show_trgm('ab é')) t), '{}'::int[], true}),
	'the bytes of trigrams');
for my $array (q({ab}), q({abcd}), q({0x00}), q({0x12345g}), q({""}), q({0xABCDEF12}))
{
	my ($status, $out, $error) = $node->psql('postgres', "SELECT trigram_set('$array')");
	like($error, qr/trigram_set: ".*" is no trigram\n.*HINT:  Pass the trigrams that show_trgm/s, "$array is refused");
}

# ---- Subqueries for each row ----

for my $order ('similarity(a.t, b.t) DESC', 'similarity(b.t, a.t) DESC NULLS LAST', 'a.t <-> b.t', 'b.t <-> a.t NULLS FIRST')
{
	same_subquery($node, $fixed, "order by $order, $_", 'NearestRows', "SELECT b.id, similarity(a.t, b.t), a.t <-> b.t FROM texts b WHERE $_ ORDER BY $order, b.id LIMIT 3")
	  for ('true', 'a.t % b.t', 'similarity(a.t, b.t) > 0.5::real', 'a.t <-> b.t <= 0.6', 'a.grp = b.grp AND a.id <> b.id');
}
same_subquery($node, $fixed, 'ties', 'NearestRows', 'SELECT b.id, a.t <-> b.t AS d FROM texts b ORDER BY d FETCH FIRST 4 ROWS WITH TIES');
same_subquery($node, $fixed, $_, 'SimilarRows', "SELECT b.id FROM texts b WHERE $_ ORDER BY b.grp, b.id LIMIT 3")
  for ('a.t % b.t', 'a.t <% b.t', 'word_similarity(a.t, b.t) >= 0.8', 'similarity(a.t, b.t) >= 0.4 AND a.grp <> b.grp', 'a.t <-> b.t < 0.5');

# ---- Workers ----

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET session_preload_libraries = 'simjoin';
	CREATE TABLE many AS SELECT i AS id, 'product ' || md5((i / 2)::text) || CASE WHEN i % 2 = 0 THEN '' ELSE ' b' END AS t FROM generate_series(1, 20000) i;
	ANALYZE many});
my $workers = 'SET search_path = public; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET pg_trgm.similarity_threshold = 0.7;';
my $query = 'SELECT count(*) FROM many a JOIN many b ON a.id < b.id AND a.t % b.t';
like($node->safe_psql('postgres', "$workers EXPLAIN (COSTS OFF) $query"), qr/SetSimilarityJoin.*Workers Planned.*RowBlocks/s, 'workers compute the sets');
is($node->safe_psql('postgres', "$workers $query"), '9999', 'workers: the pairs');

stop_unharmed($node);
done_testing();
