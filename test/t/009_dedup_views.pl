# Dedup views survive dumps and crashes, and graph functions can be stopped at any moment.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('dedup', 'fsync = on', @two_cpu_threads);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE texts (id bigint PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED,
		key uuid UNIQUE GENERATED ALWAYS AS (md5(id::text)::uuid) STORED);
	INSERT INTO texts (id, body)
	SELECT row_number() OVER (ORDER BY objoid, classoid, objsubid), description FROM pg_description;
	CREATE SCHEMA "Other schema";
	SELECT create_dedup_view('"Other schema".unique_texts', 'SELECT id, tokens FROM texts', 0.8, method => 'star');
	SELECT create_dedup_view('unique_words', 'SELECT id, string_to_array(body, '' '') FROM texts ORDER BY length(body), id', 0.8,
		keep => 'first_row', max_group_share => 1);
	SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM texts', 0.8, max_group_share => 1, track_changes => true);
	SELECT create_dedup_view('tracked_keys', 'SELECT key, tokens FROM texts', 0.8, max_group_share => 1, track_changes => true);
	SELECT create_dedup_view('tracked_weights', 'SELECT key, tokens, array_fill(0.5::real, ARRAY[cardinality(tokens)]) FROM texts', 0.8, 'weighted_jaccard', max_group_share => 1, track_changes => true);
	CREATE DOMAIN "Other schema".key AS text COLLATE "C" CHECK (VALUE ~ '^k');
	SELECT create_dedup_view('keyed', 'SELECT (''k'' || md5(id::text))::"Other schema".key, tokens FROM texts', 0.8, max_group_share => 1);
	CREATE TABLE verdicts (a bigint, b bigint, verdict text);
	INSERT INTO verdicts SELECT a, b, CASE n % 2 WHEN 0 THEN 'different' ELSE 'same' END FROM
		(SELECT a, b + n % 2 AS b, n FROM (SELECT a, b, row_number() OVER (ORDER BY a, b) AS n FROM tracked_pairs) p WHERE n % 5 = 0) p;
	SELECT create_dedup_view('judged', 'SELECT id, tokens FROM texts', 0.8, max_group_share => 1, track_changes => true, verdicts => 'TABLE verdicts');
	SELECT create_dedup_view('weighted', 'SELECT id, tokens, ARRAY(SELECT (3 + token % 3)::real FROM unnest(tokens) token) FROM texts', 0.8, 'weighted_cosine',
		max_group_share => 1);
});
my $contents = q{
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM "Other schema".unique_texts t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM unique_words t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM tracked t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM tracked_keys t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM tracked_weights t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM keyed t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM judged t;
	SELECT count(DISTINCT group_id), md5(string_agg(t::text, E'\n' ORDER BY id)) FROM weighted t;
	SELECT count(*) FROM unique_words_pairs;
};
my $refresh = q{SELECT new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('unique_words');
	SELECT new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('"Other schema".unique_texts');
	SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('tracked');
	SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('tracked_keys');
	SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('tracked_weights');
	SELECT new_rows, changed_rows, removed_rows, new_pairs, read_rows FROM refresh_dedup_view('judged');
	SELECT new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('keyed');
	SELECT new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('weighted')};
my $tracked_differences = q{SELECT (SELECT count(*) FROM tracked v FULL JOIN
	duplicate_groups('SELECT id, tokens FROM texts', 0.8, max_group_share => 1) d ON v.id = d.id
	WHERE v.group_id IS DISTINCT FROM d.group_id OR v.similarity IS DISTINCT FROM d.similarity
		OR v.is_representative IS DISTINCT FROM d.is_representative)
	+ (SELECT count(*) FROM tracked_keys v FULL JOIN
	duplicate_groups('SELECT key, tokens FROM texts', 0.8, key => NULL::uuid, max_group_share => 1) d ON v.id = d.id
	WHERE v.group_id IS DISTINCT FROM d.group_id OR v.similarity IS DISTINCT FROM d.similarity
		OR v.is_representative IS DISTINCT FROM d.is_representative)
	+ (SELECT count(*) FROM judged v FULL JOIN
	duplicate_groups('SELECT id, tokens FROM texts', 0.8, key => NULL::bigint, max_group_share => 1, verdicts => 'TABLE verdicts') d ON v.id = d.id
	WHERE v.group_id IS DISTINCT FROM d.group_id OR v.similarity IS DISTINCT FROM d.similarity
		OR v.is_representative IS DISTINCT FROM d.is_representative)};
