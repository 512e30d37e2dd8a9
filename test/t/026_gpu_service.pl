# One process uses the GPU for all sessions. The rows are those of the CPU, whatever ends: the service, a session or the
# server. With an engine of the CPU in the GPU's place this runs on every machine, and once more on a GPU if there is one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(sleep time);

my @service = ('shared_preload_libraries = simjoin', 'simjoin.gpu_service = on', 'simjoin.gpu_service_memory = 32MB',
	'max_connections = 40', 'jit = off', 'log_min_messages = warning', 'restart_after_crash = on');
my $join = 'SELECT count(*), sum(a.id), sum(b.id), sum(overlap_count(a.tokens, b.tokens)) FROM sets a JOIN sets b ON a.id < b.id AND
	jaccard_similarity(a.tokens, b.tokens) >= 0.6';

# Returns a column of simjoin_gpu_service(), empty without a service.
sub service { my ($node, $column) = @_; return $node->safe_psql('postgres', "SELECT $column FROM simjoin_gpu_service()"); }

# Waits for a service other than `before`, and returns its process.
sub await_service
{
	my ($node, $before) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM simjoin_gpu_service() WHERE pid <> " . ($before // 0)) or return;
	return service($node, 'pid');
}

# Tests that the service comes to have nothing of any session but the one that asks.
sub rests
{
	my ($node, $name) = @_;
	ok($node->poll_query_until('postgres',
		'SELECT sessions = 1 AND running = 0 AND waiting = 0 AND memory_used = 0 FROM simjoin_gpu_service()'), $name);
	return;
}

# Waits until the condition holds. Gives up after the time that the tests give everything.
sub comes_true
{
	my ($condition) = @_;
	for (1 .. 20 * $PostgreSQL::Test::Utils::timeout_default) { return 1 if $condition->(); sleep 0.05; }
	return 0;
}

# Returns whether a process ends.
sub is_gone { my ($pid) = @_; return comes_true(sub { !kill(0, $pid) }); }

# Starts a statement in a session, and returns once the service is seen in a state, or the statement has ended.
sub start_until
{
	my ($node, $session, $statement, $state) = @_;
	$session->{stdin} .= "$statement;\n\\echo ended\n";
	comes_true(sub {
		$session->{run}->pump_nb;
		return $session->{stdout} =~ /ended/ || service($node, $state) eq 't';
	});
	return;
}

# Returns the inodes of the memory that a process may write and shares.
sub shared_memory { my ($pid) = @_; return slurp_file("/proc/$pid/maps") =~ /^\S+ rw.s \S+ (\S+ \d+)/mg; }

sub log_lines { my ($node, $pattern) = @_; return scalar(() = slurp_file($node->logfile) =~ /$pattern/g); }

