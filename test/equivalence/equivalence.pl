# Compares the join operator with PostgreSQL's own joins, on random queries over random tables.
#
# Usage: equivalence.pl [--seed N] [--cases N] [--first N] [--case N] [--show]: runs cases 1 to --cases of a seed (or from
# --first on), or only --case, in the database simjoin_equivalence, which it makes. Each query is run without the join
# operator, with it by each algorithm, and with indexes on the sets, and the rows are compared. Its plan must show the
# operator exactly if the clause suits the operator. Prints "ok N" or "not ok N" for each case, and for a failed one the statements, the difference and
# the command to run it alone. At the end it prints for each kind how many cases used the operator. --show prints the
# statements of every case. Connects by PGHOST, PGPORT and PGUSER, as a superuser.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Equivalence::Draw;
use Equivalence::Session;
use Equivalence::Shape;
use Equivalence::World;
use Getopt::Long;

my %option = (seed => 1, cases => 300, first => 1, show => 0);
GetOptions(\%option, 'seed=i', 'cases=i', 'first=i', 'case=i', 'show') or exit 2;
@option{qw(first cases)} = ($option{case}, $option{case}) if $option{case};

my $database = 'simjoin_equivalence';
my $role = 'regress_simjoin_equivalence';
my $cases_per_world = 25;
my @algorithms = qw(auto allpairs ppjoin groupjoin bitmap);
my $most_lines = 12;    # of a difference that are shown

my ($session, $world, $world_number, $server_version);
my $failures = 0;
my $skipped = 0;        # number of cases whose nested loop takes too long
my $gathered = 0;       # number of cases in which workers read rows for the join node
my %streamed = (left => 0, right => 0);    # joins whose small side was indexed, by the other side
my %tally;              # by kind: cases, cases with the join node, cases with rows

sub administer
{
	my (@statements) = @_;
	local $ENV{PGOPTIONS} = '-c client_min_messages=error';
	system('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', map { ('-c', $_) } @statements) == 0
	  or die "the server cannot be used\n";
	return;
}

# Opens a session in a new database.
sub start_session
{
	$session->close if $session;
	for my $attempt (1 .. 60)
	{
		last if system('psql -XqAt -d postgres -c "SELECT 1" > /dev/null 2>&1') == 0;
		sleep 1;    # after a crash
	}
	administer("DROP DATABASE IF EXISTS $database WITH (FORCE)", "DROP ROLE IF EXISTS $role", "CREATE ROLE $role",
		"CREATE DATABASE $database");
	$session = Equivalence::Session->new($database);
	my ($rows) = $session->run('create', 'CREATE EXTENSION simjoin SCHEMA public; SHOW server_version_num;');
	$server_version = $rows->{create}[0];
	$world_number = undef;
	return;
}

