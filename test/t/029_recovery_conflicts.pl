# On a hot standby, a conflict with recovery ends a long computation. What takes long to give back, threads and memory, is
# given back before the error, so that PostgreSQL 14 and 15 seldom end the session, too.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $primary = start_node('primary', 'wal_level = replica', 'max_wal_senders = 5', 'log_min_messages = warning', @two_cpu_threads);
plan skip_all => 'pg_basebackup is missing' unless -x $primary->config_data('--bindir') . '/pg_basebackup';
fill_sets($primary, 150000, 60, 400);
$primary->safe_psql('postgres', 'CREATE TABLE changed AS SELECT id FROM generate_series(1, 100) id; VACUUM changed');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 10ms\nlog_min_messages = debug1\n");
$standby->start;
my $errors_end_sessions = $standby->safe_psql('postgres', 'SHOW server_version_num') < 160000;

my %statements = (
	'a join' => 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.4',
	'a function' => q{SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM sets', 0.4)},
	'a background task' => q{SELECT count(*) FROM similarity_profile('SELECT id, tokens FROM sets', '{0.9, 0.5, 0.4}', sample => NULL)});
my $changed = 0;
for my $name (sort keys %statements)
{
	my ($stdout, $stderr) = ('', '');
	my $session = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $standby->connstr('postgres'), '-c', $statements{$name}, '-c', q{SELECT 'goes on'} ],
		'>', \$stdout, '2>', \$stderr);
	# The threads work, and the session waits for them.
	my $of_session = q{FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query ~ '^SELECT count'};
	ok($standby->poll_query_until('postgres', "SELECT count(*) = 1 $of_session"), "$name runs");
	my $pid = $standby->safe_psql('postgres', "SELECT pid $of_session");
	++$changed;
	$primary->safe_psql('postgres', $_) for "DELETE FROM changed WHERE id = $changed", 'VACUUM changed';
	$session->finish;
	my @lines = grep { /\[$pid\].*(gave up|ERROR|FATAL)/ } split /\n/, slurp_file($standby->logfile);
	if ($errors_end_sessions)
	{
		like($lines[0], qr/simjoin gave up its computations/, "$name is given up before the error");
		like($lines[1], qr/ERROR:  canceling statement due to conflict with recovery/, "$name ends by the conflict");
		note(($stdout eq "goes on\n" ? 'The session goes on after ' : 'The session ends after ') . $name);
	}
	else
	{
		like($stderr, qr/canceling statement due to conflict with recovery/, "$name ends by the conflict");
		is($stdout, "goes on\n", "the session goes on after $name");
	}
}
is($standby->safe_psql('postgres', 'SELECT count(*) FROM sets WHERE id < 10'), 9, 'the standby goes on');
stop_unharmed($standby);
stop_unharmed($primary);
done_testing();
