# A server that preloads simjoin shows the joins and other computations that run, and counts what has run.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(sleep);

my $without = start_node('without');
for my $query ('SELECT * FROM simjoin_stat_activity', 'SELECT * FROM simjoin_stat()', 'SELECT simjoin_stat_reset()')
{
	my ($status, $out, $error) = $without->psql('postgres', $query);
	like($error, qr/simjoin does not watch the computations of this server\nHINT:  Add simjoin to shared_preload_libraries/, $query);
}
$without->stop;

my $node = start_node('preloaded', 'shared_preload_libraries = simjoin', 'restart_after_crash = on', @two_cpu_threads);
sub query { return $node->safe_psql('postgres', @_) }
my $activity = 'SELECT count(*) FROM simjoin_stat_activity';
# The totals of a computation; nothing before its first end.
sub totals
{
	return query(qq{SELECT calls, rows_read, gpu_calls, gpu_fallbacks, pairs, spilled_calls, temporary_bytes > 0 FROM simjoin_stat()
		WHERE computation = '$_[0]' AND total_time > 0 AND stats_reset < now()});
}
fill_sets($node, 100000, 60, 400);
query(q{CREATE TABLE few AS SELECT id, ARRAY[id / 2 + 10, 1, 2] AS tokens FROM generate_series(0, 99) id; CREATE ROLE looker});
is(query($activity), 0, 'no join runs');
is(query('SELECT count(*) FROM simjoin_stat()'), 0, 'nothing has run');

# What ends is counted.
my $pairs = 'SELECT count(*) FROM few a JOIN few b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9';
is(query($pairs), 50, 'a join');
is(totals('similarity join'), '1|100|0|0|50|0|f', 'a join that reads its rows once');
query(q{SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM few', 0.9)});
is(totals('duplicate_groups'), '1|100|0|0|50|0|f', 'groups');
query("SET enable_nestloop = off; SET simjoin.method = minhash; $pairs");
like(totals('similarity join'), qr/^2\|200\|0\|0\|\d\d+\|0\|f$/, 'a join by bands');
query("$pairs AND a.id < 0");
my $of_joins = q{FROM simjoin_stat() WHERE computation = 'similarity join'};
my $before = query("SELECT calls $of_joins");
query("SET simjoin.memory_limit = '1MB'; SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.95");
is(query("SELECT calls - $before, spilled_calls, temporary_bytes > 1000000 $of_joins"), '1|1|t', 'a join that spills');

# The phases of a join, one message each, and none for whoever does not ask.
sub phases
{
	my (undef, undef, $messages) = $node->psql('postgres', "SET enable_nestloop = off; $_[0]");
	return join(' ', $messages =~ /DEBUG:  similarity join, ([a-z-]+): \d+\.\d{3} ms, \d+ bytes of (?:rows|engine memory)$/mg);
}
my $some = 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND a.id < 3000 AND b.id < 3000 AND jaccard_similarity(a.tokens, b.tokens) >= 0.5';
is(phases("SET client_min_messages = debug2; $some"), 'input order build filter verify hand-over', 'the phases of a join');
is(phases("SET client_min_messages = debug1; $some"), '', 'no phases at debug1');
is(phases('SET client_min_messages = debug2; SELECT FROM few a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id < 2'),
	'input build', 'the phases of a join with a side that streams');

# A join with a small side, whether it streams past that side or turns out not to be small.
sub counted
{
	my ($calls, $rows_read) = split(/\|/, query("SELECT calls, rows_read $of_joins"));
	query("SET enable_nestloop = off; $_[0]");
	return query("SELECT calls - $calls, rows_read - $rows_read $of_joins");
}
my $on = 'ON jaccard_similarity(a.tokens, b.tokens) >= 0.9';
is(counted("SELECT FROM few a JOIN sets b $on AND a.id < 2"), '1|100002', 'a side that streams');
query(q{CREATE FUNCTION some_sets() RETURNS SETOF sets LANGUAGE plpgsql STABLE ROWS 1
	AS 'BEGIN RETURN QUERY SELECT * FROM sets WHERE id <= 20000; END'});
is(counted("SELECT FROM few a JOIN some_sets() b $on"), '1|20100', 'a side with more rows than expected');

# What runs is shown: to its role, and to those who may read all statistics.
my $long_join = 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.3';
for my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	my ($stdout, $stderr) = ('', '');
	my $victim = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $long_join ], '>', \$stdout, '2>', \$stderr);
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM simjoin_stat_activity WHERE phase = 'joining' AND device = 'cpu'}),
		'the join is seen');
	is( query(q{SELECT rows_read, temporary_bytes, memory_peak > 1000000, usename, datname,
			started BETWEEN now() - interval '10 min' AND now(), pid <> pg_backend_pid(), computation FROM simjoin_stat_activity}),
		'100000|0|t|' . query('SELECT current_user') . '|postgres|t|t|similarity join', 'what is shown of it');
	ok($node->poll_query_until('postgres', 'SELECT part_done > 0 AND part_done <= 1 FROM simjoin_stat_activity'), 'how far it is');
	ok( $node->poll_query_until('postgres', q{SELECT wait_event_type = 'Extension' FROM simjoin_stat_activity JOIN pg_stat_activity USING (pid)}),
		'the session waits for its engine');
	my $shown = 'SELECT count(*), count(computation), count(phase), count(part_done), count(rows_read), count(device) FROM simjoin_stat_activity';
	is(query("SET ROLE looker; $shown"), '1|0|0|0|0|0', 'another role sees that there is one');
	is(query("GRANT pg_read_all_stats TO looker; SET ROLE looker; $shown; RESET ROLE; REVOKE pg_read_all_stats FROM looker"),
		'1|1|1|1|1|1', 'one that may read all statistics sees all');
	query("SELECT $function(pid) FROM simjoin_stat_activity");
	$victim->finish;
	ok($node->poll_query_until('postgres', "$activity", '0'), "nothing is shown after $function");
}
my $session = $node->background_psql('postgres');
$session->query("BEGIN; DECLARE c CURSOR FOR SELECT a.id FROM few a JOIN few b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9; FETCH 1 FROM c");
is(query(q{SELECT rows_read, phase FROM simjoin_stat_activity}), '100|joining', 'an open cursor');
$session->query('ROLLBACK');
is(query($activity), 0, 'the cursor is closed');
$session->quit;

