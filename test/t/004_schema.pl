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

stop_unharmed($node);
done_testing();
