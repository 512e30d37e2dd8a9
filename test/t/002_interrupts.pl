# A long join can be cancelled, timed out and terminated at any moment. The session keeps nothing of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('interrupts', 'max_connections = 20', 'log_min_messages = warning', @two_cpu_threads);
fill_sets($node, 150000, 60, 400);
my $long_join =
  'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.4';

my $session = $node->background_psql('postgres', on_error_stop => 0);

# Moments that hit the scan, the build and the join itself, for each way to join.
for my $algorithm (qw(auto allpairs ppjoin groupjoin bitmap))
{
	$session->query("SET simjoin.algorithm = $algorithm");
	takes_little_time_to_cancel($session, $algorithm, $long_join, 0.01, 0.1, 0.5, 1.4);
}
$session->query('RESET simjoin.algorithm');

# The backend's own view of its memory (not the shared buffers), in kB.
my $memory = q{SELECT (regexp_match(pg_read_file('/proc/self/status'), 'RssAnon:\s+(\d+)'))[1]};
SKIP:
{
	skip 'the system does not tell', 1 unless -r '/proc/self/status' && slurp_file('/proc/self/status') =~ /^RssAnon:/m;
	# The memory that one cancelled join leaves varies with the moment. A leak of every join adds up.
	my @memory;
	for (0 .. 19)
	{
		$session->query("SET statement_timeout = 400; $long_join; SET statement_timeout = 0");
		push @memory, $session->query($memory);
	}
	cmp_ok(min(@memory[ 10 .. 19 ]) - min(@memory[ 0 .. 9 ]), '<', 10240, 'ten more cancelled joins leave no memory behind');
}
# Slow work in the session's own thread, measured in processor time from the signal on.
$session->query(
	q{SET client_min_messages = error; CREATE TABLE words AS
	SELECT id, ARRAY(SELECT md5((id * 12 + i)::text) FROM generate_series(1, 12) i) AS tokens FROM generate_series(1, 60000) id;
	CREATE TABLE documents AS SELECT * FROM tf_idf('SELECT id, tokens FROM words WHERE id <= 20000');
	CREATE INDEX words_tokens ON words USING gin (tokens text_similarity_ops (threshold = 0.2));
	CREATE FUNCTION slow(tokens int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
	  AS 'BEGIN PERFORM pg_sleep(0.0005); RETURN tokens; END';
	CREATE TABLE large (tokens int[]);
	ALTER TABLE large ALTER tokens SET STORAGE EXTERNAL;
	CREATE TABLE indexed (LIKE large INCLUDING ALL);
	CREATE INDEX ON indexed USING gin (tokens int4_similarity_ops (threshold = 0.99));
	INSERT INTO large SELECT array_agg((i * 7919 % 100000007)::int) FROM generate_series(1, 8000000::bigint) i});
my $read_by_workers =
  'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(slow(a.tokens), slow(b.tokens)) >= 0.9';
like($session->query("EXPLAIN $read_by_workers"), qr/RowBlocks/, 'workers read the input of a join');
my %long_statements = (
	'a join whose input workers read' => [ $read_by_workers, 0.05, 0.3, 0.9 ],
	'shingles of a long text' => [ q{SELECT cardinality(shingles(repeat('abcdefgh', 10000000)))}, 0.2, 0.6, 1.2 ],
	'word_shingles of a long text' => [ q{SELECT cardinality(word_shingles(repeat('abcdefg ', 10000000)))}, 0.6 ],
	'a long text of marks' => [ q{SELECT cardinality(token_set(repeat(U&'\0301\0323', 3000000), 'alnum(nfkc)'))}, 0.1, 0.6 ],
	'a join of texts' => [ q{SELECT count(*) FROM words a JOIN words b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5}, 0.1, 0.2 ],
	'a join of sets with weights' => [ q{SELECT count(*) FROM similarity_self_join('SELECT id, ARRAY(SELECT (id * i * i) % 400 FROM generate_series(1, 40) i),
		array_fill(0.5::real, ARRAY[40]) FROM generate_series(1, 30000) id', 0.1, 'weighted_jaccard')}, 0.3, 0.6, 1.2 ],
	'a join of vectors' => [ q{SELECT count(*) FROM similarity_self_join('SELECT id, ARRAY(SELECT (id * i * i) % 400 FROM generate_series(1, 40) i),
		array_fill(0.7::real, ARRAY[40]) FROM generate_series(1, 30000) id', 0.1, 'weighted_cosine')}, 0.3, 0.6, 1.2 ],
	'the cosine of two vectors' => [ q{SELECT weighted_cosine_similarity(tokens, array_fill(0.7::real, ARRAY[cardinality(tokens)]), tokens,
		array_fill(0.9::real, ARRAY[cardinality(tokens)])) FROM large}, 0.5, 1.5 ],
	'a join with a small side' => [ q{SELECT count(*) FROM (SELECT tokens FROM words, generate_series(1, 50) OFFSET 0) a
		JOIN (SELECT tokens FROM words WHERE id <= 9500) b ON jaccard_similarity(a.tokens, b.tokens) >= 0.5}, 0.05, 0.1, 0.3, 0.8 ],
	'a profile of all rows' => [ q{SELECT count(*) FROM similarity_profile('SELECT id, tokens FROM sets', '{0.9,0.5,0.4}', sample => NULL)}, 0.1, 0.3, 0.9 ],
	'a profile of a sample' => [ q{SELECT count(*) FROM similarity_profile('SELECT id, tokens FROM sets', '{0.9,0.5,0.4}', sample => 60000)}, 0.1, 0.3, 0.9 ],
	'tf_idf' => [ q{SELECT count(*) FROM tf_idf('SELECT id, tokens FROM words')}, 0.1, 0.3, 0.6 ],
	'idf' => [ q{SELECT count(*) FROM idf('SELECT id, array_to_string(tokens, '' '') FROM words', tokens => 'words')}, 0.1, 0.3, 0.6 ],
	'indexing a large set' => [ q{INSERT INTO indexed SELECT tokens FROM large}, 0.3, 0.6, 0.9 ],
	'looking a large set up' =>
	  [ q{SET enable_seqscan = off; SELECT count(*) FROM indexed WHERE tokens ~= similarity_query((SELECT tokens FROM large), 0.99)}, 0.3, 0.6 ],
	'checking an index' => [ q{SELECT similarity_index_check('words_tokens')}, 0.05, 0.15, 0.3 ],
	'cluster_documents' => [ q{SELECT count(*) FROM cluster_documents('SELECT * FROM documents', 0.5)}, 0.1, 0.3 ],
);
takes_little_time_to_cancel($session, $_, @{ $long_statements{$_} }) for sort keys %long_statements;
no_threads_left($session, 'no thread is left after cancelled statements');
is( $session->query(
		q{SELECT count(*) > 100 FROM (SELECT FROM sets a JOIN sets b ON a.id < b.id AND
			jaccard_similarity(a.tokens, b.tokens) >= 0.9 AND a.id < 2000 AND b.id < 2000) pairs}),
	't',
	'the session goes on working');
$session->quit;

# Signals from another session.
my $victims = q{query LIKE 'SELECT count(*) FROM sets a JOIN%'};
for my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	my $message = $function eq 'pg_cancel_backend' ? 'canceling statement due to user request'
	  : 'terminating connection due to administrator command';
	my ($stdout, $stderr) = ('', '');
	my $victim = IPC::Run::start(
		[ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', $long_join ],
		'>', \$stdout, '2>', \$stderr);
	ok( $node->poll_query_until(
			'postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE $victims
			AND state = 'active' AND now() - query_start > interval '500 ms'"),
		"a join runs before $function");
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $victims");
	takes_little_time_to_end($pid, "$function takes effect at once",
		sub { $node->safe_psql('postgres', "SELECT $function($pid)") });
	$victim->finish;
	like($stderr, qr/$message/, "$function is reported");
}
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE $victims"),
	'the terminated backend is gone');

# A parallel worker that is terminated ends the statement, and nothing else.
{
	my ($stdout, $stderr) = ('', '');
	my $victim = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', $read_by_workers, '-c', "SELECT 'goes on'" ],
		'>', \$stdout, '2>', \$stderr);
	my $worker = "FROM pg_stat_activity WHERE backend_type = 'parallel worker'";
	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 $worker"), 'a worker reads');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $worker LIMIT 1");
	$victim->finish;
	like($stderr, qr/terminating background worker|terminating connection/, 'the statement fails');
	is($stdout, "goes on\n", 'the session goes on after a worker was terminated');
}

# A join that is abandoned half way leaves nothing either: LIMIT, a closed cursor, a rolled back transaction, an
# error above it.
my $stderr;
$node->psql(
	'postgres', q{BEGIN; DECLARE c CURSOR FOR SELECT a.id FROM sets a JOIN sets b ON a.id < b.id
		AND jaccard_similarity(a.tokens, b.tokens) >= 0.7;
	FETCH 3 FROM c; CLOSE c; ROLLBACK;}, stderr => \$stderr);
is($stderr, '', 'a cursor can be closed early');
$node->psql(
	'postgres', q{SELECT 1 / (a.id - a.id) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7},
	stderr => \$stderr);
like($stderr, qr/division by zero/, 'an error above the join ends it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_ls_tmpdir()'), 0, 'no temporary file is left');

stop_unharmed($node);
done_testing();