# Whatever else reads the rows of a query is shown, too: how far it has read, by the planner's estimate of its rows.
sub is_shown
{
	my ($statement, $computation, $condition) = @_;
	my $victim = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $statement ], '>', \my $out, '2>', \my $err);
	ok( $node->poll_query_until(
			'postgres', "SELECT count(*) = 1 FROM simjoin_stat_activity WHERE computation = '$computation' AND $condition"),
		"$computation is shown: $condition");
	query('SELECT count(pg_cancel_backend(pid)) FROM simjoin_stat_activity');
	$victim->finish;
	like($err, qr/canceling statement/, "$computation is cancelled");
	is(query($activity), 0, "$computation is not shown any more");
	return;
}
# 3,000 rows, one each millisecond. Half of them are not read before the statement is cancelled.
my $slowly = 'FROM generate_series(1, 3000) i WHERE pg_sleep(CASE i WHEN 1500 THEN 36000 ELSE 0.001 END) IS NOT NULL';
my $half_read = q{phase = 'reading' AND part_done BETWEEN 0.01 AND 0.9 AND rows_read BETWEEN 30 AND 2700 AND temporary_bytes IS};
my %calls = (
	connected_components => "'SELECT i, i + 1 $slowly'",
	pagerank => "'SELECT i, i + 1 $slowly'",
	densest_subgraph => "'SELECT i, i + 1 $slowly', 3",
	minhash_signatures => "'SELECT i, ARRAY[i, i + 1] $slowly', 64",
	weighted_minhash_signatures => "'SELECT i, ARRAY[i], ARRAY[1]::real[] $slowly', 64",
	flyhash_signatures => "'SELECT i, ARRAY[i, 1, 2]::real[] $slowly', 4",
	cluster_documents => "'SELECT i, ARRAY[i, 1], ARRAY[1, 2]::real[] $slowly', 0.5",
	tf_idf => "'SELECT i, ARRAY[i::text] $slowly'",
	idf => "'SELECT i, i::text $slowly', tokens => 'words'");
is_shown("SELECT count(*) FROM $_($calls{$_})", $_, "$half_read NULL AND pairs IS NULL") for sort keys %calls;
is_shown("SELECT count(*) FROM $_('SELECT i, ARRAY[i, 1, 2] $slowly', 0.9)", $_, "$half_read NOT NULL AND pairs = 0")
  for qw(similarity_self_join duplicate_groups);
