# A join with a memory limit of a tenth of its data gives the same rows, through a temporary file that leaves no trace.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('out_of_core', 'log_temp_files = 0', @two_cpu_threads);
$node->safe_psql('postgres', q{
	CREATE TABLE sets (id int, tokens int[]);
	SELECT setseed(0.42);
	INSERT INTO sets SELECT id, ARRAY(SELECT (random() * 5000)::int FROM generate_series(1, 20 + id % 160))
	FROM generate_series(1, 27000) id;
	UPDATE sets SET tokens = before.tokens[2:] FROM sets before WHERE sets.id % 10 = 0 AND before.id = sets.id - 1;
	VACUUM ANALYZE sets;
});

my $data = $node->safe_psql('postgres', 'SELECT sum(cardinality(tokens)) * 4 / 1024 FROM sets');
my $limit = int($data / 10);
cmp_ok($limit, '>', 1024, 'a tenth of the data is above the smallest limit');
my $limited = "SET simjoin.memory_limit = '${limit}kB';";
my $join = 'FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8';
my $pairs = "SELECT count(*), sum(a.id * 7 + b.id), sum(jaccard_similarity(a.tokens, b.tokens))::numeric(20, 6) $join";
my $two_tables = 'SELECT count(*), sum(a.id * 7 + b.id) FROM (SELECT * FROM sets WHERE id % 3 <> 0) a
	JOIN (SELECT * FROM sets WHERE id % 5 <> 0) b ON cosine_similarity(a.tokens, b.tokens) >= 0.9';
my $function = q{SELECT count(*), sum(a * 7 + b), sum(similarity)::numeric(20, 6)
	FROM similarity_self_join('SELECT id, tokens FROM sets', 0.8)};

# Returns the number of temporary files that the database has had so far, and their bytes.
sub temporary_files
{
	return split /\|/, $node->safe_psql('postgres',
		q{SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = 'postgres'});
}

# Fails unless there is no temporary file now.
sub no_file_is_left
{
	my ($after) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, "no temporary file is left after $after");
	return;
}

for my $query ($pairs, $two_tables, $function)
{
	my $expected = $node->safe_psql('postgres', $query);
	cmp_ok((split /\|/, $expected)[0], '>', 1000, 'there are pairs');
	my ($files_before, $bytes_before) = temporary_files();
	is($node->safe_psql('postgres', "$limited $query"), $expected, 'the same rows within a tenth of the data');
	ok( $node->poll_query_until(
			'postgres', qq{SELECT temp_files > $files_before AND temp_bytes - $bytes_before > $data * 1024
				FROM pg_stat_database WHERE datname = 'postgres'}),
		'the statistics count the temporary file');
	no_file_is_left('a join');
}

my $plan = $node->safe_psql('postgres', "$limited EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) $join");
like($plan, qr/Partitions: [1-9]\d+\n/, 'EXPLAIN tells the parts');
my ($file) = $plan =~ qr/Engine Temporary File: (\d+) *kB/;
cmp_ok($file, '>', $data, 'and the size of the file');
my ($told) = $plan =~ qr/Memory Limit for One Part: (\d+) MB/;
for my $share ([ 1, 'unlike', 'the limit that it tells is enough for one part' ], [ 2 / 3, 'like', 'two thirds of it are not' ])
{
	my $kilobytes = int($told * 1024 * $share->[0]);
	my $at_limit = $node->safe_psql('postgres',
		"$limited SET simjoin.memory_limit = '${kilobytes}kB'; EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) $join");
	$share->[1] eq 'like' ? like($at_limit, qr/Partitions/, $share->[2]) : unlike($at_limit, qr/Partitions/, $share->[2]);
}
my ($memory) = $plan =~ qr/Engine Memory: (\d+) *kB/;
# 4 bytes per row, half a megabyte per thread and some buffers are always needed.
cmp_ok($memory, '<=', $limit / 2 + 27000 * 4 / 1024 + 1024 + 256, 'the engine has kept to its half of the limit');
my ($whole) = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) $join") =~ qr/Engine Memory: (\d+) *kB/;
cmp_ok($memory, '<', $whole / 4, 'which is much less than it takes without one');
unlike($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) $join"),
	qr/Partitions|Engine Temporary File/, 'and nothing of the kind where the limit is not reached');

