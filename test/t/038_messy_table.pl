# The demo's messy table: the same rows each time, and what the recipes find in it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Simjoin;
use Test::More;

my $node = start_node('messy');
my $demo = "$FindBin::RealBin/../demo";

# Returns what psql prints for a file of the demo.
sub run_file
{
	my ($file) = @_;
	my ($stdout, $stderr);
	my $status = $node->psql(
		'postgres', undef,
		stdout => \$stdout,
		stderr => \$stderr,
		extra_params => [ '-v', 'rows=1000', '-f', "$demo/$file" ]);
	is("$status $stderr", '0 ', "$file runs");
	return $stdout;
}

like(run_file('messy.sql'), qr/^1000\|800\|\d+$/m, 'a fifth of the rows are copies');
is($node->safe_psql('postgres', q{SELECT md5(string_agg(id || ' ' || person, ',' ORDER BY id)) FROM people}), 'a7e50ce1ee356811937cc9246f3ef9df', 'the rows are the same as ever');

my %figures = map { my ($task, @figures) = split /\|/; ($task => \@figures) } split /\n/, run_file('messy_tasks.sql');
my %least = (
	'1 pairs of bodies, 5-grams' => 0.9,
	'1 pairs of bodies, word pairs' => 0.8,
	'2 groups by name and address' => 0.6,
	'2 the same, or by e-mail' => 0.65,
	'3 rows merged away' => 0.6,
	'6 both in one text, OR e-mail' => 0.65);
foreach my $task (sort keys %least)
{
	my ($found, $precision, $recall) = @{ $figures{$task} // [ 0, 0, 0 ] };
	cmp_ok($precision, '>=', 0.98, "$task: what is found is right");
	cmp_ok($recall, '>=', $least{$task}, "$task: most are found");
}
ok($figures{'4 kept out at insert'}[0] > 0 && $figures{'4 kept out at insert'}[1] == 1, 'copies are kept out');
ok($figures{'5 best match of new rows'}[0] > 0 && $figures{'5 best match of new rows'}[1] == 1, 'new rows have best matches');

done_testing();
