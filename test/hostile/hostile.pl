# Random calls of all that the extension gives to SQL, with the values and tables of a hostile role.
#
# Usage: hostile.pl [--seed N] [--cases N] [--first N] [--case N] [--timeout SECONDS] [--kind KIND] [--show]: runs cases 1 to
# --cases of a seed (or from --first on), or only --case, in the database simjoin_hostile, which it makes. --timeout is the
# statement_timeout in seconds, and --kind makes all cases of one kind (a name of %kinds). The role owns the database and
# nothing else. The functions come from the catalog (Hostile::Catalog) and take turns, so that each is called before any is
# called again.
#
# Most calls rightly end in an error. A case fails if a session ends (the server crashed), an error is internal (class
# XX), statements take much more processor time than their statement_timeout, or the server's process takes more memory than
# its limits allow, or a little more in each repetition. Prints "ok N" or "not ok N" for each case, and for a failed one its
# statements and the command to run it alone. --show prints the statements and results of every case. Connects by PGHOST,
# PGPORT and PGUSER, as a superuser.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../equivalence";
use Equivalence::Draw;
use Getopt::Long;
use Hostile::Calls;
use Hostile::Catalog;
use Hostile::Session;
use Hostile::Values;
use Hostile::Views;
use Hostile::World;

my %option = (seed => 1, cases => 300, first => 1, show => 0, timeout => 2);
GetOptions(\%option, 'seed=i', 'cases=i', 'first=i', 'case=i', 'timeout=f', 'kind=s', 'show') or exit 2;
@option{qw(first cases)} = ($option{case}, $option{case}) if $option{case};

my $database = 'simjoin_hostile';
my $role = 'regress_simjoin_hostile';
my $grace = 20;           # seconds of processor time that cancelled statements may still take
my $patience = 600;       # seconds, for what ends on any machine
my $most_memory = 1200;   # MB of the server's process at any time; simjoin.memory_limit is at most 64 MB
my $most_growth = 2;      # MB in this number of repetitions
my $repetitions = 12;
my $most_seconds = 0.5;   # of three repetitions; cases that take longer are not repeated

my ($session, $catalog);
my $dirty = 1;            # whether the world is not as world_sql made it
my $failures = 0;
my %called;               # by function: number of calls, and of calls without an error
my ($looked_at, $turns) = (0, 0);    # cases, and those of them that call a function
my $slowest = 0;
my $seconds = 0;          # of CPU time of the server's processes