my $parts = q{SELECT count(*) FROM pg_class WHERE relname ~ '_(source|rows|pairs|changes|order|entities|history|entity_ids|verdicts|judged)$'};
my $before = $node->safe_psql('postgres', $contents);
like($before, qr/\n[1-9]\d\d/, 'there are groups and pairs');

# A dump has everything: nothing is joined after a restore.
my $folder = $node->basedir;
SKIP: for my $format (qw(plain custom))
{
	skip 'pg_dump or pg_restore is missing', 1 unless has_programs('pg_dump', 'pg_restore');
	my $file = "$folder/dump.$format";
	my $database = "restored_$format";
	my ($printed, $warnings) =
	  run_command([ 'pg_dump', '--format', $format, '--file', $file, $node->connstr('postgres') ]);
	is($warnings, '', "$format: dump");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @restore = $format eq 'plain'
	  ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr($database), '-f', $file)
	  : ('pg_restore', '--exit-on-error', '--jobs=2', '--dbname', $node->connstr($database), $file);
	$node->command_ok(\@restore, "$format: restore");
	is($node->safe_psql($database, $contents), $before, "$format: the same groups and pairs");
	is($node->safe_psql($database, $refresh), "0|0|0|0\n0|0|0|0\n0|0|0|0|0\n0|0|0|0|0\n0|0|0|0|0\n0|0|0|0|0\n0|0|0|0\n0|0|0|0", "$format: nothing was joined anew");
	$node->safe_psql($database, 'DELETE FROM texts WHERE id = 1');
	is($node->safe_psql($database, $refresh), "0|0|1|0\n0|0|1|0\n0|0|1|0|0\n0|0|1|0|0\n0|0|1|0|0\n0|0|1|0|0\n0|0|1|0\n0|0|1|0", "$format: and it goes on");
	$node->safe_psql($database, q{DROP MATERIALIZED VIEW tracked, tracked_keys, tracked_weights, judged, unique_words, keyed, weighted, "Other schema".unique_texts});
	is($node->safe_psql($database, $parts), 0, "$format: the parts go with the views");
}

# A dump of views whose parts were not recorded as parts has everything too.
$node->safe_psql('postgres', 'CREATE DATABASE restored_first');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr('restored_first'),
		'-f', "$FindBin::RealBin/dedup_views.sql" ], 'restore of a dump of the first release');
is( $node->safe_psql(
		'restored_first', q{SELECT count(*) FROM doc_groups v FULL JOIN duplicate_groups('SELECT id, tokens FROM docs', 0.9) d USING (id)
		WHERE (v.group_id, v.is_representative, v.similarity) IS DISTINCT FROM (d.group_id, d.is_representative, d.similarity);
		SELECT count(*) FROM elsewhere.doc_stars v FULL JOIN
		duplicate_groups('SELECT id, tokens FROM docs ORDER BY rank', 0.5, method => 'star', keep => 'first_row') d USING (id)
		WHERE (v.group_id, v.is_representative, v.similarity) IS DISTINCT FROM (d.group_id, d.is_representative, d.similarity)}),
	"0\n0", 'gives the groups of a full rebuild');
$node->safe_psql('restored_first', q{INSERT INTO docs VALUES (14, 2, '{1,2,3}')});
is( $node->safe_psql(
		'restored_first', q{SELECT new_rows, new_pairs, read_rows < rows FROM refresh_dedup_view('doc_groups');
		SELECT new_rows, new_pairs, read_rows FROM refresh_dedup_view('elsewhere.doc_stars')}),
	"1|3|t\n1|6|14", 'and it goes on');
$node->safe_psql('restored_first', q{DROP MATERIALIZED VIEW doc_groups; SELECT drop_dedup_view('elsewhere.doc_stars')});
is($node->safe_psql('restored_first', $parts), 0, 'the parts go with the views');