is_shown("SELECT FROM (SELECT i, ARRAY[i] AS s $slowly OFFSET 0) a JOIN (SELECT i, ARRAY[i] AS s $slowly OFFSET 0) b
	ON jaccard_similarity(a.s, b.s) >= 0.9", 'similarity join', q{phase = 'reading' AND part_done BETWEEN 0.01 AND 0.9});
# They compute for hours.
is_shown(q{SELECT count(*) FROM pagerank('SELECT i, i + 1 FROM generate_series(1, 300000) i', 0.999999)},
	'pagerank', q{phase = 'computing' AND part_done BETWEEN 0.0001 AND 0.99 AND memory_peak > 1000000 AND device = 'cpu'});
is_shown(q{SELECT count(*) FROM pagerank('SELECT i, (i * 7919::bigint) % 100003 FROM generate_series(1, 300000) i', 0.999, 'random_walk', coupons => 10000)},
	'pagerank', q{phase = 'computing' AND part_done BETWEEN 0.0001 AND 0.99});
query(q{CREATE FUNCTION slow(tokens int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE
	AS 'BEGIN PERFORM pg_sleep(0.0005); RETURN tokens; END'});
is_shown('CREATE INDEX ON sets USING gin (slow(tokens) int4_similarity_ops)', 'index build',
	q{phase = 'computing' AND rows_read > 0 AND part_done BETWEEN 0 AND 0.9});
is_shown(q{SELECT create_similarity_index('sets', 'slow(tokens)', 0.8)}, 'create_similarity_index', q{phase = 'reading' AND part_done > 0});

# What was cancelled is not counted; what ends is, whatever it is.
is(query("SELECT computation FROM simjoin_stat() WHERE computation NOT IN ('similarity join', 'duplicate_groups')"), '', 'nothing else has ended');
my $rows = 'FROM generate_series(1, 30) i';
my %inputs = (
	connected_components => "'SELECT i, i + 1 $rows'",
	pagerank => "'SELECT i, i + 1 $rows'",
	densest_subgraph => "'SELECT i, i + 1 $rows', 3",
	minhash_signatures => "'SELECT i, ARRAY[i, i + 1] $rows', 64",
	weighted_minhash_signatures => "'SELECT i, ARRAY[i], ARRAY[1]::real[] $rows', 64",
	flyhash_signatures => "'SELECT i, ARRAY[i, 1, 2]::real[] $rows', 4",
	cluster_documents => "'SELECT i, ARRAY[i, 1], ARRAY[1, 2]::real[] $rows', 0.5",
	tf_idf => "'SELECT i, ARRAY[i::text] $rows'",
	idf => "'SELECT i, i::text $rows', tokens => 'words'");
for my $function (sort keys %inputs)
{
	query("SELECT count(*) FROM $function($inputs{$function})") for 1 .. 2;
	is(totals($function), '2|60|0|0|||', "$function is counted");
}
query(q{SELECT create_dedup_view('groups', 'SELECT id, tokens FROM few', 0.9); SELECT refresh_dedup_view('groups')});
is(totals('create_dedup_view'), '1|100|0|0|50|0|f', 'a dedup view is counted');
is(totals('refresh_dedup_view'), '', 'a refresh that joins nothing is not');
query(q{INSERT INTO few VALUES (100, '{10,1,2}'); SELECT refresh_dedup_view('groups')});
like(totals('refresh_dedup_view'), qr/^1\|\d+\|0\|0\|\d\|0\|f$/, 'one that joins is');
query(q{SELECT create_similarity_index('few', 'tokens', 0.9); REINDEX TABLE few; DROP INDEX few_similarity_idx});
is(totals('create_similarity_index'), '1|101|0|0|||', 'what reads the rows for an index is counted');
is(totals('index build'), '2|202|0|0|||', 'and so are two builds');
for my $build ('CREATE INDEX CONCURRENTLY i ON few USING gin (tokens int4_similarity_ops)', 'REINDEX INDEX CONCURRENTLY i')
{
	my $builds = query(q{SELECT calls FROM simjoin_stat() WHERE computation = 'index build'});
	query($build);
	is(query("SELECT calls - $builds FROM simjoin_stat() WHERE computation = 'index build'"), 1, $build);
}
query('DROP INDEX i; DELETE FROM few WHERE id = 100');
my $builds = totals('index build');
my ($ended, $none, $failure) = $node->psql('postgres', q{CREATE INDEX ON few USING gin ((tokens || 1 / (99 - id)) int4_similarity_ops)});
like($failure, qr/division by zero/, 'a build fails');
query(q{DO $$ BEGIN CREATE INDEX ON few USING gin ((tokens || 1 / (99 - id)) int4_similarity_ops);
	EXCEPTION WHEN division_by_zero THEN END $$});
is(totals('index build'), $builds, 'builds that failed are not counted');

# Sessions share a budget of threads, whatever each of them asks for.
SKIP:
{
	skip 'the system does not tell', 3 unless -d '/proc/self/task';
	$node->append_conf('postgresql.conf', "simjoin.cpu_threads = 8\nsimjoin.max_server_threads = 5");
	$node->reload;
	my @victims = map {
		IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $long_join ], '>', \my $out, '2>', \my $err)
	} 1 .. 4;
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 4 FROM simjoin_stat_activity WHERE phase = 'joining'}), 'four joins run');
	# Each session has its own thread and the join's main one, which starts the workers.
	my @pids = split(/\n/, query('SELECT pid FROM simjoin_stat_activity'));
	my $workers = 0;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$workers = 0;
		for my $pid (@pids)
		{
			my @tasks = glob("/proc/$pid/task/*");
			$workers += @tasks - 2;
		}
		last if $workers >= 5;
		sleep(0.1);
	}
	is($workers, 5, 'they have five workers together');
	query('SELECT count(pg_terminate_backend(pid)) FROM simjoin_stat_activity');
	$_->finish for @victims;
	my $session = $node->background_psql('postgres');
	my $plan = $session->query("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) SELECT FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9");
	like($plan, qr/Threads: 6$/m, 'joins that ended have given their workers back');
	$session->quit;
	$node->append_conf('postgresql.conf', "simjoin.cpu_threads = 2\nsimjoin.max_server_threads = 0");
	$node->reload;
}

