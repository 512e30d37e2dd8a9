# Joins by levenshtein of fuzzystrmatch: the join operator gives the rows and the errors of a nested loop, and takes only fuzzystrmatch's own
# functions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('edits');
plan(skip_all => 'fuzzystrmatch is not available')
  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'fuzzystrmatch'}) eq '0';
$node->safe_psql('postgres', 'CREATE SCHEMA tools; CREATE EXTENSION fuzzystrmatch SCHEMA tools');

# Texts in families within a few edits of each other: ASCII, accents, combining marks, Chinese, repeated letters, of 0 to 255 characters, NULL.
$node->safe_psql('postgres', q{
	SELECT setseed(0.73);
	CREATE TABLE texts (id int PRIMARY KEY, grp int, t text);
	CREATE FUNCTION seed_text(i int) RETURNS text LANGUAGE sql AS $$
		SELECT CASE i % 8
			WHEN 0 THEN 'Anna Schmidt ' || i
			WHEN 1 THEN 'Müller, Straße ' || i
			WHEN 2 THEN 'cafe' || chr(769) || ' noe' || chr(776) || 'l ' || i
			WHEN 3 THEN '相似的字符串连接 ' || i
			WHEN 4 THEN repeat('la', i % 13) || i
			WHEN 5 THEN repeat('long text of number ' || i || ' and ', 1 + i % 8)
			WHEN 6 THEN substr(md5(i::text), 1, i % 9)
			ELSE 'x' || i END $$;
	-- Characters are replaced, left out or put in.
	CREATE FUNCTION changed(text, int, int) RETURNS text LANGUAGE sql AS $$
		SELECT CASE $3 WHEN 0 THEN $1 WHEN 1 THEN overlay($1 placing 'q' from $2 for 1) WHEN 2 THEN overlay($1 placing '' from $2 for 1)
			ELSE overlay($1 placing 'é' || substr($1, $2, 1) from $2 for 1) END $$;
	INSERT INTO texts
	SELECT i, i % 4, changed(changed(seed_text(i / 6), 1 + (random() * 12)::int, (random() * 3)::int), 1 + (random() * 30)::int, (random() * 3)::int)
	FROM generate_series(1, 240) i;
	INSERT INTO texts SELECT 240 + i, i, (ARRAY['', '', 'a', NULL, 'Ab', 'ab', 'b', repeat('z', 255), repeat('z', 254) || 'y', repeat('z', 250)])[i]
	FROM generate_series(1, 10) i;
	ANALYZE texts;
	ALTER DATABASE postgres SET session_preload_libraries = 'simjoin'});

my $fixed = 'SET search_path = public, tools; SET enable_mergejoin = off; SET enable_hashjoin = off; SET client_min_messages = warning;';

# Returns the rows of a query, in order, or its error, without and with the operator, and the plan with it. `before` is run first.
sub both_ways
{
	my ($query, $before) = @_;
	my @results;
	for my $run ([ 'off', 'on', "SELECT * FROM ($query) q ORDER BY q::text" ], [ 'on', 'off', "SELECT * FROM ($query) q ORDER BY q::text" ],
		[ 'on', 'off', "EXPLAIN (COSTS OFF) $query" ])
	{
		my ($status, $out, $error) =
		  $node->psql('postgres', "$fixed SET simjoin.enable_join = $run->[0]; SET enable_nestloop = $run->[1]; $before $run->[2]");
		push(@results, $error =~ /(ERROR:.*)/ ? $1 : $out);
	}
	return @results;
}