# The parts of a view that was restored empty are not recorded either. The view can be dropped nevertheless.
SKIP:
{
	skip 'pg_dump is missing', 1 unless has_programs('pg_dump');
	$node->command_ok([ 'pg_dump', '--schema-only', '--file', "$folder/dump.schema", $node->connstr('postgres') ], 'dump of the schema');
	$node->safe_psql('postgres', 'CREATE DATABASE restored_schema');
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr('restored_schema'), '-f', "$folder/dump.schema" ],
		'restore of the schema');
	$node->safe_psql('restored_schema', q{INSERT INTO texts VALUES (1, 'a text'); SELECT drop_dedup_view('tracked'), drop_dedup_view('tracked_keys'), drop_dedup_view('tracked_weights'), drop_dedup_view('judged'), drop_dedup_view('unique_words'),
		drop_dedup_view('keyed'), drop_dedup_view('weighted'), drop_dedup_view('"Other schema".unique_texts')});
	is($node->safe_psql('restored_schema', $parts), 0, 'the parts of empty views are dropped with them');
}

# A restore of data alone disables the triggers and enables them again, as ordinary ones. The first refresh of a view
# makes them what they were, and reads all rows. Then changes are tracked.
$node->safe_psql('postgres', 'CREATE DATABASE restored_data');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr('restored_data'), '-f', "$folder/dump.schema" ],
	'restore of the schema for data');
$node->command_ok([ 'pg_restore', '--data-only', '--disable-triggers', '--exit-on-error', '--dbname', $node->connstr('restored_data'), "$folder/dump.custom" ],
	'restore of the data');
my $modes = q{SELECT string_agg(tgenabled::text, '' ORDER BY tgname COLLATE "C") FROM pg_trigger WHERE tgrelid = 'texts'::regclass AND NOT tgisinternal};
is($node->safe_psql('restored_data', $modes), 'OOOOOO', 'which leaves ordinary triggers');
is($node->safe_psql('restored_data', q{SELECT read_rows = rows FROM refresh_dedup_view('tracked')}), 't', 'the first refresh reads all rows');
is($node->safe_psql('restored_data', $modes), 'OORRAO', 'and mends the triggers');
$node->safe_psql('restored_data', q{SELECT refresh_dedup_view(v::regclass) FROM unnest('{tracked_keys,tracked_weights,judged}'::text[]) v});
is($node->safe_psql('restored_data', $tracked_differences), 0, 'the views have the groups of a full rebuild');
$node->safe_psql('restored_data', q{INSERT INTO texts (id, body) SELECT -id, body FROM texts WHERE id <= 3;
	SET session_replication_role = replica;
	DELETE FROM texts WHERE id = 7});
is( $node->safe_psql('restored_data', join(';', map { "SELECT new_rows, removed_rows, read_rows < rows FROM refresh_dedup_view('$_')" } qw(tracked tracked_keys tracked_weights judged))),
	"3|1|t\n3|1|t\n3|1|t\n3|1|t", 'and later refreshes read changes only');
is($node->safe_psql('restored_data', $tracked_differences), 0, 'which gives the groups of a full rebuild');

# A dump between a change and its refresh: the restored view is up to date, like any materialized view.
$node->safe_psql('postgres', q{INSERT INTO texts (id, body) SELECT 1000000 + id, body FROM texts WHERE id <= 10});
SKIP:
{
	skip 'pg_dump is missing', 1 unless has_programs('pg_dump');
	$node->command_ok([ 'pg_dump', '--file', "$folder/dump.pending", $node->connstr('postgres') ], 'dump with changes pending');
	$node->safe_psql('postgres', 'CREATE DATABASE restored_pending');
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr('restored_pending'), '-f', "$folder/dump.pending" ],
		'restore with changes pending');
	is($node->safe_psql('restored_pending', $tracked_differences), 0, 'the restored view has the groups of a full rebuild');
	is($node->safe_psql('restored_pending', q{SELECT new_rows, read_rows FROM refresh_dedup_view('tracked'); SELECT new_rows, read_rows FROM refresh_dedup_view('tracked_keys')}), "0|0\n0|0", 'and no changes are pending there');
}
$node->safe_psql('postgres', q{DELETE FROM texts WHERE id > 1000000});
is($node->safe_psql('postgres', join(';', map { "SELECT new_rows, removed_rows, read_rows FROM refresh_dedup_view('$_')" } qw(tracked tracked_keys judged))), "0|0|0\n0|0|0\n0|0|0",
	'rows that came and went between refreshes');