# The client is told how far a computation is, also without shared memory.
$without->start;
fill_sets($without, 20000, 60, 400);
sub told
{
	my ($of, $settings, $statement) = @_;
	my (undef, undef, $messages) = $of->psql('postgres', "SET enable_nestloop = off; $settings; $statement");
	return join("\n", grep { /NOTICE:/ } split(/\n/, $messages));
}
for my $server ($without, $node)
{
	my $self_join = 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND a.id <= 20000 AND b.id <= 20000
		AND jaccard_similarity(a.tokens, b.tokens) >= 0.3';
	my $often = q{SET simjoin.progress_interval = '1ms'};
	my $notices = told($server, $often, $self_join);
	like($notices, qr/NOTICE:  similarity join, reading: (\d+ %, )?\d+ rows/, 'rows that are read');
	like($notices, qr/NOTICE:  similarity join, joining: \d+ %, \d+ pairs(, about \d+ s left)?$/m, 'pairs that are found');
	like(told($server, $often, q{SELECT count(*) FROM minhash_signatures('SELECT id, tokens FROM sets')}),
		qr/NOTICE:  minhash_signatures, \w+: /, 'signatures');
	# Figures of a function with its owner's rights are not for its caller.
	$server->safe_psql('postgres', "CREATE ROLE caller; CREATE FUNCTION of_owner() RETURNS bigint LANGUAGE sql SECURITY DEFINER
		SET enable_nestloop = off AS '$self_join'");
	is(told($server, "SET ROLE caller; $often", 'SELECT of_owner()'), '', 'no notice of what a role may not see');
	like(told($server, $often, 'SELECT of_owner()'), qr/similarity join, joining/, 'a notice for the owner');
	is(told($server, 'SET simjoin.progress_interval = 0', $self_join), '', 'no notice at 0');
	is(told($server, q{SET simjoin.progress_interval = '1h'}, $self_join), '', 'no notice of what is short');
}
$without->stop;

# The log, and rights.
my $log = -s $node->logfile;
query("SET simjoin.log_min_duration = '1h'; $pairs");
unlike(slurp_file($node->logfile, $log), qr/similarity join:/, 'a join that is not long is not logged');
query("SET simjoin.log_min_duration = 0; $pairs");
like(slurp_file($node->logfile, $log), qr/LOG:  similarity join: 50 pairs of 100 rows in \d+ ms\n.*DETAIL:  Device: cpu, memory: \d+ kB, temporary files: 0 kB\./,
	'a long join is logged');
$log = -s $node->logfile;
query(q{SET simjoin.log_min_duration = 0; SELECT count(*) FROM pagerank('SELECT id, id + 1 FROM few')});
like(slurp_file($node->logfile, $log), qr/LOG:  pagerank: 100 rows in \d+ ms\n.*DETAIL:  Device: cpu\./, 'another computation is logged');
my ($status, $out, $error) = $node->psql('postgres', 'SET ROLE looker; SELECT simjoin_stat_reset()');
like($error, qr/permission denied for function simjoin_stat_reset/, 'not everyone may reset the figures');
($status, $out, $error) = $node->psql('postgres', 'SET ROLE looker; SET simjoin.log_min_duration = 0');
like($error, qr/permission denied to set parameter/, 'not everyone may write to the log');
query('SELECT simjoin_stat_reset()');
is(query('SELECT count(*) FROM simjoin_stat()'), 0, 'the figures are gone');

# A crash empties what is shown.
my $victim = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $long_join ], '>', \my $stdout, '2>', \my $stderr);
ok($node->poll_query_until('postgres', "$activity", '1'), 'a join runs before a crash');
kill('KILL', query('SELECT pid FROM simjoin_stat_activity'));
$victim->finish;
ok($node->poll_query_until('postgres', "$activity", '0'), 'nothing is shown after a crash');

done_testing();
