# Little memory, many workers, one thread: the same pairs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('resources', 'max_parallel_workers_per_gather = 2', 'max_worker_processes = 8');
fill_sets($node, 20000, 30, 5000);
$node->safe_psql('postgres', q{ALTER TABLE sets ADD body text; UPDATE sets SET body = repeat(id::text, 100); ANALYZE sets});

my $join = q{SELECT count(*), sum(length(a.body) + length(b.body)), sum(a.id * 7 + b.id)
	FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7};
my $pairs = $node->safe_psql('postgres', $join);
cmp_ok((split /\|/, $pairs)[0], '>', 500, 'there are pairs');
for my $settings ("work_mem = '64kB'", "simjoin.memory_limit = '1MB'", 'simjoin.cpu_threads = 1', 'simjoin.cpu_threads = 16')
{
	is($node->safe_psql('postgres', "SET $settings; $join"), $pairs, "the same pairs with $settings");
}

# If the system gives no threads, a join that needs one reports that, and the session goes on.
SKIP:
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $backend = $session->query('SELECT pg_backend_pid()');
	chomp(my $before = `prlimit --pid $backend --nproc --noheadings --raw --output=SOFT 2> /dev/null`);
	skip 'no thread limit can be set here', 4 unless system("prlimit --pid $backend --nproc=1: 2> /dev/null") == 0;
	$session->query($join);
	like($session->{stderr}, qr/ERROR: +could not start a thread: .*\nHINT: +Lower simjoin\.cpu_threads/, 'a join needs a thread');
	$session->{stderr} = '';
	is($session->query("SELECT count(*) > 0 FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5
		AND a.id < 20 AND b.id < 20"), 't', 'a small join needs none');
	is(system("prlimit --pid $backend --nproc=$before:"), 0, 'the limit is raised');
	is($session->query($join), $pairs, 'the same session joins again');
	$session->quit;
}

# Rows that do not fit into memory wait in a temporary file, and EXPLAIN shows that.
my $plan = $node->safe_psql('postgres', "SET simjoin.memory_limit = '1MB'; EXPLAIN (ANALYZE, COSTS OFF) $join");
like($plan, qr/Row Temporary Files: [1-9]\d* *kB/, 'rows went to a temporary file');
# A session reports its statistics when it ends.
my $counted = 'SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = current_database()';
my ($files, $bytes) = split /\|/, $node->safe_psql('postgres', $counted);
$node->safe_psql('postgres', "SET simjoin.memory_limit = '1MB'; $join");
ok($node->poll_query_until('postgres', "SELECT temp_files > $files AND temp_bytes > $bytes + 1000000 FROM ($counted) now"),
	'and pg_stat_database counts it');

# The measures run in parallel workers, with the settings of their leader.
my $settings = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET simjoin.similarity_threshold = 0.1; SET simjoin.measure = 'dice';};
my $filter = q{SELECT count(*), sum(jaccard_similarity(tokens, (SELECT tokens FROM sets WHERE id = 1)))::numeric(12, 9)
	FROM sets WHERE tokens ~= (SELECT tokens FROM sets WHERE id = 1)};
like($node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) $filter"), qr/Gather/, 'a parallel plan');
my $serial = $node->safe_psql('postgres', "$settings SET max_parallel_workers_per_gather = 0; $filter");
cmp_ok((split /\|/, $serial)[0], '>', 1, 'the filter passes rows');
is($node->safe_psql('postgres', "$settings $filter"), $serial, 'workers compute the same');

stop_unharmed($node);
done_testing();
