# What computations draw where simjoin.memory_limit is 0: shares of a budget that all sessions of a server have together.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('budget', 'shared_preload_libraries = simjoin', 'restart_after_crash = on', 'enable_nestloop = off',
	"simjoin.max_server_memory = '160MB'", @two_cpu_threads);
sub query { return $node->safe_psql('postgres', @_) }
fill_sets($node, 100000, 60, 400);
query('CREATE TABLE few AS SELECT id, ARRAY[id / 2 + 10, 1, 2] AS tokens FROM generate_series(0, 99) id; VACUUM ANALYZE few');

# Returns the plan of a join of a small table, which was run.
my $join = 'SELECT a.id, b.id FROM few a JOIN few b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9';
sub plan { return query("@_; EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) $join") }

# Returns the kilobytes that a join draws now.
sub drawn { return plan(@_) =~ /Memory Drawn: (\d+) kB/ ? $1 : 'none' }

# An eighth is for those that come last. Of the rest, each has at most half of what is left, and all have at least 16 MB.
my $whole = 70 * 1024;
sub all_is_back { is(drawn(), $whole, "$_[0]: all is given back") }
all_is_back('at first');
my $short = 'EXPLAIN (ANALYZE, COSTS OFF';
like(query("$short) $join"), qr/Memory Drawn: 71680 kB\n *Memory Asked: 1048576 kB\n/, 'EXPLAIN says if that is not what was asked for');
unlike(query("SET simjoin.max_memory = '3MB'; $short) $join"), qr/Memory (Drawn|Asked)/, 'and else with VERBOSE');
unlike(query("$short, TIMING OFF) $join"), qr/Memory (Drawn|Asked)/, 'unless it hides what depends on the machine');
my @sessions;
for my $megabytes (35, 17, 16, 16)
{
	push(@sessions, $node->background_psql('postgres'));
	$sessions[-1]->query("BEGIN; DECLARE held CURSOR FOR $join; FETCH 1 FROM held");
	is(drawn(), 1024 * $megabytes, "beside one more session a join draws $megabytes MB");
}
is(query(q{SET simjoin.memory_limit = '1GB'; SELECT count(*) FROM (} . $join . ') x'), 50, 'joins have their pairs');
is(drawn(q{SET simjoin.memory_limit = '1GB'}), 'none', 'a number is not drawn');
is(drawn(q{SET simjoin.max_memory = '3MB'}), 3 * 1024, 'a cap bounds what is drawn');
like(plan(q{SET simjoin.max_memory = '3MB'}), qr/Memory Asked: 3072 kB/, 'and what is asked for');
$sessions[0]->query('CLOSE held');
is(drawn(), 1024 * 36, 'a cursor that is closed has given its memory back');
$sessions[1]->query('FETCH ALL FROM held');
is(drawn(), 1024 * 53, 'and so has a join that has ended');
$_->query('ROLLBACK') for @sessions;
all_is_back('after the transactions');
$_->quit for @sessions;

# What a join draws decides whether it needs a file.
my $large = 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.95';
like(query("$short) $large"), qr/Partitions: .*Memory Drawn: 71680 kB/s, 'a join beyond what it has drawn');
my $pairs = query($large);
$node->append_conf('postgresql.conf', "simjoin.max_server_memory = '4GB'");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT setting = '4194304' FROM pg_settings WHERE name = 'simjoin.max_server_memory'}), 'a larger budget');
my $in_memory = query("$short) $large");
unlike($in_memory, qr/Partitions/, 'the join is within it');
is(query($large), $pairs, 'with the same pairs');
$node->append_conf('postgresql.conf', "simjoin.max_server_memory = '160MB'");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT setting = '163840' FROM pg_settings WHERE name = 'simjoin.max_server_memory'}), 'the first one');