# A crash in the middle of a refresh keeps committed changes, and the next refresh is right.
$node->safe_psql('postgres', q{INSERT INTO texts (id, body) SELECT -id, body FROM texts WHERE id <= 100;
	UPDATE verdicts SET verdict = CASE verdict WHEN 'same' THEN 'different' ELSE 'same' END});
my ($stdout, $stderr) = ('', '');
my $victim = IPC::Run::start(
	[ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'BEGIN', '-c', q{SELECT * FROM refresh_dedup_view('unique_words')},
		'-c', q{SELECT * FROM refresh_dedup_view('tracked')}, '-c', q{SELECT * FROM refresh_dedup_view('judged')},
		'-c', q{SELECT * FROM refresh_dedup_view('tracked_keys')}, '-c', 'CHECKPOINT',
		'-c', 'SELECT pg_sleep(600)' ],
	'>', \$stdout, '2>', \$stderr);
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND wait_event = 'PgSleep'}),
	'a refresh has run and is not committed');
$node->stop('immediate');
$victim->finish;
$node->start;
is($node->safe_psql('postgres', $contents), $before, 'after the crash the views are as before');
like($node->safe_psql('postgres', q{SELECT new_rows FROM refresh_dedup_view('unique_words')}), qr/^100$/, 'the next refresh joins what is new');
like($node->safe_psql('postgres', q{SELECT new_rows, read_rows < rows FROM refresh_dedup_view('tracked');
	SELECT new_rows, read_rows < rows FROM refresh_dedup_view('tracked_keys');
	SELECT new_rows, read_rows < rows FROM refresh_dedup_view('judged')}), qr/^100\|t\n100\|t\n100\|t$/, 'from the changes, too');
is($node->safe_psql('postgres', $tracked_differences), 0, 'which gives the groups of a full rebuild');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM unique_words v FULL JOIN
		duplicate_groups('SELECT id, string_to_array(body, '' '') FROM texts ORDER BY length(body), id', 0.8,
			keep => 'first_row', max_group_share => 1) d ON v.id = d.id
		WHERE v.similarity IS DISTINCT FROM d.similarity OR v.is_representative IS DISTINCT FROM d.is_representative}),
	0, 'and gives the groups of a full rebuild');

# Interrupts while rows are read, while groups are computed, and while the result is returned.
$node->safe_psql(
	'postgres', q{
	SELECT setseed(0.42);
	CREATE TABLE edges AS SELECT (random() * 300000)::int AS a, (random() * random() * 300000)::int AS b FROM generate_series(1, 1000000);
	CREATE TABLE sets AS SELECT i AS id, ARRAY(SELECT (random() * 300)::int FROM generate_series(1, 20) WHERE i > 0) AS tokens
	FROM generate_series(1, 120000) i;
});
my %statements = (
	connected_components => q{SELECT count(*) FROM generate_series(1, 100) i, LATERAL connected_components('SELECT a, b FROM edges WHERE a <> ' || i)},
	pagerank => q{SELECT count(*) FROM generate_series(1, 100) i, LATERAL pagerank('SELECT a, b FROM edges', 0.99 + i / 20000.0)},
	random_walk => q{SELECT count(*) FROM pagerank('SELECT a, b FROM edges', method => 'random_walk', coupons => 100000)},
	densest_subgraph => q{SELECT count(*) FROM generate_series(1, 100) i, LATERAL densest_subgraph('SELECT a, b FROM edges WHERE a <> ' || i, 5000)},
	duplicate_groups => q{SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM sets', 0.1)},
	create_dedup_view => q{SELECT create_dedup_view('long', 'SELECT id, tokens FROM sets', 0.1)},
	create_dedup_view_of_keys => q{SELECT create_dedup_view('long', 'SELECT md5(id::text) || i, tokens FROM sets, generate_series(1, 20) i', 0.9)},
	create_dedup_view_of_weights => q{SELECT create_dedup_view('long', 'SELECT id, tokens, array_fill(0.5::real, ARRAY[20]) FROM sets', 0.1, 'weighted_jaccard')});
my $session = $node->background_psql('postgres', on_error_stop => 0);
takes_little_time_to_cancel($session, $_, $statements{$_}, 0.1, 1, 2.5) for sort keys %statements;
$session->quit;
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname LIKE 'long%'}), 0, 'nothing is left of a view');

stop_unharmed($node);
done_testing();
