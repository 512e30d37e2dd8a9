# Joins of tables that are spread over servers by postgres_fdw: each server joins its parts, and each pair comes once.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('coordinator');
if ($node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}) eq '0')
{
	$node->stop;
	plan skip_all => 'postgres_fdw is not installed';
}
my @workers = map { start_node($_) } qw(one two);
sub sql { return $node->safe_psql('postgres', join(";\n", @_)); }

# The joins of small tables would not be worth their start for the operator, and remote plans are not shown.
my $always = 'SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_mergejoin = off';

sql('CREATE EXTENSION postgres_fdw');
for my $worker (@workers)
{
	my ($name, $host, $port) = ($worker->name, $worker->host, $worker->port);
	sql(
		"CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres',
			extensions 'simjoin', use_remote_estimate 'true', async_capable 'true', batch_size '1000')",
		"CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '"
		  . $node->safe_psql('postgres', 'SELECT current_user') . "')");
}

# Makes the table `name`, whose parts are in turn on both servers.
sub spread
{
	my ($name, $parts) = @_;
	my $columns = '(part int NOT NULL, n int NOT NULL, id int NOT NULL, tokens int[])';
	sql("CREATE TABLE $name $columns PARTITION BY LIST (part)");
	for my $part (0 .. $parts - 1)
	{
		my $worker = $workers[ $part % @workers ];
		$worker->safe_psql('postgres', "CREATE TABLE ${name}_$part $columns");
		sql("CREATE FOREIGN TABLE ${name}_$part PARTITION OF $name FOR VALUES IN ($part) SERVER " . $worker->name);
	}
	return;
}

