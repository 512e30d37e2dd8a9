# One psql, logged in as the hostile role, that runs statements one by one and reports the result of each.
package Hostile::Session;

use strict;
use warnings;

use File::Temp 'tempdir';
use IPC::Open2;
use IO::Select;
use POSIX ();

our $threads = 2;    # of a join

# Starts psql as a role on a database. `timeout` is the statement_timeout in seconds. `patience` is the number of seconds that a
# script may take beyond the timeouts of its statements.
sub new
{
	my ($class, %option) = @_;
	my $self = bless { %option, folder => tempdir(CLEANUP => 1), buffer => '' }, $class;
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_" } 'search_path=hostile,public', 'client_min_messages=error', 'jit=off',
		'statement_timeout=' . int(1000 * $option{timeout}), 'work_mem=4MB', 'simjoin.memory_limit=16MB', "simjoin.cpu_threads=$threads",
		'extra_float_digits=1');
	$self->{errors} = "$self->{folder}/errors";
	$self->{pid} = open2($self->{from}, $self->{to},
		"cd '$self->{folder}' && exec psql -XqAt -v VERBOSITY=verbose -v ON_ERROR_ROLLBACK=on -U $option{role} -d $option{database} 2>> '$self->{errors}'");
	$self->{backend} = $self->rows('SELECT pg_backend_pid()')->[0];
	return $self;
}

# Reads until a line says that the script ended. Returns the lines, or nothing if the session is lost or time is up.
sub read_until_end
{
	my ($self, $deadline) = @_;
	my $select = IO::Select->new($self->{from});
	my @lines;
	while (1)
	{
		while ($self->{buffer} =~ s/^([^\n]*)\n//)
		{
			return @lines, '' if $1 eq '@end';
			push @lines, $1;
		}
		my $left = $deadline - time;
		if ($left <= 0 || !$select->can_read($left))
		{
			$self->{lost} = 'late';
			return;
		}
		if (!sysread($self->{from}, $self->{buffer}, 65536, length $self->{buffer}))
		{
			$self->{lost} = 'lost';
			return;
		}
	}
	return;
}

# Runs the statements and returns one hash for each that was begun: state, error (with all output of psql), seconds.
# $self->{cpu} is the CPU time that they took. $self->{lost} says whether the session ended meanwhile ('lost') or did not answer in time ('late').
sub run
{
	my ($self, @statements) = @_;
	truncate($self->{errors}, 0);    # psql appends to it
	unlink($self->{script}) if $self->{script};
	my $script = $self->{script} = "$self->{folder}/script" . ++$self->{runs};
	open(my $file, '>:utf8', $script) or die "$script: $!";
	print $file "\\o /dev/null\n\\timing on\n";
	for my $i (0 .. $#statements)
	{
		print $file "\\echo \@$i\n\\warn \@$i\n$statements[$i]", $statements[$i] =~ /^\\/ ? "\n" : "\n;\n";
	}
	print $file "\\timing off\n\\o\n\\echo \@end\n";
	close($file);
	print { $self->{to} } "\\i $script\n";
	$self->{to}->flush;
	my $before = $self->cpu_seconds;
	my @lines = $self->read_until_end(time + $self->{patience} + $self->{timeout} * @statements);
	$self->{cpu} = $self->cpu_seconds - $before;
	my @results = map { { state => '', error => '', seconds => 0 } } @statements;
	my $at = 0;
	for my $line (@lines)
	{
		if ($line =~ /^\@(\d+)$/) { $at = $1; next; }
		$results[$at]{seconds} += $1 / 1000 if $line =~ /^Time: ([0-9.]+) ms/;
	}
	open(my $errors, '<:utf8', $self->{errors}) or die "$self->{errors}: $!";
	$at = 0;
	while (my $line = <$errors>)
	{
		if ($line =~ /^\@(\d+)$/) { $at = $1; next; }
		$results[$at]{error} .= $line;
		$results[$at]{state} = $1
		  if !$results[$at]{state} && $line =~ /(?:ERROR|FATAL|PANIC):  ([0-9A-Z]{5}):/;
	}
	splice(@results, $at + 1) if $self->{lost};
	return @results;
}

# Runs a query and returns the lines of its result. Dies if it fails. The tests' own queries have no statement_timeout,
# because a busy host can hold up any of them.
sub rows
{
	my ($self, $query) = @_;
	die "the session is gone\n" if $self->{lost};
	truncate($self->{errors}, 0);
	print { $self->{to} } "SET statement_timeout = 0;\n$query\n;\nRESET statement_timeout;\n\\echo \@end\n";
	$self->{to}->flush;
	my @lines = $self->read_until_end(time + $self->{patience});
	if ($self->{lost} || -s $self->{errors})
	{
		open(my $errors, '<', $self->{errors}) or die "$self->{errors}: $!";
		die join('', "the query failed: $query\n", <$errors>);
	}
	pop @lines;
	return \@lines;
}

# Returns the memory of the server's process, and its peak, in MB.
sub memory
{
	my ($self) = @_;
	open(my $status, '<', "/proc/$self->{backend}/status") or return (0, 0);
	my %figure = map { /^(\w+):\s+(\d+) kB/ ? ($1, $2 / 1024) : () } <$status>;
	return ($figure{RssAnon} // 0, $figure{VmHWM} // 0);
}

# Returns the CPU time that the server's process has taken, or 0 if it is gone.
sub cpu_seconds
{
	my ($self) = @_;
	open(my $stat, '<', "/proc/$self->{backend}/stat") or return 0;
	my @figures = split(' ', <$stat> =~ s/.*\) //r);
	return ($figures[11] + $figures[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# Ends psql. A server's process that does not answer ends when it notices, or with its cluster.
sub close
{
	my ($self) = @_;
	kill('KILL', $self->{pid}) if $self->{lost};
	close($self->{to});
	close($self->{from});
	waitpid($self->{pid}, 0);
	return;
}

1;
