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
for my $format (qw(plain custom))
{
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
