# Functions for all TAP tests: a server with simjoin, collections, statements that are stopped, and figures of a backend's
# process.
package Simjoin;

use strict;
use warnings;

use Exporter 'import';
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(start_node fill_sets stops_in_time takes_effect_in_time takes_little_time_to_cancel
  takes_little_time_to_end has_programs no_threads_left gpu_session stop_unharmed same_subquery $patience @two_cpu_threads);

# Seconds that a statement may still run after the signal. The aim is 0.1, but a busy test machine needs some slack.
our $patience = 1.0;

# Settings for tests of long statements, which exceed the tests' timeouts also on hosts with many cores or a GPU.
our @two_cpu_threads = ('simjoin.device = cpu', 'simjoin.cpu_threads = 2');

# Returns a running server with simjoin in the database postgres. Its locale and encoding are the same on every machine.
# Further arguments are lines of its configuration.
sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
	$node->append_conf('postgresql.conf', join("\n", 'fsync = off', 'autovacuum = off', @settings, ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION simjoin');
	return $node;
}

# Tests that a scan takes a subquery for each row of the table texts, and gives the rows, or the error, of the sort. Returns
# these. `settings` are statements that come first.
sub same_subquery
{
	my ($node, $settings, $name, $scan, $subquery) = @_;
	my $query = "SELECT a.id, x.* FROM texts a LEFT JOIN LATERAL ($subquery) x ON true";
	my @results = map {
		my ($status, $out, $error) = $node->psql('postgres', "$settings LOAD 'simjoin'; SET enable_seqscan = off; SET simjoin.enable_nearest = $_->[0]; $_->[1]");
		$error =~ /(ERROR:.*)/ ? $1 : $out
	} ([ 'off', "SELECT * FROM ($query) q ORDER BY q::text" ], [ 'on', "SELECT * FROM ($query) q ORDER BY q::text" ], [ 'on', "EXPLAIN (COSTS OFF) $query" ]);
	like($results[2], qr/$scan/, "$name: taken");
	is($results[1], $results[0], "$name: as the sort");
	return $results[0];
}

# Returns whether the programs of PostgreSQL are there. Some installations have the server and psql alone.
sub has_programs
{
	my (@names) = @_;
	for my $name (@names)
	{
		return 0 unless grep { -x "$_/$name" } split(/:/, $ENV{PATH});
	}
	return 1;
}

# Makes the table sets (id int, tokens int[]) of `rows` sets of up to `size` tokens below `universe`. Every tenth set is a
# near copy of the one before it. The table is the same on every run.
sub fill_sets
{
	my ($node, $rows, $size, $universe) = @_;
	$node->safe_psql(
		'postgres', qq{
		CREATE TABLE sets (id int, tokens int[]);
		SELECT setseed(0.42);
		INSERT INTO sets
		SELECT id, ARRAY(SELECT (random() * $universe)::int FROM generate_series(1, $size) WHERE id IS NOT NULL)
		FROM generate_series(1, $rows) id;
		UPDATE sets SET tokens = before.tokens[2:] FROM sets before
		WHERE sets.id % 10 = 0 AND before.id = sets.id - 1;
		VACUUM ANALYZE sets;
	});
	return;
}

# How often an event that must be prompt may be late, because a busy host sometimes holds up any process.
my $attempts = 3;

# Tests that an action takes effect within `patience` seconds. The function returns the seconds that it took, and is called
# again if they are too many.
sub takes_effect_in_time
{
	my ($name, $patience, $done) = @_;
	my $seconds;
	for (1 .. $attempts)
	{
		$seconds = $done->();
		last if $seconds < $patience;
		note("$name: $seconds s");
	}
	cmp_ok($seconds, '<', $patience, $name);
	return;
}

# Tests that each of the timeouts (in milliseconds) stops the statement, at most `patience` seconds late. SQL before the
# last statement has no timeout.
# This is for statements on a GPU. Statements on the CPU alone are timed by takes_little_time_to_cancel, which a busy host
# does not disturb.
sub stops_in_time
{
	my ($node, $name, $statement, $patience, @timeouts) = @_;
	my ($before, $last) = $statement =~ /^(?:(.*;)\s*)?([^;]+)$/s;
	for my $timeout (@timeouts)
	{
		my $sql = ($before // '') . "SET statement_timeout = $timeout; $last";
		my $stderr;
		takes_effect_in_time(
			"$name stops at once after $timeout ms",
			$timeout / 1000 + $patience,
			sub {
				my $start = time();
				$node->psql('postgres', $sql, stderr => \$stderr, on_error_stop => 0);
				return time() - $start;
			});
		like($stderr, qr/canceling statement due to statement timeout/, "$name is stopped by a timeout of $timeout ms");
	}
	return;
}

# Returns the seconds of processor time that all threads of a process have used.
sub processor_seconds
{
	my ($pid) = @_;
	my ($numbers) = slurp_file("/proc/$pid/stat") =~ /\) (.*)/;
	my @fields = split / /, $numbers;
	return ($fields[11] + $fields[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# Seconds of processor time, of all its threads, that a statement may use after a signal.
my $most_after_signal = 0.25;

# Cancels a statement of a background session at each of the moments, given in seconds of its processor time, and tests
# that it uses little more. A statement that is done by then is no failure.
sub takes_little_time_to_cancel
{
	my ($session, $name, $statement, @moments) = @_;
  SKIP:
	{
		skip 'no /proc here', scalar(@moments) unless -r '/proc/self/stat';
		my $pid = $session->query('SELECT pg_backend_pid()');
		for my $moment (@moments)
		{
			takes_effect_in_time(
				"$name is cancelled at once after $moment s",
				$most_after_signal,
				sub {
					my $begin = processor_seconds($pid);
					$session->query_until(qr/begun/, "\\echo begun\n$statement;\n\\echo ended\n");
					while (processor_seconds($pid) < $begin + $moment && $session->{stdout} !~ /ended/)
					{
						sleep(0.005);
						$session->{run}->pump_nb;
					}
					my $cancelled = processor_seconds($pid);
					kill 'INT', $pid;
					$session->query_until(qr/ended/, '');
					$session->{stderr} = '';
					return processor_seconds($pid) - $cancelled;
				});
		}
	}
	return;
}

# Tests that a backend uses little processor time while the function, which ends it, runs.
sub takes_little_time_to_end
{
	my ($pid, $name, $ends) = @_;
  SKIP:
	{
		skip 'no /proc here', 1 unless -r '/proc/self/stat';
		my $begin = processor_seconds($pid);
		my $now = $begin;
		$ends->();
		while (defined(my $later = eval { processor_seconds($pid) }))
		{
			$now = $later;
			sleep(0.005);
		}
		cmp_ok($now - $begin, '<', $most_after_signal, $name);
	}
	return;
}

# Tests that the backend of a background session has only its own thread. A joined thread may be listed for a while.
sub no_threads_left
{
	my ($session, $name) = @_;
  SKIP:
	{
		skip 'no /proc here', 1 unless -r '/proc/self/status';
		my $threads;
		for (1 .. 1800)
		{
			$threads = $session->query(q{SELECT (regexp_match(pg_read_file('/proc/self/status'), 'Threads:\s+(\d+)'))[1]});
			last if $threads eq '1';
			sleep(0.1);
		}
		is($threads, 1, $name);
	}
	return;
}

# Returns a session's output for the statements, and its messages. One thread of the CPU is so slow that a GPU is faster
# from the first statement on.
sub gpu_session
{
	my ($node, @statements) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', join(";\n", 'SET simjoin.cpu_threads = 1', @statements), on_error_stop => 0);
	return ($stdout, $stderr);
}

# Stops the server and checks that no backend crashed while it ran.
sub stop_unharmed
{
	my ($node) = @_;
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal|TRAP:/, 'no backend crashed');
	return;
}

1;