# Functions draw once for all that they do, and give it back, also after an error.
my $rows = 'FROM generate_series(0, 29) i';
my @functions = (
	"duplicate_groups('SELECT i::text, ARRAY[i, 1, 2] $rows', 0.5, key => NULL::text)",
	"similarity_neighbors('SELECT i, ARRAY[i, 1] $rows', 'SELECT i, ARRAY[i, 1] $rows', 2)",
	"similarity_match('SELECT i, ARRAY[i, 1] $rows', 'SELECT i, ARRAY[i, 1] $rows', 0.1)",
	"best_matches('SELECT i, i, 0.5 $rows')",
	"similarity_profile('SELECT i, ARRAY[i, 1, 2] $rows', ARRAY[0.5])",
	"minhash_self_join('SELECT i, ARRAY[i, 1, 2] $rows', 0.5)",
	"connected_components('SELECT i::text, (i + 1)::text $rows', key => NULL::text)",
	"pagerank('SELECT i, i + 1 $rows')",
	"cluster_documents('SELECT i, ARRAY[i, 1], ARRAY[1, 2]::real[] $rows', 0.5)",
	"tf_idf('SELECT i, ARRAY[i::text] $rows')",
	"minhash_signatures('SELECT i::text, ARRAY[i, i + 1] $rows', 64, 1, key => NULL::text)");
for my $function (@functions)
{
	query("SELECT count(*) FROM $function");
	my ($status, $out, $error) = $node->psql('postgres', "SELECT count(*) FROM " . $function =~ s/FROM generate_series\(0, 29\) i/FROM generate_series(0, 29) i WHERE 1 \/ (29 - i) >= 0/r);
	like($error, qr/division by zero/, "$function fails");
}
query('SELECT spanning_forest(i, i + 1) FROM generate_series(0, 99) i GROUP BY i % 10');
query(q{SELECT create_dedup_view('groups', 'SELECT id, tokens FROM few', 0.9, track_changes => true);
	INSERT INTO few VALUES (100, '{10,1,2}'); SELECT refresh_dedup_view('groups'); DELETE FROM few WHERE id = 100});
all_is_back('after functions');
is(query("SELECT count(*) FROM ($join) x, ($join) y, similarity_self_join('SELECT i, ARRAY[1] $rows', 1) z"), 50 * 50 * 435, 'several at once');
all_is_back('after several at once');

# Joins and functions that are stopped.
my $long_join = 'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.1';
my $long_function = q{SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM sets', 0.1)};
for my $statement ($long_join, $long_function)
{
	for my $stop ('pg_cancel_backend', 'pg_terminate_backend')
	{
		my $victim = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $statement ], '>', \my $out, '2>', \my $err);
		ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM simjoin_stat_activity WHERE phase = 'joining'}), 'it runs');
		is(drawn(), $whole / 2, 'it has its half');
		query("SELECT $stop(pid) FROM simjoin_stat_activity");
		$victim->finish;
		ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM simjoin_stat_activity}), 'it ends');
		all_is_back($stop);
	}
}
SKIP:
{
	skip 'no signals', 1 if $windows_os;
	my $victim = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $victim->query('SELECT pg_backend_pid()');
	$victim->query("BEGIN; DECLARE held CURSOR FOR $join; FETCH 1 FROM held");
	is(drawn(), $whole / 2, 'a session has its half');
	kill 9, $pid;
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'the server starts again');
	all_is_back('after a crash');
	$victim->{run}->kill_kill;
}
$node->stop;

# Without shared memory a session does not know of the others, and draws an eighth.
my $alone = start_node('alone', 'enable_nestloop = off', "simjoin.max_server_memory = '640MB'", @two_cpu_threads);
$alone->safe_psql('postgres', 'CREATE TABLE few AS SELECT id, ARRAY[id / 2 + 10, 1, 2] AS tokens FROM generate_series(0, 99) id');
like($alone->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) $join"), qr/Memory Drawn: 71680 kB/, 'an eighth of what is left');
$alone->stop;

done_testing();