# Tests that the operator takes the query and gives what the nested loop gives. Returns that.
sub same_rows
{
	my ($name, $query, $before) = @_;
	my ($loop, $joined, $plan) = both_ways($query, $before // '');
	like($plan, qr/SetSimilarityJoin/, "$name: taken");
	is($joined, $loop, "$name: as the nested loop");
	return $loop;
}

# Tests that the operator does not take the query.
sub left_alone
{
	my ($name, $query, $before) = @_;
	my ($loop, $joined, $plan) = both_ways($query, $before // '');
	unlike($plan, qr/SetSimilarityJoin/, "$name: not taken");
	is($joined, $loop, "$name: as the nested loop");
	return;
}

sub pairs_where
{
	my ($condition) = @_;
	return "SELECT a.id, b.id AS other FROM texts a JOIN texts b ON a.id <> b.id AND $condition";
}

# ---- Every form ----

for my $k (0 .. 6, 11, 16)
{
	my @conditions = ("levenshtein(a.t, b.t) <= $k", "levenshtein_less_equal(a.t, b.t, $k) <= $k");
	push(@conditions, "levenshtein(a.t, b.t) < $k", "$k > levenshtein(b.t, a.t)", "levenshtein_less_equal(a.t, b.t, 20) <= $k",
		"levenshtein_less_equal(a.t, b.t, -1) <= $k", "levenshtein(a.t, b.t)::float8 <= $k.5", "levenshtein(a.t, b.t) <= $k AND a.grp = b.grp",
		"levenshtein(a.t, b.t, 1, 1, 1) <= $k", "levenshtein(a.t, b.t, 2, 2, 3) <= $k", "levenshtein(a.t, b.t, 1, 4, 2) <= $k",
		"levenshtein_less_equal(a.t, b.t, 2, 1, 1, $k) <= $k", "(levenshtein(a.t, b.t) < $k OR levenshtein(lower(a.t), lower(b.t)) <= 1)",
		"edit_distance(a.t, b.t) <= $k") if $k =~ /^[125]$/;
	for my $condition (@conditions)
	{
		my $rows = same_rows($condition, pairs_where($condition));
		isnt($rows, '', "$condition: has rows") unless $condition =~ / 0$/;
	}
}
# Shares of the length of the longer text.
for my $condition ('1 - levenshtein(a.t, b.t)::float8 / greatest(length(a.t), length(b.t), 1) >= 0.8', 'levenshtein(b.t, a.t) * 1.0 / nullif(greatest(length(a.t), length(b.t)), 0) < 0.25',
	'1 - edit_distance(a.t, b.t)::float8 / greatest(length(a.t), length(b.t), 1) >= 0.9 AND a.grp = b.grp')
{
	isnt(same_rows($condition, pairs_where($condition)), '', "$condition: has rows");
}
left_alone('a share with costs', pairs_where('levenshtein(a.t, b.t, 1, 1, 1)::float8 / greatest(length(a.t), length(b.t), 1) <= 0.1'));
like(same_rows('two empty texts', pairs_where('1 - levenshtein(a.t, b.t)::float8 / greatest(length(a.t), length(b.t)) >= 0.8')), qr/division by zero/, 'two empty texts are an error');
# A cast to float4 and numeric keeps six digits of a distance.
my $lengthened = q{(VALUES (1, repeat('abcdefghij', 4)), (2, repeat('abcdefghij', 4) || '12345678901234567')) };
my $costs = sub { return "SELECT a.id, b.id AS other FROM $lengthened a (id, t) JOIN $lengthened b (id, t) ON a.id <> b.id
	AND levenshtein(a.t, b.t, $_[0], $_[0], $_[0])::float4::numeric <= $_[1]" };
same_rows('a distance of six digits', $costs->(58823, 999990));
left_alone('a distance of seven digits', $costs->(59999, 1019980));
for my $join ('LEFT JOIN', 'RIGHT JOIN')
{
	same_rows($join, "SELECT a.id, b.id AS other FROM texts a $join (SELECT * FROM texts WHERE grp > 1) b ON a.id <> b.id AND levenshtein(a.t, b.t) <= 2");
}
for my $exists ('EXISTS', 'NOT EXISTS')
{
	same_rows($exists, "SELECT id FROM texts a WHERE $exists (SELECT FROM texts b WHERE a.id <> b.id AND levenshtein(a.t, b.t) <= 1)");
}
like($node->safe_psql('postgres', "$fixed SELECT count(*) FROM texts a FULL JOIN texts b ON levenshtein(a.t, b.t) <= 1"), qr/^\d+$/, 'a full join has a plan');
for my $condition (
	'levenshtein(a.t, b.t) <= 17', 'levenshtein(a.t, b.t) >= 3', 'levenshtein(a.t, b.t) <= a.grp', 'levenshtein_less_equal(a.t, b.t, 2) <= 3',
	'levenshtein(a.t, b.t, 0, 1, 1) <= 2', 'levenshtein(a.t, b.t, 1, -1, 1) <= 2', 'levenshtein(a.t, b.t, 1, 1, b.grp) <= 2',
	'levenshtein(a.t, b.t, 1, 1, 1000001) <= 2', "levenshtein(a.t, b.t) <= 'NaN'::float8")
{
	left_alone($condition, pairs_where($condition));
}
# A plan for all parameters. Without a largest distance that is known to be no less, levenshtein_less_equal may return anything above it.
for my $k (2, 0, -1, 300, 'NULL')
{
	for my $condition ('levenshtein(a.t, b.t) <= $1', '$1 > levenshtein(a.t, b.t)', 'levenshtein_less_equal(a.t, b.t, $1) <= $1',
		'levenshtein_less_equal(a.t, b.t, 3) <= $1')
	{
		my @rows = map {
			$node->safe_psql('postgres', "$fixed SET simjoin.enable_join = $_; SET plan_cache_mode = force_generic_plan;
				PREPARE p(int) AS SELECT count(*), sum(a.id * b.id) FROM texts a JOIN texts b ON a.id < b.id AND $condition; EXECUTE p(1); EXECUTE p($k)")
		} ('off', 'on');
		is($rows[1], $rows[0], "$condition with $k");
	}
}

# ---- Random pairs of tables ----

for my $round (1 .. 12)
{
	my $k = 1 + $round % 4;
	my $longest = (5, 14, 40, 120)[ int(($round - 1) / 3) ];
	my $setup = "SET search_path = public, tools; SELECT setseed(0.0$round);
		CREATE TEMP TABLE l AS SELECT i AS id, i % 3 AS grp, CASE WHEN i % 17 = 0 THEN NULL
			ELSE (SELECT string_agg(substr('abé的', 1 + (random() * 3)::int, 1), '') FROM generate_series(1, (random() * $longest)::int + i * 0)) END AS t
		FROM generate_series(1, 60) i;
		CREATE TEMP TABLE r AS SELECT id, (random() * 2)::int AS grp, changed(changed(t, (random() * $longest)::int + 1, (random() * 3)::int), 2, (random() * 3)::int) AS t FROM l;
		ANALYZE l; ANALYZE r;";
	for my $condition ("levenshtein(l.t, r.t) <= $k", "edit_distance(l.t, r.t, 9) < $k AND l.grp = r.grp")
	{
		same_rows("round $round: $condition", "SELECT l.id, r.id AS other FROM l LEFT JOIN r ON $condition", $setup);
		same_rows("round $round: $condition, without", "SELECT id FROM r WHERE NOT EXISTS (SELECT FROM l WHERE $condition)", $setup);
	}
}

# ---- Texts that levenshtein refuses ----

my $too_long = q{ERROR:  levenshtein argument exceeds maximum length of 255 characters};
for my $side ('l', 'r')
{
	my $setup = "SET search_path = public, tools; CREATE TEMP TABLE l AS SELECT i AS id, 'text ' || i AS t FROM generate_series(1, 30) i;
		CREATE TEMP TABLE r AS TABLE l; INSERT INTO $side VALUES (31, repeat('long ', 60)); ANALYZE l; ANALYZE r;";
	is(same_rows("$side", 'SELECT l.id, r.id AS other FROM l JOIN r ON levenshtein(l.t, r.t) <= 1', $setup), $too_long, "$side is refused");
	is(same_rows("$side, less", 'SELECT l.id, r.id AS other FROM l JOIN r ON levenshtein_less_equal(l.t, r.t, 1) <= 1', $setup), $too_long,
		"$side is refused by levenshtein_less_equal");
	my $share = 'levenshtein(l.t, r.t)::float8 / greatest(length(l.t), length(r.t)) <= 0.1';
	is(same_rows("$side, share", "SELECT l.id, r.id AS other FROM l JOIN r ON $share", $setup), $too_long, "$side is refused in a share");
	isnt(same_rows("$side, share and others", "SELECT l.id, r.id AS other FROM l JOIN r ON l.id + r.id < 31 AND $share", $setup), $too_long,
		"$side does not meet the other condition beside a share");
	isnt(same_rows("$side, others", 'SELECT l.id, r.id AS other FROM l JOIN r ON l.id + r.id < 31 AND levenshtein(l.t, r.t) <= 1', $setup), $too_long,
		"$side does not meet the other condition");
	isnt(same_rows("$side, keys", 'SELECT l.id, r.id AS other FROM l JOIN r ON levenshtein(l.t, r.t) <= 1 AND l.id = r.id', $setup), $too_long,
		"$side has no partner with its key");
	isnt(same_rows("$side, edit_distance", 'SELECT l.id, r.id AS other FROM l JOIN r ON edit_distance(l.t, r.t) <= 1', $setup), $too_long,
		"edit_distance takes $side");
	same_rows("$side, NULL", 'SELECT l.id, r.id AS other FROM l JOIN (SELECT id, CASE WHEN id > 30 THEN t END AS t FROM r) r ON levenshtein(l.t, r.t) <= 1', $setup);
	same_rows("$side, empty", q{SELECT l.id, r.id AS other FROM (SELECT id, CASE WHEN id > 30 THEN t ELSE '' END AS t FROM l) l
		JOIN (SELECT id, CASE WHEN id > 30 THEN t ELSE '' END AS t FROM r) r ON levenshtein(l.t, r.t) <= 1}, $setup);
	same_rows("$side, $_", "SELECT id FROM l WHERE $_ (SELECT FROM r WHERE levenshtein(l.t, r.t) <= 1)", $setup) for ('EXISTS', 'NOT EXISTS');
}
is(same_rows('both', 'SELECT l.id, r.id AS other FROM l JOIN r ON levenshtein(l.t, r.t) <= 1',
	"SET search_path = public, tools; CREATE TEMP TABLE l AS SELECT 1 AS id, repeat('x', 256) AS t; CREATE TEMP TABLE r AS TABLE l;"), $too_long, 'both are refused');

# ---- An index on keys ----

$node->safe_psql('postgres', q{CREATE TABLE found AS TABLE texts; SELECT create_similarity_index('found', 'edit_keys(t, 2)', 1, 'overlap'); ANALYZE found; CREATE ROLE finder;
	GRANT USAGE ON SCHEMA tools TO finder; GRANT SELECT ON found TO finder});

# Returns how a condition on the indexed table is answered, and its rows by the index, if that is taken, and by reading the table.
sub found_by
{
	my ($condition, $before) = @_;
	my $start = "$fixed SET enable_seqscan = off; " . ($before // '');
	my $plan = $node->safe_psql('postgres', "$start EXPLAIN (COSTS OFF) SELECT id FROM found WHERE $condition");
	my @rows = map { $node->safe_psql('postgres', "$start SET enable_bitmapscan = $_; SELECT id FROM found WHERE $condition ORDER BY id") } ('on', 'off');
	return ($plan =~ /Bitmap Index Scan/ ? 'index' : 'table', @rows);
}
$node->safe_psql('postgres', 'DELETE FROM found WHERE length(t) > 255');
for my $condition ("levenshtein(t, 'Anna Schmidt 0') <= 2", "1 >= levenshtein('Anna Schmidt 8', t)", "levenshtein_less_equal(t, 'Anna Schmidt 16', 2) <= 2", "levenshtein(t, 'x7') = 1", "levenshtein(t, 'x7', 2, 1, 3) <= 2")
{
	my ($way, $rows, $all) = found_by($condition);
	is($way, 'index', "$condition: by the index");
	is($rows, $all, "$condition: the rows of the table");
	isnt($rows, '', "$condition: has rows");
}
is((found_by("levenshtein(t, 'x1') <= 3"))[0], 'table', 'more edits than the keys are for');
is((found_by("levenshtein(t, 'x1', 1, 1, 0) <= 1"))[0], 'table', 'unusual costs');
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION edit_keys(text, int) FROM PUBLIC');
is((found_by("levenshtein(t, 'x1') <= 1", 'SET ROLE finder;'))[0], 'table', 'edit_keys is not for everyone');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION edit_keys(text, int) TO PUBLIC');
is((found_by("levenshtein(t, 'x1') <= 1", 'SET ROLE finder;'))[0], 'index', 'edit_keys is for everyone');
# A text that levenshtein refuses is an error where it is compared. The index does not find it.
$node->safe_psql('postgres', q{INSERT INTO found VALUES (1000, 1, repeat('long ', 60))});
like($node->safe_psql('postgres', "$fixed SET enable_seqscan = off; SELECT count(*) FROM found WHERE levenshtein(t, 'x1') <= 1"), qr/^\d+$/, 'a long text is not compared');
my ($failed, $unused, $refused) = $node->psql('postgres', "$fixed SET enable_bitmapscan = off; SELECT count(*) FROM found WHERE levenshtein(t, 'x1') <= 1");
like($refused, qr/exceeds maximum length/, 'a long text is refused where it is compared');

# ---- Whose functions ----

$node->safe_psql('postgres', q{
	CREATE SCHEMA mine;
	CREATE FUNCTION mine.levenshtein(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT length($1) - length($2)';
	CREATE FUNCTION mine.levenshtein_keys(text, int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$SELECT '{}'::int[]$$;
	CREATE FUNCTION mine.edit_keys(text, int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$SELECT '{}'::int[]$$;
	CREATE FUNCTION mine.overlap_count(int[], int[]) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0';
	CREATE FUNCTION mine.edit_distance(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0'});
left_alone('a function of that name', pairs_where('mine.levenshtein(a.t, b.t) <= 1'));
left_alone('another edit_distance', pairs_where('mine.edit_distance(a.t, b.t) <= 1'));
same_rows('functions of those names first in the path', pairs_where('tools.levenshtein(a.t, b.t) <= 1'), 'SET search_path = mine, public, pg_catalog;');
for my $change (
	[ 'a setting of the function', 'ALTER FUNCTION tools.levenshtein(text, text) SET work_mem = 64', 'ALTER FUNCTION tools.levenshtein(text, text) RESET ALL' ],
	[ 'SECURITY DEFINER', 'ALTER FUNCTION tools.levenshtein(text, text) SECURITY DEFINER', 'ALTER FUNCTION tools.levenshtein(text, text) SECURITY INVOKER' ],
	[ 'levenshtein_keys renamed', 'ALTER FUNCTION levenshtein_keys(text, int) RENAME TO other_keys', 'ALTER FUNCTION other_keys(text, int) RENAME TO levenshtein_keys' ],
	[ 'another levenshtein_keys', 'ALTER FUNCTION levenshtein_keys(text, int) RENAME TO other_keys; ALTER FUNCTION mine.levenshtein_keys(text, int) SET SCHEMA public',
		'ALTER FUNCTION levenshtein_keys(text, int) SET SCHEMA mine; ALTER FUNCTION other_keys(text, int) RENAME TO levenshtein_keys' ])
{
	my ($name, $do, $undo) = @$change;
	$node->safe_psql('postgres', $do);
	left_alone($name, pairs_where('levenshtein(a.t, b.t) <= 1'));
	$node->safe_psql('postgres', $undo);
	same_rows("$name, undone", pairs_where('levenshtein(a.t, b.t) <= 1'));
}
$node->safe_psql('postgres', 'CREATE ROLE reader; GRANT USAGE ON SCHEMA tools TO reader; GRANT SELECT ON texts TO reader;
	REVOKE EXECUTE ON FUNCTION levenshtein_keys(text, int) FROM PUBLIC');
left_alone('levenshtein_keys is not for everyone', pairs_where('levenshtein(a.t, b.t) <= 1'), 'SET ROLE reader;');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION levenshtein_keys(text, int) TO PUBLIC');
same_rows('levenshtein_keys is for everyone', pairs_where('levenshtein(a.t, b.t) <= 1'), 'SET ROLE reader;');
$node->safe_psql('postgres', 'CREATE SCHEMA elsewhere; ALTER EXTENSION simjoin SET SCHEMA elsewhere');
same_rows('simjoin in another schema', pairs_where('levenshtein(a.t, b.t) <= 1'));
$node->safe_psql('postgres', 'ALTER EXTENSION simjoin SET SCHEMA public; DROP EXTENSION fuzzystrmatch');

# ---- Whether a session takes them ----

sub taken
{
	my ($before) = @_;
	my $row = $node->safe_psql('postgres', "$before SELECT taken, reason FROM public.fuzzystrmatch_joins()");
	return (split(/\n/, $row))[-1];
}
is(taken(''), 'f|The extension fuzzystrmatch is not in this database.', 'without fuzzystrmatch');
$node->safe_psql('postgres', 'CREATE EXTENSION fuzzystrmatch');
is(taken(''), 't|', 'a session that preloads simjoin');
same_rows('fuzzystrmatch made again', pairs_where('levenshtein(a.t, b.t) <= 1'));
is(taken('SET simjoin.enable_join = off;'), 'f|simjoin.enable_join is off.', 'the operator is off');
like(taken('ALTER FUNCTION levenshtein(text, text) SET work_mem = 64; '), qr/^f\|A function of fuzzystrmatch/, 'an altered function');
$node->safe_psql('postgres', 'ALTER FUNCTION levenshtein(text, text) RESET ALL; ALTER DATABASE postgres RESET session_preload_libraries');
like(taken(''), qr/^f\|simjoin was not loaded before this call\..*session_preload_libraries/, 'a session without simjoin');
# Joins by edit_distance need no preloading.
like($node->safe_psql('postgres', 'SET enable_nestloop = off; EXPLAIN SELECT FROM texts a JOIN texts b ON edit_distance(a.t, b.t) <= 1'),
	qr/SetSimilarityJoin/, 'edit_distance loads simjoin');

# ---- Subqueries for each row ----

my $edits = 'SELECT b.id, levenshtein(a.t, b.t) AS edits FROM texts b WHERE';
my %orders = (SimilarRows => 'b.id % 5, b.id LIMIT 2', NearestRows => 'edits, b.id LIMIT 2');
foreach my $scan (sort keys %orders)
{
	my $subquery = sub { "$edits $_[0] ORDER BY $orders{$scan}" };
	same_subquery($node, $fixed, "$scan: $_", $scan, $subquery->($_))
	  for ('levenshtein(a.t, b.t) <= 2', 'levenshtein(a.t, b.t) <= 3 AND a.grp = b.grp', 'levenshtein_less_equal(a.t, b.t, 2) <= 2 AND a.id <> b.id',
		'levenshtein(a.t, b.t) <= -1', '1 - levenshtein(a.t, b.t)::float8 / nullif(greatest(length(a.t), length(b.t)), 0) >= 0.7');
	# Texts that are too long raise the error where they are compared.
	$node->safe_psql('postgres', q{INSERT INTO texts VALUES (1000, 1000, repeat('x', 300))});
	like(same_subquery($node, $fixed, "$scan: a long text", $scan, $subquery->('levenshtein(a.t, b.t) <= 2')), qr/^ERROR.*255/, 'its error');
	unlike(same_subquery($node, $fixed, "$scan: no long text", $scan, $subquery->('a.grp < 1000 AND b.grp < 1000 AND levenshtein(a.t, b.t) <= 2')), qr/ERROR/, 'no error');
	$node->safe_psql('postgres', 'DELETE FROM texts WHERE id = 1000');
}

# ---- Workers ----

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET session_preload_libraries = 'simjoin';
	CREATE TABLE many AS SELECT i AS id, md5((i / 2)::text) || CASE WHEN i % 2 = 0 THEN '' ELSE 'b' END AS t FROM generate_series(1, 20000) i;
	ANALYZE many});
my $workers = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
my $query = 'SELECT count(*) FROM many a JOIN many b ON a.id < b.id AND levenshtein(a.t, b.t) <= 2';
like($node->safe_psql('postgres', "$workers EXPLAIN (COSTS OFF) $query"), qr/SetSimilarityJoin.*Workers Planned.*RowBlocks/s, 'workers compute the keys');
is($node->safe_psql('postgres', "$workers $query"), '9999', 'workers: the pairs');

stop_unharmed($node);
done_testing();
