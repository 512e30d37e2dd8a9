# Streams of documents: dump and restore, calls that are rolled back or cancelled.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('cluster_streams', 'log_min_messages = warning', @two_cpu_threads);
$node->safe_psql(
	'postgres', q{
	CREATE SCHEMA papers;
	SELECT cluster_stream_create('papers.stream');
	SELECT cluster_stream_create('numbers', NULL::bigint[]);
	CREATE TABLE docs AS
	SELECT row_number() OVER (ORDER BY objoid, classoid, objsubid) AS id, regexp_split_to_array(lower(description), '\W+') AS words
	FROM pg_description;
	CREATE TABLE bags AS SELECT * FROM tf_idf('SELECT * FROM docs', 12);
	CREATE TABLE number_bags AS
	SELECT id, ARRAY(SELECT hashtextextended(t, 0) FROM unnest(terms) WITH ORDINALITY u (t, n) ORDER BY n) AS terms, weights
	FROM bags;
	SELECT count(*) FROM cluster_stream('papers.stream', 'SELECT * FROM bags WHERE id <= 1300 ORDER BY id', 0.6, batch => 1024);
	SELECT count(*) FROM cluster_stream('numbers', 'SELECT * FROM number_bags WHERE id <= 1300 ORDER BY id', 0.6, batch => 1024);
});

# Returns the clusters that a stream gives to the documents that follow. The stream stays as it was.
my $following = q{
	SELECT count(*), md5(string_agg(c::text, ' ' ORDER BY id))
	FROM cluster_stream('papers.stream', 'SELECT * FROM bags WHERE id > 1300 ORDER BY id', 0.6, batch => 1024) c;
	SELECT count(*), md5(string_agg(c::text, ' ' ORDER BY id))
	FROM cluster_stream('numbers', 'SELECT * FROM number_bags WHERE id > 1300 ORDER BY id', 0.6, batch => 1024) c;
	SELECT count(*), max(cluster), md5(string_agg(s::text, ' ' ORDER BY cluster)) FROM papers.stream s;
};
sub follow { my ($database) = @_; return $node->safe_psql($database, "BEGIN; $following; ROLLBACK"); }

my $expected = follow('postgres');
like($expected, qr/^\d{3,}\|.*\n\d{3,}\|.*\n\d{3,}\|/, 'there are documents and clusters');
is(follow('postgres'), $expected, 'a call that is rolled back leaves no trace');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM cluster_documents('SELECT * FROM bags ORDER BY id', 0.6, batch => 1024) c
		JOIN cluster_stream('papers.stream', 'SELECT * FROM bags WHERE id > 1300 ORDER BY id', 0.6, batch => 1024) s USING (id)
		WHERE (c.cluster, c.similarity) IS DISTINCT FROM (s.cluster, s.similarity);
		DELETE FROM papers.stream;
		SELECT count(*) FROM cluster_stream('papers.stream', 'SELECT * FROM bags WHERE id <= 1300 ORDER BY id', 0.6, batch => 1024)}),
	"0\n1300", 'the clusters of a stream are those of one call');

my $folder = $node->basedir;
SKIP: for my $format (qw(plain custom))
{
	skip 'pg_dump or pg_restore is missing', 1 unless has_programs('pg_dump', 'pg_restore');
	my $file = "$folder/dump.$format";
	my $database = "restored_$format";
	$node->command_ok([ 'pg_dump', '--format', $format, '--file', $file, $node->connstr('postgres') ], "$format: dump");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @restore =
	  $format eq 'plain'
	  ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr($database), '-f', $file)
	  : ('pg_restore', '--exit-on-error', '--dbname', $node->connstr($database), $file);
	$node->command_ok(\@restore, "$format: restore");
	is(follow($database), $expected, "$format: the restored streams go on like the original ones");
}

# A call can be cancelled at any moment, and the session keeps nothing of it.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE many AS
	SELECT i AS id, ARRAY(SELECT (i * 7919 + j * j * 104729) % 1500 FROM generate_series(1, 20) j) AS terms,
		array_fill(1::real, ARRAY[20]) AS weights FROM generate_series(1, 60000) i;
	CREATE TABLE long AS SELECT 1 AS id, array_agg(i) AS terms, array_agg(1::real) AS weights FROM generate_series(1, 3000000) i;
	SELECT cluster_stream_create('cancelled', NULL::int[]);
});
# Far more documents than any machine clusters before the timeouts.
my %statements = (
	'cluster_documents' => q{SELECT count(*) FROM cluster_documents('SELECT many.* FROM many, generate_series(1, 200)', 0.95)},
	'cluster_documents, in batches' => q{SELECT count(*) FROM cluster_documents('SELECT many.* FROM many, generate_series(1, 200)', 0.95, batch => 1024)},
	'cluster_stream' => q{SELECT count(*) FROM cluster_stream('cancelled', 'SELECT many.* FROM many, generate_series(1, 200)', 0.95)},
	'cluster_documents, merging' => q{SELECT count(*) FROM cluster_documents('SELECT many.* FROM many, generate_series(1, 200)', 0.95, 20, 1024, 0.9)},
	'long documents' => q{SELECT count(*) FROM cluster_documents('SELECT long.* FROM long, generate_series(1, 200)', 0.95)},
	'tf_idf' => q{SELECT count(*) FROM tf_idf('SELECT i, terms FROM long, generate_series(1, 200) i', NULL::int[])},
);
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query("SET simjoin.memory_limit = '16GB'");
takes_little_time_to_cancel($session, $_, $statements{$_}, 0.1, 1.4) for sort keys %statements;
$session->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM cancelled'), 0, 'cancelled calls have stored nothing');

# A GPU gives the clusters of the CPU, whatever fails.
SKIP:
{
	skip 'there is no GPU here', 1 if $node->safe_psql('postgres', 'SELECT count(*) FROM simjoin_devices()') == 0;
	my $clusters = q{SELECT md5(string_agg(c::text, ' ' ORDER BY id))
		FROM cluster_documents('SELECT * FROM bags ORDER BY id', 0.6, batch => 256) c};
	for my $parameters ('batch => 256', 'batch => 1', '20, 256, merge => 0.4', '20, 1, merge => 0.4')
	{
		my $as_given = $clusters =~ s/batch => 256/$parameters/r;
		is( $node->safe_psql('postgres', "SET simjoin.device = gpu; $as_given"),
			$node->safe_psql('postgres', "SET simjoin.device = cpu; $as_given"), "the same clusters on a GPU: $parameters");
	}
	for my $call (10, 40)    # the first ones look for a GPU
	{
		my ($status, $stdout, $stderr) = $node->psql('postgres',
			"SET simjoin.device = gpu; SET simjoin.debug_device_fault = -$call; $clusters", on_error_stop => 0);
		like($stderr, qr/ERROR:  the GPU failed/, "where the GPU is demanded, a failure of call $call is an error");
	}
	# The first batch of a session sets the GPU up.
	stops_in_time($node, 'cluster_documents on a GPU',
		"SET simjoin.memory_limit = '16GB'; SET simjoin.device = gpu; $statements{'cluster_documents, in batches'}", 2 * $patience, 700, 2000);
}

stop_unharmed($node);
done_testing();
