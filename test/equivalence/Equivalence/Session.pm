# One psql that runs files of statements and returns the output of each part.
package Equivalence::Session;

use strict;
use warnings;

use File::Temp 'tempdir';
use IPC::Open2;

# The settings that RESET ALL restores.
my $options = join(' ', map { "-c $_" } 'search_path=equivalence,public', 'client_min_messages=error', 'jit=off',
	'statement_timeout=10min', 'max_parallel_workers_per_gather=0', 'timezone=UTC', 'datestyle=ISO', 'extra_float_digits=1');

# Starts psql on the database.
sub new
{
	my ($class, $database) = @_;
	my $self = bless { folder => tempdir(CLEANUP => 1) }, $class;
	local $ENV{PGOPTIONS} = $options;
	$self->{errors} = "$self->{folder}/errors";
	$self->{pid} = open2($self->{from}, $self->{to},
		"exec psql -XqAt -P null='<null>' -d $database 2>> '$self->{errors}'");
	return $self;
}

# Runs the parts, pairs of a name and statements. Returns two hashes by name: the output of each part as a list of lines,
# and its errors. Dies if the session is lost.
sub run
{
	my ($self, @parts) = @_;
	truncate($self->{errors}, 0);    # psql appends to it
	# Each file is new, because psql may not have closed the last one yet.
	unlink($self->{script}) if $self->{script};
	my $script = $self->{script} = "$self->{folder}/script" . ++$self->{runs};
	open(my $file, '>', $script) or die "$script: $!";
	while (my ($name, $sql) = splice(@parts, 0, 2))
	{
		print $file "\\echo \@part $name\n\\warn \@part $name\n$sql\n";
	}
	print $file "\\echo \@end\n";
	close($file);
	print { $self->{to} } "\\i $script\n";
	$self->{to}->flush;

	my (%rows, %errors, $name, $ended);
	my $reader = $self->{from};
	while (my $line = <$reader>)
	{
		chomp $line;
		if ($line eq '@end') { $ended = 1; last; }
		if ($line =~ /^\@part (.*)/) { $name = $1; $rows{$name} = []; $errors{$name} = ''; next; }
		push @{ $rows{$name} }, $line;
	}
	open(my $errors, '<', $self->{errors}) or die "$self->{errors}: $!";
	while (my $line = <$errors>)
	{
		if ($line =~ /^\@part (.*)/) { $name = $1; next; }
		$errors{ $name // '' } .= $line;
	}
	die 'the session was lost: ' . join('', values %errors) . "\n" if !$ended;
	return (\%rows, \%errors);
}

sub close
{
	my ($self) = @_;
	close($self->{to});
	close($self->{from});
	waitpid($self->{pid}, 0);
	return;
}

1;