fill_sets($node, 600, 12, 60);
my $bounds = sql('SELECT similarity_part_bounds(array_agg(size), array_agg(count), 5)
	FROM (SELECT set_size(tokens) AS size, count(*) FROM sets GROUP BY 1) s');

# For each way to deal sets out: the parts, the expression for the parts of a set, and the condition of a pair.
my %ways = (
	by_id => [ 7, 'similarity_parts(id, 7)', 'a.id < b.id AND (a.n <> b.n OR a.n = 1)' ],
	by_size => [ 5, "similarity_parts(id, tokens, 0.6, '$bounds')", 'a.n = 1 AND (b.n > 1 OR a.id < b.id)' ]);
my $pairs = sql('SELECT count(*), sum(least(a.id, b.id)), sum(a.id + b.id) FROM sets a JOIN sets b
	ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6');
cmp_ok((split /\|/, $pairs)[0], '>', 20, 'there are pairs');

for my $way (sort keys %ways)
{
	my ($parts, $expression, $condition) = @{ $ways{$way} };
	spread($way, $parts);
	sql("INSERT INTO $way SELECT parts[n], n, id, tokens
		FROM (SELECT *, generate_subscripts(parts, 1) AS n FROM (SELECT id, tokens, $expression AS parts FROM sets) s) s"
		);
	my $query = "SELECT count(*), sum(least(a.id, b.id)), sum(a.id + b.id) FROM $way a JOIN $way b
		ON a.part = b.part AND $condition AND jaccard_similarity(a.tokens, b.tokens) >= 0.6";
	my $set = 'SET enable_partitionwise_join = on';
	my $plan = sql($set, "EXPLAIN (VERBOSE, COSTS OFF) $query");
	is(() = $plan =~ /Async Foreign Scan/g, $parts, "$way: a foreign scan a part");
	is(() = $plan =~ /Remote SQL: .*jaccard_similarity/g, $parts, "$way: the servers join");
	is(sql($set, $query), $pairs, "$way: every pair once");
	is(sql($query), $pairs, "$way: every pair once when the coordinator joins");
}

# What the servers do with such a join.
my $part = "SELECT count(*) FROM by_size_0 a JOIN by_size_0 b
	ON a.part = b.part AND a.n = 1 AND (b.n > 1 OR a.id < b.id) AND jaccard_similarity(a.tokens, b.tokens) >= 0.6";
$workers[0]->safe_psql('postgres', 'ANALYZE by_size_0');
like($workers[0]->safe_psql('postgres', "EXPLAIN $part"), qr/SetSimilarityJoin/, 'a server uses the operator for a part');

# Rows that have no partner: each set meets all its partners at its home.
spread('visiting', 5);
sql("INSERT INTO visiting SELECT parts[n], n, id, tokens
	FROM (SELECT *, generate_subscripts(parts, 1) AS n
		FROM (SELECT id, tokens, similarity_parts(id, tokens, 0.6, '$bounds', both_sides => true) AS parts FROM sets) s) s");
my $alone = sub {
	my ($table, $home, $same_part) = @_;
	return "SELECT count(*), sum(a.id) FROM $table a WHERE $home AND NOT EXISTS (SELECT FROM $table b
		WHERE $same_part AND a.id <> b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6)";
};
is( sql('SET enable_partitionwise_join = on', $alone->('visiting', 'a.n = 1', 'a.part = b.part')),
	sql($alone->('sets', 'true', 'true')),
	'rows without a partner');

# The components of all pairs from the forests of the parts.
my $forests = sql("SELECT count(*), count(DISTINCT component) FROM connected_components(\$\$
	SELECT f[i], f[i + 1] FROM (SELECT spanning_forest(a.id, b.id) AS f FROM by_id a JOIN by_id b
		ON a.part = b.part AND a.id < b.id AND (a.n <> b.n OR a.n = 1)
		AND jaccard_similarity(a.tokens, b.tokens) >= 0.6 GROUP BY a.part) f, generate_series(1, cardinality(f), 2) i\$\$)");
is( $forests,
	sql("SELECT count(*), count(DISTINCT component) FROM connected_components(\$\$
	SELECT a, b FROM similarity_self_join('SELECT id, tokens FROM sets', 0.6)\$\$)"),
	'components of all parts');

# A server would compare by its own settings.
my $similar = 'SELECT count(*) FROM by_id_0 a JOIN by_id_0 b ON a.id < b.id AND a.tokens ~= b.tokens';
my $strict = 'SET simjoin.similarity_threshold = 0.9';
unlike(sql($strict, "EXPLAIN (VERBOSE, COSTS OFF) $similar"), qr/Remote SQL: .*~=/, 'the operator ~= stays here');
is( sql($strict, $similar),
	$workers[0]->safe_psql('postgres', "$strict; $similar"),
	'the operator ~= compares by the settings of the session');

# A foreign table that is joined with itself is read once.
sql('ALTER SERVER one OPTIONS (DROP extensions)');
my $self = 'SELECT count(*) FROM by_id_0 a JOIN by_id_0 b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6';
is(() = sql($always, "EXPLAIN (COSTS OFF) $self") =~ /Foreign Scan/g, 1, 'a self-join reads a foreign table once');
is(sql($always, $self), $workers[0]->safe_psql('postgres', $self), 'a self-join of a foreign table');

# A session that runs for a coordinator of Citus refuses to compare by settings that nobody has sent it.
my $for_citus = "SET application_name = 'citus_internal gpid=10000000001'";
my (undef, undef, $stderr) =
  $node->psql('postgres', "$for_citus; SELECT '{1}'::int[] ~= '{1}'::int[]", on_error_stop => 0);
like($stderr, qr/the operator ~= does not know by what to compare/, '~= is refused to a coordinator');
$node->psql('postgres', "$for_citus; SELECT count(*) FROM sets a JOIN sets b ON a.tokens ~= b.tokens", stderr => \$stderr);
like($stderr, qr/the operator ~= does not know by what to compare/, 'a join by ~= is refused to a coordinator');
$node->psql('postgres', "$for_citus; SET simjoin.measure = 'dice'; SELECT '{1}'::int[] ~= '{1}'::int[]", stderr => \$stderr);
like($stderr, qr/the operator ~= does not know by what to compare/, 'both settings are needed');
is( sql($for_citus, q{BEGIN; SET LOCAL simjoin.measure = 'dice'; SET LOCAL simjoin.similarity_threshold = 0.5},
		q{SELECT '{1,2}'::int[] ~= '{1,3}'::int[]}, 'COMMIT'),
	't',
	'settings that were sent along count');

stop_unharmed($_) for $node, @workers;
done_testing();
