# Dedup views with verdicts over hundreds of random refreshes: the test and the oracle of test/sql/dedup_verdicts.sql.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('dedup_verdicts');
my ($test) = slurp_file("$FindBin::RealBin/../sql/dedup_verdicts.sql") =~ /^(-- Random changes of rows and verdicts.*?)^SELECT random_verdicts\(/ms;
my $in_schema = 'SET search_path = dedup_verdict_test, public;';
$node->safe_psql('postgres', "CREATE SCHEMA dedup_verdict_test; $in_schema $test");
# Each transaction of its own, so that removed rows do not pile up. Five views are refreshed in a step.
$node->safe_psql('postgres', $in_schema . join(';', map { sprintf('SELECT random_verdicts(%d, %d)', 10 * $_ + 1, 10 * $_ + 10) } 0 .. 24));
is($node->safe_psql('postgres', "$in_schema SELECT count(*), sum(differences), sum(oracle) FROM refreshes"), '1500|0|0',
	'groups are those of a full rebuild and of the oracle, and entities those of full refreshes');
is( $node->safe_psql('postgres', "$in_schema SELECT string_agg(DISTINCT event, ' ' ORDER BY event) FROM refreshes, unnest(events) event WHERE view IN ('plain', 'tracked') AND step % 3 = 0"),
	'merge move split',
	'verdicts alone caused events of all kinds');
$node->stop;
done_testing();
