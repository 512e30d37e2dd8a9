# Foreign tables join like others: with a table, and with themselves. They are then read once.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('foreign');
if ($node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'}) eq '0')
{
	$node->stop;
	plan skip_all => 'file_fdw is not installed';
}

fill_sets($node, 500, 12, 60);
my $file = $node->data_dir . '/sets.csv';
$node->safe_psql(
	'postgres', qq{
	COPY sets TO '$file' (FORMAT csv);
	CREATE EXTENSION file_fdw;
	CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE far (id int, tokens int[]) SERVER files OPTIONS (filename '$file', format 'csv');
});

for my $tables ([ 'far', 'sets' ], [ 'far', 'far' ])
{
	my ($left, $right) = @$tables;
	my $query = "SELECT count(*), sum(a.id), sum(b.id) FROM $left a JOIN $right b
		ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6";
	my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query");
	like($plan, qr/SetSimilarityJoin/, "$left with $right is a similarity join");
	is(() = $plan =~ /Foreign Scan|Seq Scan/g, $left eq $right ? 1 : 2, "$left with $right reads each table once");
	is( $node->safe_psql('postgres', $query),
		$node->safe_psql('postgres', "SET simjoin.enable_join = off; $query"),
		"$left with $right gives the nested loop's rows");
}
stop_unharmed($node);
done_testing();