sub administer
{
	my ($where, @statements) = @_;
	local $ENV{PGOPTIONS} = '-c client_min_messages=error';
	system('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $where, map { ('-c', $_) } @statements) == 0
	  or die "the server cannot be used\n";
	return;
}

sub make_database
{
	for my $attempt (1 .. 60)
	{
		last if system('psql -XqAt -d postgres -c "SELECT 1" > /dev/null 2>&1') == 0;
		sleep 1;    # after a crash
	}
	administer('postgres', "DROP DATABASE IF EXISTS $database WITH (FORCE)", "DROP ROLE IF EXISTS $role", "CREATE ROLE $role LOGIN",
		"ALTER ROLE $role SET lc_messages = 'C'",
		"CREATE DATABASE $database OWNER $role");
	administer($database, 'GRANT ALL ON SCHEMA public TO PUBLIC', admin_sql($role, $database, $ENV{PGHOST} // 'localhost', $ENV{PGPORT} // 5432));
	return;
}

# Opens a session, with a new world.
sub start_session
{
	if (!$session)
	{
		make_database() if !$catalog || $dirty eq 'lost';
		$session = Hostile::Session->new(role => $role, database => $database, timeout => $option{timeout}, patience => $patience);
		$session->rows('CREATE EXTENSION IF NOT EXISTS simjoin SCHEMA public');
		$session->rows('SELECT simjoin_version()');    # loads the library, and so its settings
		$catalog = read_catalog($session);
	}
	return if !$dirty;
	my ($result) = $session->run("SET statement_timeout = 0;\n" . world_sql() . "\nRESET ALL;");
	die "the world cannot be made:\n$result->{error}" if $result->{error} || $session->{lost};
	relations(@{ $session->rows(relation_query()) });
	$dirty = 0;
	return;
}

sub end_session
{
	$seconds += $session->cpu_seconds if $session;
	$session->close if $session;
	$session = undef;
	return;
}

# Returns the parts that the statements have made so far: relations with their columns.
sub find_parts
{
	my ($last) = @_;
	return map { my %part; @part{qw(name kind column type)} = split(/\|/); \%part } @{ $session->rows(parts_query($last)) };
}

# The kinds of cases: each runs statements by `run` and returns nothing.
my %kinds = (
	function => sub {
		my ($case, $run) = @_;
		my @functions = @{ $catalog->{functions} };
		my $turn = turns_before($case->{number});
		reseed($option{seed}, 'order', int($turn / @functions));
		my $function = (shuffle(@functions))[ $turn % @functions ];
		reseed($option{seed}, $case->{number}, 'function');
		$case->{name} = "function $function->{name}";
		my @results = $run->(change_settings(), call_function($function));
		$called{ $function->{name} }[ $results[-1]{error} ? 1 : 0 ]++ if @results;
	},
	operator => sub { my ($case, $run) = @_; $run->(change_settings(), map { call_operator(pick(@{ $catalog->{operators} })) } 1 .. 4); },
	receive => sub { my ($case, $run) = @_; $run->(map { receive_values($_) } @{ $catalog->{types} }); },
	join => sub { my ($case, $run) = @_; $run->(change_settings(), map { join_tables($catalog) } 1 .. 2); },
	setting => sub { my ($case, $run) = @_; $run->(map { change_setting($catalog->{settings}) } 1 .. 6); },
	view => sub {
		my ($case, $run) = @_;
		my ($last) = @{ $session->rows('SELECT max(oid) FROM pg_class') };
		my ($table, $make) = make_view();
		$run->($make);
		my @parts = find_parts($last);
		my ($view) = map { $_->{name} } grep { $_->{kind} eq 'm' } @parts;
		return if !$view;
		$run->(use_view($table, $view)) if chance(0.5);
		return $run->(forge_view($table, $view)) if chance(0.15);
		$run->(alter_parts(find_parts($last)), use_view($table, $view)) for 1 .. between(1, 2);
	},
	stream => sub {
		my ($case, $run) = @_;
		my ($first) = @{ $session->rows("SELECT oid::bigint - 1 FROM pg_class WHERE oid = 'stream_" . pick('text', 'int') . "'::regclass") };
		my @parts = find_parts($first);
		$run->(alter_stream(grep { $_->{name} eq $parts[0]{name} } @parts));
	});

sub change_settings { return map { change_setting($catalog->{settings}) } grep { chance(0.5) } 1 .. 2; }

sub kind_of
{
	my ($number) = @_;
	return $option{kind} if $option{kind};
	reseed($option{seed}, $number);
	return weighted(50 => 'function', 6 => 'operator', 4 => 'receive', 14 => 'join', 1 => 'setting', 22 => 'view', 3 => 'stream');
}

# Returns how many cases before this one call a function. It may not be smaller than the last one.
sub turns_before
{
	my ($number) = @_;
	while ($looked_at < $number - 1) { $turns++ if kind_of(++$looked_at) eq 'function'; }
	return $turns;
}

# Returns what is wrong with the results of some statements.
sub problems_of
{
	my ($statements, $results) = @_;
	my @problems;
	my $permitted = $grace;
	for my $i (0 .. $#$results)
	{
		my $result = $results->[$i];
		push @problems, "$result->{error}after: $statements->[$i]" if $result->{state} =~ /^XX/;
		$slowest = $result->{seconds} if $result->{seconds} > $slowest;
		$permitted += $Hostile::Session::threads * $option{timeout} * (1 + ($statements->[$i] =~ tr/;//));
	}
	push @problems, sprintf('%.0f seconds of CPU, though statement_timeout is %g: %s', $session->{cpu}, $option{timeout}, join('; ', @$statements))
	  if $session->{cpu} > $permitted;
	push @problems, ($session->{lost} eq 'lost' ? 'the session ended' : 'the session does not answer') . " in: $statements->[$#$results]\n$results->[-1]{error}"
	  if $session->{lost};
	return @problems;
}

# Returns what is wrong with the memory of the server's process, which has run these statements once.
sub memory_problems
{
	my ($number, @statements) = @_;
	my ($now, $most) = $session->memory;
	return sprintf('the server\'s process took %d MB', $most) if $most > $most_memory;
	return if $number % 10 || join('', @statements) =~ /COMMIT|100000000|pg_sleep/;
	my @growth;
	for my $round (0 .. 3)
	{
		my ($before) = $session->memory;
		my $seconds = 0;
		$seconds += $_->{seconds} for $session->run((@statements) x ($round ? $repetitions : 3));
		return if $session->{lost} || !$round && $seconds > $most_seconds;
		push @growth, ($session->memory)[0] - $before if $round;
		return if $round && $growth[-1] < $most_growth;
	}
	return sprintf('the server\'s process grew by %.1f, %.1f and %.1f MB, in %d repetitions each', @growth, $repetitions);
}

# Runs a case; returns what is wrong.
sub run_case
{
	my ($case) = @_;
	my (@problems, @all);
	my $run = sub {
		my (@statements) = @_;
		return if $session->{lost};
		push @all, @statements;
		my @results = $session->run(@statements);
		$case->{log} .= join('', map { "$statements[$_];\n" . ($results[$_]{error} =~ s/^(?=.)/-- /mgr) } 0 .. $#results);
		push @problems, problems_of(\@statements, \@results);
		return @results;
	};
	# Most cases are undone. After the others the world is made again.
	my $kept = $case->{kind} eq 'view' ? chance(0.08) : chance(0.02);
	$run->('SELECT setseed(' . $case->{number} % 100 / 100 . ')', $kept ? () : 'BEGIN');
	eval { $kinds{ $case->{kind} }->($case, $run); 1; } or $session->{lost} or push @problems, $@;
	$dirty = 1 if $kept;
	$run->('ROLLBACK', 'DEALLOCATE ALL', 'RESET ALL', 'CLOSE ALL', $kept ? 'DISCARD TEMP' : ());
	push @problems, memory_problems($case->{number}, @all) if !$session->{lost} && !@problems;
	return @problems;
}

sub comment { my ($text) = @_; $text =~ s/^/# /mg; $text =~ s/([^\n]{600})[^\n]{40,}/$1 .../g; return $text =~ /\n$/ ? $text : "$text\n"; }

sub check_case
{
	my ($number) = @_;
	my $kind = kind_of($number);
	my $case = { number => $number, kind => $kind, name => $kind, log => '' };
	my @problems;
	eval { start_session(); reseed($option{seed}, $number, $kind); @problems = run_case($case); 1; } or push @problems, $@;
	print((@problems ? 'not ok' : 'ok') . " $number - $case->{name}\n");
	print comment($case->{log}) if @problems || $option{show};
	return if !@problems;
	print map { comment($_) } @problems;
	print "# to run it alone: make hostile SEED=$option{seed} CASE=$number" . ($option{kind} ? " KIND=$option{kind}" : '') . "\n";
	$failures++;
	$dirty = !$session || $session->{lost} ? 'lost' : 1;
	end_session();
	return;
}

# Prints the calls. Fails if a function was not called although there were turns for all.
sub report_calls
{
	my @names = map { $_->{name} } @{ $catalog->{functions} };
	my %seen;
	my @missed = grep { !$called{$_} && !$seen{$_}++ } @names;
	my ($good, $bad) = (0, 0);
	for (values %called) { $good += $_->[0] // 0; $bad += $_->[1] // 0; }
	printf "# %d functions called, %d of %d calls without an error; the slowest statement took %.1f s, all %.0f s of CPU\n", scalar keys %called, $good, $good + $bad, $slowest, $seconds;
	return if $option{first} > 1 || turns_before($option{cases} + 1) < @names;
	printf "%s %d - every function was called%s\n", @missed ? 'not ok' : 'ok', $option{cases} + 1, @missed ? ": not @missed" : '';
	$failures++ if @missed;
	return;
}

$| = 1;
$SIG{PIPE} = 'IGNORE';    # a psql may be gone
binmode(STDOUT, ':utf8');
print "# seed $option{seed}, cases $option{first} to $option{cases}\n";
check_case($_) for $option{first} .. $option{cases};
end_session();
report_calls() if $catalog;
administer('postgres', "DROP DATABASE IF EXISTS $database WITH (FORCE)", "DROP ROLE IF EXISTS $role");
exit($failures ? 1 : 0);
