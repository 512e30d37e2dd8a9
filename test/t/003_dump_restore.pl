# pg_dump restores a database with shingles and signatures in generated columns as it was.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('dump');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE texts (
		id bigint PRIMARY KEY,
		body text,
		tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED,
		words bigint[] GENERATED ALWAYS AS (word_shingles64(body, 2)) STORED);
	CREATE TABLE signatures (id bigint PRIMARY KEY, signature minhash);
	CREATE INDEX ON signatures USING hash (signature);
	INSERT INTO texts (id, body)
	SELECT row_number() OVER (ORDER BY objoid, classoid, objsubid), description FROM pg_description;
	INSERT INTO texts VALUES (-1, NULL), (-2, ''), (-3, 'Grüße, 世界');
	INSERT INTO signatures SELECT id, minhash(tokens, 40, id) FROM texts
	UNION ALL SELECT -10, weighted_minhash('{1,2}'::int[], '{3,4}') UNION ALL SELECT -11, minhash_truncate(minhash('{1}'::int[]), 3);
	CREATE VIEW near_duplicates AS
	SELECT a.id AS a, b.id AS b, jaccard_similarity(a.tokens, b.tokens) AS similarity
	FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9;
	CREATE VIEW similar_words AS
	SELECT a.id AS a, b.id AS b FROM texts a JOIN texts b ON a.id < b.id AND a.words ~= b.words;
});

my $contents = q{
	SELECT md5(string_agg(t::text, E'\n' ORDER BY id)) FROM texts t;
	SELECT count(*), md5(string_agg(d::text, E'\n' ORDER BY a, b)) FROM near_duplicates d;
	SELECT count(*), md5(string_agg(w::text, E'\n' ORDER BY a, b)) FROM similar_words w;
	SELECT count(signature), md5(string_agg(s::text, E'\n' ORDER BY id)) FROM signatures s;
	SELECT extversion FROM pg_extension WHERE extname = 'simjoin';
};
my $before = $node->safe_psql('postgres', $contents);
my ($pairs) = $before =~ /\n(\d+)\|/;
cmp_ok($pairs, '>', 10, 'there are near-duplicates');

my $folder = $node->basedir;
$node->safe_psql(
	'postgres', qq{
	COPY signatures TO '$folder/signatures' (FORMAT binary);
	CREATE TABLE copied (LIKE signatures);
	COPY copied FROM '$folder/signatures' (FORMAT binary);
});
is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE signatures EXCEPT TABLE copied) d'), 0,
	'binary copies of signatures are equal');
$node->safe_psql(
	'postgres', qq{
	CREATE TABLE queries (id int, q similarity_query);
	INSERT INTO queries VALUES (1, similarity_query('{1,-2}'::int[], 0.1)), (2, similarity_query('{}'::bigint[], 1, 'jaccard_distance')),
		(3, similarity_query('{"a b","\u00e9"}'::text[], 3, 'overlap')), (4, NULL),
		(5, similarity_query('{7}'::int[], 0.5, 'overlap_coefficient')), (6, similarity_query('{7}'::int[], 0.5, 'containment'));
	COPY queries TO '$folder/queries' (FORMAT binary);
	CREATE TABLE copied_queries (LIKE queries);
	COPY copied_queries FROM '$folder/queries' (FORMAT binary);
	CREATE TABLE received (q similarity_query)});
is( $node->safe_psql('postgres', 'SELECT count(*) FROM queries JOIN copied_queries c USING (id) WHERE queries.q::text IS NOT DISTINCT FROM c.q::text'), 6,
	'binary copies of queries are equal');
for my $byte ([ 0, 2 ], [ 1, 6 ], [ 2, 1 ], [ 2, 2 ], [ 3, 0 ], [ 3, 3 ], [ 15, 3 ])
{
	$node->safe_psql('postgres', "COPY (SELECT set_byte(similarity_query_send(similarity_query('{1,2}'::bigint[], 0.5, 'cosine')), $byte->[0], $byte->[1]))
		TO '$folder/query' (FORMAT binary)");
	my ($result, $stdout, $stderr) = $node->psql('postgres', "COPY received FROM '$folder/query' (FORMAT binary)");
	like($stderr, qr/^psql:<stdin>:1: ERROR:  (similarity_query: the bytes are not a query|.*array|.*dimension|insufficient data)/, "byte $byte->[0] of a query may not be $byte->[1]");
}
SKIP: for my $format (qw(plain custom))
{
	skip 'pg_dump or pg_restore is missing', 1 unless has_programs('pg_dump', 'pg_restore');
	my $file = "$folder/dump.$format";
	my $database = "restored_$format";
	$node->command_ok([ 'pg_dump', '--format', $format, '--file', $file, $node->connstr('postgres') ], "$format: dump");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	if ($format eq 'plain')
	{
		$node->command_ok(
			[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $node->connstr($database), '-f', $file ],
			'plain: restore');
	}
	else
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr($database), $file ],
			'custom: restore');
	}
	is($node->safe_psql($database, $contents), $before, "$format: the same rows and the same near-duplicates");
}

$node->safe_psql('postgres', 'DROP EXTENSION simjoin CASCADE');
is($node->safe_psql('postgres', q{SELECT count(*) FROM information_schema.columns WHERE table_name = 'texts'}),
	2, 'dropping the extension takes its generated columns with it and leaves the rest');

stop_unharmed($node);
done_testing();
