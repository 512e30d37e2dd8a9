# Measures from outside that simjoin.memory_limit holds: by the largest resident memory of the server's process, as the
# system counts it, while a statement runs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

plan skip_all => 'the system does not tell the peak' unless -w '/proc/self/clear_refs' && slurp_file('/proc/self/status') =~ /^RssAnon:/m;

# No threads of a GPU, and the memory of one session for rows that wait.
my $node = start_node('memory_limits', @two_cpu_threads, "work_mem = '64kB'", 'jit = off', 'max_parallel_workers_per_gather = 0');
my ($rows, $size, $universe) = (40000, 20, 1000000);
$node->safe_psql(
	'postgres', qq{
	SELECT setseed(0.42);
	CREATE TABLE int4_sets AS SELECT id, ARRAY(SELECT (random() * $universe)::int FROM generate_series(1, $size + id * 0)) AS tokens
	FROM generate_series(1, $rows) id;
	UPDATE int4_sets SET tokens = before.tokens FROM int4_sets before WHERE int4_sets.id % 10 = 0 AND before.id = int4_sets.id - 1;
	CREATE TABLE int8_sets AS SELECT id, ARRAY(SELECT t * 1000003::bigint FROM unnest(tokens) t) AS tokens FROM int4_sets;
	CREATE TABLE text_sets AS SELECT id, ARRAY(SELECT 'word ' || t FROM unnest(tokens) t) AS tokens FROM int4_sets;
	CREATE TABLE large_sets AS SELECT id, ARRAY(SELECT (random() * 100000)::int FROM generate_series(1, 20000 + id * 0)) AS tokens
	FROM generate_series(1, 300) id;
	VACUUM ANALYZE;
});
$node->safe_psql('postgres', "CREATE FUNCTION all_${_}_sets() RETURNS SETOF ${_}_sets LANGUAGE plpgsql STABLE ROWS 1
	AS 'BEGIN RETURN QUERY SELECT * FROM ${_}_sets; END'") for 'int4', 'int8', 'text';
my $distinct = $node->safe_psql('postgres', 'SELECT count(DISTINCT t) FROM int4_sets, unnest(tokens) t');

# Returns a figure of the kernel about a process, in kB.
sub status
{
	my ($pid, $name) = @_;
	my ($value) = slurp_file("/proc/$pid/status") =~ /^$name:\s+(\d+)/m;
	return $value;
}

# Runs the statement in a session of its own. Returns the largest growth of its memory in kB, without shared memory, and
# its output.
sub peak
{
	my ($limit, $statement) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query("SET simjoin.memory_limit = '$limit'; SELECT simjoin_version() \\gset\nSELECT pg_backend_pid()");
	$pid =~ s/\D//g;
	append_to_file("/proc/$pid/clear_refs", '5');    # resets the peak
	my $before = status($pid, 'RssAnon');
	my $printed = $session->query($statement);
	my $peak = status($pid, 'VmHWM') - status($pid, 'RssShmem') - status($pid, 'RssFile') - $before;
	$session->quit;
	return ($peak, $printed);
}

# Tests that the statement exceeds the limit (MB) by at most `more` kB.
sub keeps_to
{
	my ($name, $limit, $more, $statement) = @_;
	my ($peak, $printed) = peak("${limit}MB", $statement);
	note("$name within $limit MB: $peak kB");
	cmp_ok($peak, '<=', $limit * 1024 + $more, "$name keeps to $limit MB");
	return $printed;
}

# For an exact join the manual gives about a byte per row, 8 per row that waits, two bytes per distinct element, half a
# megabyte per thread and three quarters of a megabyte for buffers. Results that wait and PostgreSQL's own needs come on top.
my $floor = ($rows * 2 * 9 + 2 * $distinct) / 1024 + 2 * 512 + 768 + 2048;
for my $type ('int4', 'int8', 'text')
{
	my $on = 'a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8';
	my $join = "SELECT count(*) FROM ${type}_sets a JOIN ${type}_sets b ON $on";
	is(keeps_to("a join of $type", 4, $floor, $join), 4000, 'and finds the pairs');
	my $rows_of = "'SELECT id, tokens FROM ${type}_sets'";
	is(keeps_to("similarity_self_join of $type", 4, $floor, "SELECT count(*) FROM similarity_self_join($rows_of, 0.8)"),
		4000, 'and finds the pairs');
	is(keeps_to("a join with a small side of $type", 4, $floor, "$join AND b.id <= 500"), 50, 'and finds the pairs');
	is(keeps_to("a join of $type with more rows than expected", 4, $floor,
			"SELECT count(*) FROM all_${type}_sets() a JOIN ${type}_sets b ON $on"),
		4000, 'and finds the pairs');
	# A side that streams is not kept, nor are its rows.
	my ($peak, $streamed) = peak('1GB', "SELECT count(a.tokens), count(b.tokens) FROM ${type}_sets a
		LEFT JOIN (SELECT tokens FROM ${type}_sets WHERE id = 9) b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8");
	is($streamed, '40000|2', "a row against all rows of $type");
	cmp_ok($peak, '<', 3072, "needs little memory ($peak kB)");
	is( keeps_to("similarity_neighbors of $type", 16, $floor,
			"SELECT count(*) FROM similarity_neighbors($rows_of, $rows_of, 1, 0.8)"),
		40000, 'and finds the neighbors');
	is( keeps_to("similarity_profile of $type with sample => $_", 16, $floor,
			"SELECT sum(abs(pairs - 4000)) < 5 * (4 * max(pairs_error) + 1) FROM similarity_profile($rows_of, sample => $_)"),
		't', 'and counts the pairs') for 10000, 'NULL';
	is(keeps_to("duplicate_groups of $type", 16, $floor, "SELECT count(*) FROM duplicate_groups($rows_of, 0.8)"),
		40000, 'and groups all rows');
	my $weighted = "'SELECT id, tokens, array_fill(0.5::real, ARRAY[cardinality(tokens)]) FROM ${type}_sets'";
	is( keeps_to("a join of $type with weights by $_", 4, $floor,
			"SELECT count(*) FROM similarity_self_join($weighted, 0.8, '$_')"),
		4000, 'and finds the pairs') for qw(weighted_jaccard weighted_cosine);
	is(keeps_to("weighted_minhash_self_join of $type", 4, $floor, "SELECT count(*) FROM weighted_minhash_self_join($weighted, 0.8)"),
		4000, 'and finds the equal sets');
	is(keeps_to("minhash_self_join of $type", 4, $floor, "SELECT count(*) FROM minhash_self_join($rows_of, 0.8)"),
		4000, 'and finds the equal sets');
	keeps_to("minhash_self_join of $type, unverified",
		4, $floor, "SELECT count(*) FROM minhash_self_join($rows_of, 0.8, verify => false)");
	is(keeps_to("a join of $type by bands", 4, $floor, "SET simjoin.method = minhash; $join"), 4000, 'and finds the equal sets');
}
# 12 MB of keys, most of them in files.
my $keyed = q{'SELECT repeat(md5(id::text), 10), tokens FROM int4_sets'};
my $key = 'key => NULL::text';
is(keeps_to('similarity_self_join with keys', 4, $floor, "SELECT count(*) FROM similarity_self_join($keyed, 0.8, $key)"),
	4000, 'and finds the pairs');
is( keeps_to('similarity_neighbors with keys', 16, $floor,
		"SELECT count(*) FROM similarity_neighbors($keyed, $keyed, 1, 0.8, left_$key, right_$key)"),
	40000, 'and finds the neighbors');
is( keeps_to('similarity_profile with keys', 16, $floor,
		"SELECT max(pairs) FROM similarity_profile($keyed, sample => NULL, $key)"), 4000, 'and counts the pairs');
is(keeps_to('duplicate_groups with keys', 16, $floor, "SELECT count(*) FROM duplicate_groups($keyed, 0.8, $key)"),
	40000, 'and groups all rows');
is( keeps_to('connected_components with keys', 8, $floor,
		q{SELECT count(*) FROM connected_components('SELECT repeat(md5(id::text), 10), repeat(md5((id + 1)::text), 10) FROM int4_sets', } . "$key)"),
	40001, 'and finds the nodes');
# 24 MB of sets of 80 kB each, also if they wait for the choice of a device.
for my $device ('cpu', 'auto')
{
	my $rows_of = q{'SELECT id, tokens FROM large_sets'};
	keeps_to("a join of large sets, device = $device",
		8, $floor, "SET simjoin.device = $device; SELECT count(*) FROM similarity_self_join($rows_of, 0.8)");
}
# A bucket of all rows, which is chained. With one thread, nothing waits for others on a busy machine.
my $copies = q{'SELECT id, ARRAY[1, 2, 3] FROM generate_series(1, 200000) id'};
keeps_to('a join of copies by bands',
	4, $floor + 9 * 200000 / 1024, "SET simjoin.cpu_threads = 1; SELECT count(*) FROM minhash_self_join($copies, 0.8)");
# Computations that are refused beyond the limit are refused in time.
my $edges = q{'SELECT id, t FROM int4_sets, unnest(tokens) t'};
for my $statement (
	"pagerank($edges)", "densest_subgraph($edges, 100)", "connected_components($edges)",
	q{tf_idf('SELECT id, tokens FROM text_sets')},
	q{idf('SELECT id, array_to_string(tokens, '' '') FROM text_sets', tokens => 'words')},
	q{cluster_documents('SELECT id, tokens, array_fill(1::real, ARRAY[cardinality(tokens)]) FROM int4_sets', 0.5)},
	q{cluster_documents('SELECT id, tokens, array_fill(1::real, ARRAY[cardinality(tokens)]) FROM int4_sets', 0.5, 20, 1, merge => 0.5)})
{
	my ($function) = $statement =~ /^(\w+)/;
	keeps_to($function, 8, 4096, "SELECT count(*) FROM $statement");
}

stop_unharmed($node);
done_testing();
