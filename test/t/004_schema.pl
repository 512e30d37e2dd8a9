# The extension works from any schema, named or on the search path, and can be moved.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('schema');
fill_sets($node, 1000, 20, 2000);
my $pairs = $node->safe_psql('postgres',
	'SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.7');
cmp_ok($pairs, '>', 50, 'there are pairs');

# Checks that everything answers when the extension's objects are named with their schema.
sub check_schema
{
	my ($schema, $when) = @_;
	for my $clause ("$schema.jaccard_similarity(a.tokens, b.tokens) >= 0.7", "a.tokens OPERATOR($schema.~=) b.tokens")
	{
		my $join = "SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND $clause";
		like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $join"), qr/SetSimilarityJoin/, "$when: $clause is planned");
		is($node->safe_psql('postgres', $join), $pairs, "$when: $clause finds the pairs");
	}
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM $schema.similarity_self_join('SELECT id::bigint AS id, tokens FROM sets', 0.7)"),
		$pairs,
		"$when: similarity_self_join");
	is($node->safe_psql('postgres', "SELECT ARRAY[1, 2] OPERATOR($schema.<%>) ARRAY[2, 3]") + 0,
		$node->safe_psql('postgres', 'SELECT 2 / 3::float8') + 0, "$when: <%>");
	is($node->safe_psql('postgres', "SELECT cardinality($schema.shingles('abcdefg', 5))"), 3, "$when: shingles");
	return;
}

check_schema('public', 'installed in public');
$node->safe_psql('postgres', 'CREATE SCHEMA tools; ALTER EXTENSION simjoin SET SCHEMA tools');
check_schema('tools', 'moved');
$node->safe_psql('postgres', 'DROP EXTENSION simjoin; CREATE EXTENSION simjoin SCHEMA tools');
check_schema('tools', 'installed elsewhere');

# A user without other rights joins the tables that the user may read, and no others.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE reader;
	CREATE TABLE secret (id bigint, tokens int[]);
	GRANT SELECT ON sets TO reader;
	GRANT USAGE ON SCHEMA tools TO reader;
});
is( $node->safe_psql(
		'postgres',
		"SET ROLE reader; SELECT count(*) FROM tools.similarity_self_join('SELECT id::bigint AS id, tokens FROM sets', 0.7)"),
	$pairs,
	'a reader joins');
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"SET ROLE reader; SELECT count(*) FROM tools.similarity_self_join('SELECT id, tokens FROM secret', 0.7)");
like($stderr, qr/permission denied for table secret/, 'but not what may not be read');

# Names of extensions that are not at hand, with the argument types that they have there, in the schema that simjoin comes to,
# before it or after it: pgvector, PostGIS, smlar, and functions of users with general names.
my $stand_ins = q{
	CREATE TYPE vector AS (x real[]);
	CREATE TYPE geometry AS (x float8, y float8);
	CREATE FUNCTION cosine_distance(vector, vector) RETURNS float8 LANGUAGE sql AS 'SELECT 0.5::float8';
	CREATE FUNCTION l2_distance(vector, vector) RETURNS float8 LANGUAGE sql AS 'SELECT 0.5::float8';
	CREATE FUNCTION jaccard_distance(bit, bit) RETURNS float8 LANGUAGE sql AS 'SELECT 0.25::float8';
	CREATE FUNCTION hamming_distance(bit, bit) RETURNS float8 LANGUAGE sql AS 'SELECT 0.25::float8';
	CREATE OPERATOR <%> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = jaccard_distance, COMMUTATOR = <%>);
	CREATE OPERATOR <=> (LEFTARG = vector, RIGHTARG = vector, FUNCTION = cosine_distance, COMMUTATOR = <=>);
	CREATE FUNCTION geometry_same(geometry, geometry) RETURNS bool LANGUAGE sql AS 'SELECT true';
	CREATE OPERATOR ~= (LEFTARG = geometry, RIGHTARG = geometry, FUNCTION = geometry_same, COMMUTATOR = ~=);
	CREATE FUNCTION smlar(anyarray, anyarray) RETURNS real LANGUAGE sql AS 'SELECT 0.75::real';
	CREATE OPERATOR % (LEFTARG = anyarray, RIGHTARG = anyarray, FUNCTION = smlar, COMMUTATOR = %);
	CREATE FUNCTION pagerank(regclass) RETURNS float8 LANGUAGE sql AS 'SELECT 0.1::float8';
	CREATE FUNCTION connected_components(int[]) RETURNS int LANGUAGE sql AS 'SELECT 7';
	CREATE FUNCTION shingles(bytea) RETURNS int LANGUAGE sql AS 'SELECT 8';
	CREATE FUNCTION tf_idf(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT 0.9::float8';
};
my $calls = q{
	SELECT B'10' <%> B'11', ROW('{1}')::vector <=> ROW('{2}')::vector, ROW(1, 2)::geometry ~= ROW(1, 2)::geometry, ARRAY[1] % ARRAY[2],
		pagerank('pg_class'::regclass), connected_components('{1}'::int[]), shingles('\\x00'::bytea), tf_idf(1.0::float8, 2.0::float8);
	SELECT ARRAY[1, 2] <%> ARRAY[1, 2], ARRAY[1, 2] ~= ARRAY[1, 2], cardinality(shingles('abcdefg')),
		jaccard_distance('{1,2}'::int[], '{1,2}'::int[]);
	SELECT count(*) FROM pagerank('SELECT i, i + 1 FROM generate_series(1, 9) i');
	SELECT count(*) FROM connected_components('SELECT i, i + 1 FROM generate_series(1, 9) i');
	SELECT count(*) FROM tf_idf('SELECT i, ARRAY[i::text] FROM generate_series(1, 9) i');
};
for my $order ('before', 'after')
{
	$node->safe_psql('postgres', "CREATE DATABASE names_$order");
	$node->safe_psql("names_$order", $order eq 'before' ? "$stand_ins; CREATE EXTENSION simjoin" : "CREATE EXTENSION simjoin; $stand_ins");
	is($node->safe_psql("names_$order", $calls), "0.25|0.5|t|0.75|0.1|7|8|0.9\n0|t|3|0\n10\n10\n9",
		"both are callable, with the other names $order simjoin");
}

# A function with the same arguments: the extension asks for another schema, in which all works.
$node->safe_psql('postgres', 'CREATE DATABASE same_name');
$node->safe_psql('same_name', q{CREATE FUNCTION shingles(input text, size int DEFAULT 5) RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY[42]'});
($status, $stdout, $stderr) = $node->psql('same_name', 'CREATE EXTENSION simjoin');
like($stderr, qr/function "shingles" already exists with same argument types/, 'a function with the same name and arguments');
$node->safe_psql('same_name', 'CREATE SCHEMA sim; CREATE EXTENSION simjoin SCHEMA sim');
is( $node->safe_psql(
		'same_name', q{
		SET search_path = public, sim;
		CREATE TABLE texts AS SELECT id, 'the text of number ' || id / 2 AS body FROM generate_series(2, 21) id;
		SELECT shingles('abc');
		SELECT count(*) FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(sim.shingles(a.body), sim.shingles(b.body)) >= 1;
		SELECT count(*) FROM connected_components('SELECT id, id / 2 FROM texts')}),
	"{42}\n10\n21", 'the extension in a schema of its own, beside that function');

stop_unharmed($node);
done_testing();