# The file's own limit.
my ($status, $stdout, $stderr) = $node->psql('postgres', "SET temp_file_limit = '1MB'; $limited $pairs");
like($stderr, qr/ERROR:  the temporary file of a similarity join exceeds its limit of 1024 kB/, 'temp_file_limit holds');
like($stderr, qr/HINT:  Raise temp_file_limit/, 'with a hint');
no_file_is_left('an error of the engine');
$node->psql('postgres', "\\set VERBOSITY sqlstate\nSET temp_file_limit = '15MB'; $limited $pairs", stderr => \$stderr);
like($stderr, qr/ERROR:  53400/, 'an error of its threads keeps its SQLSTATE');
no_file_is_left('an error of its threads');

# Errors, cancels and timeouts in the middle.
$node->psql('postgres', "$limited SELECT 1 / (a.id - a.id) $join", stderr => \$stderr);
like($stderr, qr/division by zero/, 'an error above the join');
no_file_is_left('an error above the join');
for my $timeout (50, 400)
{
	$node->psql('postgres', "$limited SET statement_timeout = $timeout; SELECT count(*) FROM sets a
		JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.1", stderr => \$stderr);
	like($stderr, qr/statement timeout/, "a timeout after $timeout ms");
	no_file_is_left('a timeout');
}

# An error in a subtransaction that fetches from a cursor removes the cursor's file.
my $expected = $node->safe_psql('postgres', "SELECT count(*) $join");
is( $node->safe_psql('postgres', "$limited BEGIN; DECLARE c CURSOR FOR SELECT a.id $join; SAVEPOINT s;
		MOVE 1 FROM c; SELECT count(*) > 0 FROM pg_ls_tmpdir(); ROLLBACK TO s; CLOSE c;
		SELECT count(*) FROM pg_ls_tmpdir(); COMMIT"),
	"t\n0", 'a cursor has its file from its first row on, until it is closed');
($status, $stdout, $stderr) = $node->psql('postgres', "$limited BEGIN; DECLARE c CURSOR FOR SELECT 1 / (a.id - a.id) $join;
	SAVEPOINT s; FETCH ALL FROM c; ROLLBACK TO s; SELECT count(*) FROM pg_ls_tmpdir(); COMMIT", on_error_stop => 0);
like($stderr, qr/division by zero/, 'an error in a subtransaction');
like($stdout, qr/^0$/m, 'closes the file');

# The commit runs a cursor WITH HOLD to its end. Its rows outlive the transaction.
is( $node->safe_psql('postgres', "$limited BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT a.id $join; MOVE 10 FROM c; COMMIT;
		CREATE TABLE rest AS SELECT 0 AS n; MOVE FORWARD ALL FROM c; CLOSE c;
		SELECT count(*) FROM pg_ls_tmpdir()"),
	0, 'a cursor WITH HOLD');
($status, $stdout, $stderr) = $node->psql('postgres',
	"$limited BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT a.id $join; COMMIT; MOVE FORWARD ALL FROM c;");
is($stderr, '', 'one that nobody fetched from before the commit');
no_file_is_left('cursors');

# A join that is run again for each outer row uses a new file each time.
is( $node->safe_psql('postgres', "$limited SELECT string_agg(n::text, ' ') FROM generate_series(1, 2) g, LATERAL (
		SELECT count(*) n FROM sets a JOIN sets b ON jaccard_similarity(a.tokens, b.tokens) >= 0.8 AND a.id + g < b.id + g) x"),
	"$expected $expected", 'a join that is run twice');
no_file_is_left('a join that is run twice');

unlike(slurp_file($node->logfile), qr/temporary file leak/, 'PostgreSQL has found no file that was not closed');
stop_unharmed($node);
done_testing();
