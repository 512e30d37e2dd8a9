# A long join can be cancelled, timed out and terminated at any moment; the session keeps nothing of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(time usleep);

# How long after the signal a statement may still run. The aim is 0.1 s; a busy test machine needs some slack.
my $patience = 1.0;

my $node = start_node('interrupts', 'max_connections = 20', 'log_min_messages = warning');
fill_sets($node, 150000, 60, 400);
my $long_join =
  'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.4';

# Returns seconds that SQL text took and what it printed to stderr.
sub timed
{
	my ($sql) = @_;
	my $start = time();
	my ($status, $stdout, $stderr) = $node->psql('postgres', $sql, on_error_stop => 0);
	return (time() - $start, $stderr);
}

# Timeouts that hit the scan, the build and the join itself, for each way to join.
for my $algorithm (qw(auto allpairs ppjoin groupjoin bitmap))
{
	for my $timeout (10, 60, 250, 700)
	{
		my ($seconds, $stderr) = timed("SET simjoin.algorithm = $algorithm; SET statement_timeout = $timeout; $long_join");
		like($stderr, qr/canceling statement due to statement timeout/, "$algorithm is stopped by a timeout of $timeout ms");
		cmp_ok($seconds, '<', $timeout / 1000 + $patience, "$algorithm stops at once after $timeout ms");
	}
}

# The backend's own view of its process: memory of its own (not the shared buffers) in kB, and threads.
my $process = q{SELECT string_agg((regexp_match(pg_read_file('/proc/self/status'), line || ':\s+(\d+)'))[1], ' ')
	FROM unnest('{RssAnon,Threads}'::text[]) line};

SKIP:
{
	skip 'no /proc here', 4 unless -r '/proc/self/status';
	# What one cancelled join leaves varies with the moment; what every join leaves adds up.
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query("SET statement_timeout = 400");
	my (@memory, @threads);
	for (0 .. 19)
	{
		$session->query($long_join);
		my ($memory, $threads) = split / /, $session->query($process);
		push @memory, $memory;
		push @threads, $threads;
	}
	is(min(@threads), 1, 'no thread is left after cancelled joins');
	is(min(@threads[ 10 .. 19 ]), 1, 'nor after ten more');
	cmp_ok(min(@memory[ 10 .. 19 ]) - min(@memory[ 0 .. 9 ]), '<', 10240, 'ten more cancelled joins leave no memory behind');
	is( $session->query(
			q{SET statement_timeout = 0;
			SELECT count(*) > 100 FROM (SELECT FROM sets a JOIN sets b ON a.id < b.id AND
				jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id < 2000 AND b.id < 2000) pairs}),
		't',
		'the session goes on working');
	$session->quit;
}

# Signals from another session.
for my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	my $message = $function eq 'pg_cancel_backend' ? 'canceling statement due to user request'
	  : 'terminating connection due to administrator command';
	my ($stdout, $stderr) = ('', '');
	my $victim = IPC::Run::start(
		[ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $long_join ],
		'>', \$stdout, '2>', \$stderr);
	ok( $node->poll_query_until(
			'postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM sets a JOIN%'
			AND state = 'active' AND now() - query_start > interval '500 ms'}),
		"a join runs before $function");
	my $start = time();
	$node->safe_psql('postgres', "SELECT $function(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM sets a JOIN%'");
	$victim->finish;
	cmp_ok(time() - $start, '<', $patience, "$function takes effect at once");
	like($stderr, qr/$message/, "$function is reported");
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT count(*) FROM sets a JOIN%'}),
	0, 'the terminated backend is gone');

# Abandoning a join half way is no different: LIMIT, a closed cursor, a rolled back transaction, an error above it.
my ($seconds, $stderr) = timed(
	qq{BEGIN; DECLARE c CURSOR FOR SELECT a.id FROM sets a JOIN sets b ON a.id < b.id
		AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
	FETCH 3 FROM c; CLOSE c; ROLLBACK;});
is($stderr, '', 'a cursor can be closed early');
($seconds, $stderr) = timed(
	q{SELECT 1 / (a.id - a.id) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7});
like($stderr, qr/division by zero/, 'an error above the join ends it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, 'no temporary file is left');

stop_unharmed($node);
done_testing();