# Makes the world of a case, unless it exists.
sub enter_world
{
	my ($number) = @_;
	start_session() if !$session;
	return if defined $world_number && $world_number == $number;
	$world = draw_world($option{seed}, $number);
	$world->{merge} = $server_version >= 150000;
	my ($rows, $errors) = $session->run('world', "DROP SCHEMA IF EXISTS equivalence CASCADE; DISCARD TEMP;
		CREATE SCHEMA equivalence;\n$world->{sql}
		GRANT ALL ON SCHEMA equivalence TO $role; GRANT ALL ON ALL TABLES IN SCHEMA equivalence TO $role;");
	die "the world of case @{[$number * $cases_per_world + 1]} cannot be made:\n$errors->{world}"
	  if $errors->{world};
	$world_number = $number;
	return;
}

# Returns the settings of a case as statements.
sub settings_of
{
	my ($case) = @_;
	return join('', map { "SET $_;\n" } @{ $case->{settings} });
}

# Returns the difference of two lists of lines as text, empty if they are the same (as multisets, unless ordered).
sub difference
{
	my ($case, $expected, $found) = @_;
	my @lists = map { $case->{ordered} ? [@$_] : [ sort @$_ ] } ($expected, $found);
	return '' if join("\n", @{ $lists[0] }) eq join("\n", @{ $lists[1] }) && @$expected == @$found;
	my %count;
	$count{$_}++ for @$expected;
	$count{$_}-- for @$found;
	my @lines = map { ($count{$_} > 0 ? 'missing: ' : 'too many: ') . substr($_, 0, 300) } grep { $count{$_} } sort keys %count;
	splice(@lines, $most_lines) if @lines > $most_lines;
	return join("\n", sprintf('%d rows expected, %d found', scalar @$expected, scalar @$found), @lines ? @lines : 'another order');
}

# Runs a case and counts it in the tally. Returns what is wrong with it, or nothing.
sub run_case
{
	my ($case) = @_;
	my $without = $case->{run}->(node => 0);
	my $with = $case->{run}->(node => 1);
	my $settings = settings_of($case);
	my $index_settings = join(' ', 'SET enable_bitmapscan = on;',
		map { "SET $_ = off;" } qw(simjoin.enable_join enable_seqscan enable_hashjoin enable_mergejoin enable_material));
	my @problems;
	my ($rows, $errors) = $session->run(
		'without', "$settings SET simjoin.enable_join = off; SET simjoin.enable_nearest = off; SET enable_bitmapscan = off;\n$without",
		'plan', "SET simjoin.enable_join = on; SET simjoin.enable_nearest = on;\n$case->{explain}",
		'auto', $with);
	if ($errors->{without} =~ /statement timeout/)
	{
		# Nested loops in nested loops give nothing to compare with. report_tally checks that this is rare.
		$skipped++;
		$session->run('end', 'ROLLBACK; RESET ALL; RESET ROLE;');
		$session->close;
		$session = undef;
		return;
	}
	my $plan = join("\n", @{ $rows->{plan} });
	my $used = $plan =~ /SetSimilarityJoin/;
	$gathered++ if $plan =~ /RowBlocks/;
	# A plan without anything to join has no join at all. Before PostgreSQL 17 there can be no custom join beside a
	# condition that mentions no column of the join.
	my $excused = $plan =~ /One-Time Filter/;
	push @problems, "the plan has no similarity join:\n$plan" if $case->{match} eq 'must' && !$used && !$excused;
	push @problems, "the plan must not have a similarity join:\n$plan" if $case->{match} eq 'never' && $used;
	# The plan of some shapes is that of one statement of several, or of a statement that writes.
	my $analyzed = $case->{explain} =~ s/^EXPLAIN \(COSTS OFF\)/EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)/r;
	my ($more, $more_errors) = $session->run(
		$used && $case->{shape} =~ /^(plain|ordered|limited|aggregated|joined)$/ ? ('analyzed', $analyzed) : (),
		(map { ($_, "SET simjoin.algorithm = $_;\n$with") } $used ? grep { $_ ne 'auto' } @algorithms : ()),
		'index plan', "$index_settings $case->{explain}",
		'index', $with,
		'end', 'RESET ALL; RESET ROLE;');
	count_streamed(join("\n", @{ $more->{analyzed} // [] }));
	for my $part (sort(keys %$errors), sort(keys %$more_errors))
	{
		my $text = $errors->{$part} || $more_errors->{$part};
		push @problems, "$part: $text" if $text;
	}
	my $index_used = grep { /similarity_query/ } @{ $more->{'index plan'} };
	for my $algorithm (@algorithms, 'index')
	{
		my $found = $rows->{$algorithm} // $more->{$algorithm} // next;
		my $difference = difference($case, $rows->{without}, $found);
		push @problems, "$algorithm: $difference" if $difference;
	}
	for my $kind ('all', "shape $case->{shape}", "join $case->{join}", "expected $case->{match}")
	{
		my $counts = $tally{$kind} //= { cases => 0, used => 0, index => 0, rows => 0 };
		$counts->{cases}++;
		$counts->{used}++ if $used;
		$counts->{index}++ if $index_used;
		$counts->{rows}++ if grep { !/^(0|<null>|f|0\|.*)?$/ } @{ $rows->{without} };
	}
	return @problems;
}

# Counts which sides streamed, from the output of EXPLAIN ANALYZE.
sub count_streamed
{
	my ($plan) = @_;
	$streamed{$_}++ for $plan =~ /Streamed Side: (left|right)$/mg;
	return;
}

sub comment { my ($text) = @_; $text =~ s/^/# /mg; return "$text\n"; }

sub show_case
{
	my ($case) = @_;
	print comment(settings_of($case) . $case->{run}->(node => 1));
	print comment('without: ' . $case->{run}->(node => 0)) if $case->{run}->(node => 1) ne $case->{run}->(node => 0);
	return;
}

sub check_case
{
	my ($number) = @_;
	my ($case, @problems);
	my $world_of_case = int(($number - 1) / $cases_per_world);
	eval {
		enter_world($world_of_case);
		$case = draw_case($world, $option{seed}, $number, $role);
		@problems = run_case($case);
		1;
	} or @problems = ($@);
	my $name = $case ? $case->{name} : 'no case could be made';
	print((@problems ? 'not ok' : 'ok') . " $number - $name\n");
	show_case($case) if $case && (@problems || $option{show});
	return if !@problems;
	print map { comment($_) } @problems;
	print "# to run it alone: make equivalence SEED=$option{seed} CASE=$number\n";
	$failures++;
	$session->close if $session;
	$session = undef;
	return;
}

# Prints for each kind how many cases used the join node and found rows. Fails if none of a kind did.
sub report_tally
{
	for my $kind (sort keys %tally)
	{
		my $counts = $tally{$kind};
		printf "# %-34s %6d cases, %3.0f%% with the join operator, %3.0f%% with the index, %3.0f%% with rows\n", $kind,
		  $counts->{cases}, map { 100 * $counts->{$_} / $counts->{cases} } qw(used index rows);
	}
	print "# $streamed{left} joins streamed the left side, $streamed{right} the right side\n";
	print "# $gathered cases with rows from parallel workers\n";
	print "# $skipped cases skipped: they take too long without the join operator\n" if $skipped;
	return if $option{case};
	my $number = $option{cases};
	if ($skipped * 100 > $option{cases})
	{
		printf "not ok %d - %d cases were skipped\n", ++$number, $skipped;
		$failures++;
	}
	if ($option{cases} >= 200 && grep { $_ * 50 < $option{cases} } values %streamed)
	{
		printf "not ok %d - enough joins stream either side\n", ++$number;
		$failures++;
	}
	my $ran = $option{cases} - $option{first} + 1;
	if ($ran >= 100 && $gathered * 100 < $ran)
	{
		printf "not ok %d - enough joins have rows from parallel workers\n", ++$number;
		$failures++;
	}
	for my $kind (grep { !/never|nearest|OR EXISTS|NOT ANY/ && $tally{$_}{cases} >= 30 } sort keys %tally)
	{
		my $counts = $tally{$kind};
		my $good = $counts->{used} * 10 >= $counts->{cases} && $counts->{rows} * 5 >= $counts->{cases};
		printf "%s %d - %s: enough cases use the join operator and find rows\n", $good ? 'ok' : 'not ok', ++$number, $kind;
		$failures++ if !$good;
	}
	my $all = $tally{all};
	if ($all->{cases} >= 30)
	{
		my $good = $all->{index} * 10 >= $all->{cases};
		printf "%s %d - enough cases use an index\n", $good ? 'ok' : 'not ok', ++$number;
		$failures++ if !$good;
	}
	return;
}

$| = 1;
print "# seed $option{seed}, cases $option{first} to $option{cases}\n";
check_case($_) for $option{first} .. $option{cases};
report_tally();
if ($session)
{
	$session->close;
	administer("DROP DATABASE IF EXISTS $database WITH (FORCE)", "DROP ROLE IF EXISTS $role");
}
exit($failures ? 1 : 0);
