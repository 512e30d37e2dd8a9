# Entities of dedup views over a thousand random refreshes: the test and the oracle of test/sql/entities.sql.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('entities');
my ($test) = slurp_file("$FindBin::RealBin/../sql/entities.sql") =~ /^(.*?)^SELECT random_refreshes\(/ms;
$node->safe_psql('postgres', $test);
my $in_schema = 'SET search_path = entity_test, public;';
# Each transaction of its own, so that removed rows do not pile up. Three views are refreshed in a step.
$node->safe_psql('postgres', $in_schema . join(';', map { sprintf('SELECT random_refreshes(%d, %d)', 10 * $_ + 1, 10 * $_ + 10) } 0 .. 33));
is($node->safe_psql('postgres', "$in_schema SELECT count(*), sum(faults) FROM refreshes"), '1020|0',
	'ids stay as the oracle says, and the history has what became of the others');
is( $node->safe_psql('postgres', "$in_schema SELECT string_agg(DISTINCT event, ' ' ORDER BY event) FROM refreshes, unnest(events) event"),
	'merge move removal split',
	'events of all kinds were seen');
$node->stop;
done_testing();