# Tests a server whose service works.
sub test_service
{
	my ($node, $device) = @_;
	my $pid = await_service($node);
	like($pid, qr/^\d+$/, "$device: there is a service");
	is(log_lines($node, qr/LOG:  simjoin GPU service: ready/), 1, 'which the log tells');

	# The process has nothing of the server's.
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my %of_server = map { $_ => 1 } shared_memory($postmaster);
	cmp_ok(scalar(keys %of_server), '>', 0, 'the server has shared memory');
	is(join(' ', grep { $of_server{$_} } shared_memory($pid)), '', 'which the service does not have');
	my @open = grep { defined && /PostgreSQL|base\/|pg_wal|postmaster/ } map { readlink } glob("/proc/$pid/fd/*");
	is("@open", '', 'and has none of its files');
	my $socket = $node->data_dir . '/pg_stat_tmp/simjoin_gpu_service';
	is(sprintf('%o', (stat $socket)[2] & 0777), '600', 'only the user of the server may connect');

	fill_sets($node, 120000, 60, 1000000);
	my ($expected) = gpu_session($node, 'SET simjoin.device = cpu', $join);
	like($expected, qr/^\d{3,}\|/, 'there are pairs to find');
	for my $set ('simjoin.device = gpu', 'simjoin.device = auto', 'simjoin.device = gpu; SET enable_parallel_append = off')
	{
		is((gpu_session($node, "SET $set", $join))[0], $expected, "the same rows with $set");
	}
	my ($plan) = gpu_session($node, 'SET simjoin.device = gpu', "EXPLAIN (ANALYZE, COSTS OFF) $join");
	like($plan, qr/Device: $device \(service\)/, 'EXPLAIN tells of the service');
	cmp_ok(service($node, 'joins'), '>=', 3, 'the service counts its joins');
	rests($node, 'and keeps nothing of them');

	# A join of sets with weights goes there, too.
	my $weighted = q{SELECT count(*), sum(a), sum(b) FROM similarity_self_join('SELECT id, tokens, ARRAY(SELECT t % 9 FROM
		unnest(tokens) t)::float4[] FROM sets WHERE id <= 3000', 0.5, measure => 'weighted_jaccard')};
	my ($of_weighted) = gpu_session($node, 'SET simjoin.device = cpu', $weighted);
	my $joins = service($node, 'joins');
	my ($served, $told) = gpu_session($node, 'SET simjoin.device = gpu', $weighted);
	is($served, $of_weighted, 'the same rows of sets with weights');
	unlike($told, qr/NOTICE|WARNING|ERROR/, 'without a message');
	is(service($node, 'joins'), $joins + 1, 'which the service has joined');

	# Other functions use the GPU of their session, if there is one.
	$node->safe_psql('postgres', 'CREATE TABLE edges AS SELECT id AS a, (id::int8 * 7919 % 50000)::int AS b FROM sets;
		CREATE TABLE vectors AS SELECT id, ARRAY[id % 7, id % 11, id % 13, id % 17]::float4[] AS v FROM sets WHERE id <= 2000');
	for my $function (
		q{SELECT count(*), sum(hashtextextended(component::text || node, 0)::numeric) FROM connected_components('SELECT a, b FROM edges')},
		q{SELECT count(*), sum(hashtextextended(c::text, 0)::numeric) FROM cluster_documents('SELECT id, tokens,
			array_fill(1::real, ARRAY[cardinality(tokens)]) FROM sets WHERE id <= 20000 ORDER BY id', 0.3, batch => 1024) c},
		q{SELECT sum(hashtextextended(tokens::text, 0)::numeric) FROM flyhash_signatures('SELECT id, v FROM vectors', 200)},
		q{SELECT count(*), sum(a), sum(b) FROM minhash_self_join('SELECT id, tokens FROM sets', 0.7)})
	{
		my ($rows) = gpu_session($node, 'SET simjoin.device = cpu', $function);
		my ($own, $message) = gpu_session($node, 'SET simjoin.device = gpu', $function);
		# Where the service has the CPU in the GPU's place, the session may have a GPU or not.
		if ($device eq 'cpu' && $message =~ /ERROR/) { like($message, qr/ERROR:  a GPU cannot be used: /, "no GPU for $function"); }
		else { is($own, $rows, "the same rows of $function"); }
		($own, $message) = gpu_session($node, 'SET simjoin.device = auto', $function);
		is($own, $rows, "the same rows of $function by auto");
		unlike($message, qr/NOTICE|WARNING|ERROR/, 'without a message');
	}
	is(service($node, 'joins'), $joins + 1, 'without the service');
	rests($node, 'which keeps nothing');

	# The service ends as soon as it is seen in a state: it has the session, its sets, or its join.
	my $noticed = 0;
	for my $state ('sessions > 1', 'memory_used > 0', 'running > 0')
	{
		my $before = await_service($node);
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		$session->query('SET simjoin.device = auto; SET simjoin.cpu_threads = 1');
		start_until($node, $session, $join, $state);
		kill 'KILL', $before;
		$session->{run}->pump until $session->{stdout} =~ /ended/;
		like($session->{stdout}, qr/^\Q$expected\E$/m, "the service is killed at $state, and the join goes on");
		unlike($session->{stderr}, qr/ERROR|WARNING|server closed/, 'without an error');
		++$noticed if $session->{stderr} =~ /NOTICE:  the GPU cannot be used now/;
		$session->{stdout} = '';
		my $after = await_service($node, $before);
		like($after, qr/^\d+$/, 'a new service starts');
		($plan) = $session->query("EXPLAIN (ANALYZE, COSTS OFF) $join");
		like($plan, qr/Device: $device \(service\)/, 'which the next join of the session uses');
		$session->quit;
	}
	# A GPU may be done before it is seen.
	cmp_ok($noticed, '>', 0, 'a notice tells of it') if $device eq 'cpu';
	cmp_ok(log_lines($node, qr/simjoin GPU service: ended by signal 9/), '>=', 3, 'and so does the log');
	rests($node, 'nothing is left');

	# Sessions end at some moment of a join, as does a cursor that waits.
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 8;
	for my $session (@sessions)
	{
		$session->query("SET simjoin.device = gpu; BEGIN; DECLARE c CURSOR FOR " . ($join =~ s/count.*? FROM/a.id FROM/r));
		$session->query('FETCH 1 FROM c') if $session == $sessions[0];
		$session->{stdin} .= "$join;\n";
		$session->{run}->pump_nb;
	}
	sleep 0.3;
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
	rests($node, 'sessions that are killed leave nothing');
	eval { $_->quit } for @sessions;

	# Many at once, on a machine that may not give each its turn in time. Then it goes on without the service.
	my $joins = service($node, 'joins');
	my @all = map { my $out = ''; { out => \$out, run => IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'),
		'-c', 'SET simjoin.device = auto; SET simjoin.cpu_threads = 1', '-c', $join ], '>', \$out, '2>', '/dev/null') } } 1 .. 16;
	$_->{run}->finish for @all;
	is(scalar(grep { ${ $_->{out} } eq "$expected\n" } @all), 16, '16 sessions at once have the same rows');
	cmp_ok(service($node, 'joins'), '>', $joins, 'and the service computes some of them');
	rests($node, 'and leave nothing');

	my $cancelled_one = $node->background_psql('postgres', on_error_stop => 0);
	$cancelled_one->query('SET simjoin.device = gpu; SET simjoin.cpu_threads = 1');
	start_until($node, $cancelled_one, $join, 'running > 0');
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*), sum(a.id)%'});
	$cancelled_one->{run}->pump until $cancelled_one->{stdout} =~ /ended/;
	like($cancelled_one->{stderr}, qr/canceling statement due to user request/, 'a join is cancelled') if $device eq 'cpu';
	$cancelled_one->quit;
	rests($node, 'and leaves nothing');

	# The server restarts after a crash, and stops.
	my $before = await_service($node);
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $backend = $session->query('SELECT pg_backend_pid()');
	my $ready = qr/database system is ready to accept connections/;
	my $starts = log_lines($node, $ready);
	kill 'KILL', $backend;
	comes_true(sub { log_lines($node, $ready) > $starts });
	eval { $session->quit };
	like(await_service($node, $before), qr/^\d+$/, 'a service starts after a crash of the server');
	ok(is_gone($before), 'the old one is gone');
	is((gpu_session($node, 'SET simjoin.device = gpu', $join))[0], $expected, 'the same rows');
	my $last = await_service($node);
	$node->stop('immediate');
	ok(is_gone($last), 'the service ends with the server');
	$node->start;
	like(await_service($node), qr/^\d+$/, 'and starts with it');
	return;
}

my $node = start_node('service', @service, 'simjoin.debug_gpu_service_on_cpu = on');
test_service($node, 'cpu');

# A backup does not stumble over the socket.
SKIP:
{
	skip 'pg_basebackup is missing', 1 unless has_programs('pg_basebackup');
	my ($out, $error) = run_command([ 'pg_basebackup', '-D', $node->backup_dir . '/b', '-d', $node->connstr('postgres'), '--checkpoint=fast' ]);
	unlike($error, qr/special file/, 'a backup leaves the socket out');
}
$node->stop;

# Without a GPU the log tells why, once, and all runs as without a service.
$node = start_node('without', @service);
if ($node->safe_psql('postgres', 'SELECT count(*) FROM simjoin_devices()') == 0)
{
	fill_sets($node, 20000, 20, 1000);
	like($node->safe_psql('postgres', $join), qr/^\d+\|/, 'joins work without a GPU');
	is(service($node, 'count(*)'), 0, 'there is no service');
	my $why = qr/LOG:  simjoin GPU service: .*no .*(GPU|driver|device)/;
	comes_true(sub { log_lines($node, $why) > 0 });
	is(log_lines($node, $why), 1, 'the log tells why, once');
}
$node->stop;

# On a GPU.
SKIP:
{
	$node = start_node('gpu', @service);
	my $name = $node->safe_psql('postgres', 'SELECT name FROM simjoin_devices() LIMIT 1');
	skip 'there is no GPU here', 1 if $name eq '';
	test_service($node, quotemeta($name));
}
$node->stop;
done_testing();
