# A Chromium without a window, which a test loads pages in and presses keys in. It speaks the browser's own protocol over pipes.
package Browser;

use strict;
use warnings;

use IO::Select;
use JSON::PP;
use MIME::Base64;
use POSIX ();

my $patience = 180;    # seconds until a browser that hangs is given up

# Returns the path of Chromium, or nothing where none is installed.
sub path
{
	for my $name (qw(chromium chromium-browser google-chrome chrome))
	{
		for my $folder (split(/:/, $ENV{PATH}), '/usr/bin')
		{
			return "$folder/$name" if -x "$folder/$name";
		}
	}
	return;
}

# Starts the browser at $path with its files in the folder.
sub start
{
	my ($class, $path, $folder) = @_;
	pipe(my $commands, my $to) or die "pipe: $!";
	pipe(my $from, my $answers) or die "pipe: $!";
	my $process = fork() // die "fork: $!";
	if ($process == 0)
	{
		# Commands come by descriptor 3, and answers go by 4. The ends of the pipes may be these.
		my ($in, $out) = (POSIX::dup2(fileno($commands), 50), POSIX::dup2(fileno($answers), 51));
		POSIX::dup2($in, 3);
		POSIX::dup2($out, 4);
		POSIX::close($_) for 5 .. 51;
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', "$folder/browser.log");
		open(STDERR, '>&', \*STDOUT);
		$ENV{HOME} = $folder;
		exec($path, qw(--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions
			  --disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe),
			"--window-size=1200,900", "--user-data-dir=$folder/profile")
		  or POSIX::_exit(1);
	}
	close($commands);
	close($answers);
	$to->autoflush(1);
	my $self = bless({ process => $process, to => $to, from => $from, number => 0, received => '', events => [] }, $class);
	my $page = $self->call('Target.createTarget', { url => 'about:blank' });
	$self->{session} = $self->call('Target.attachToTarget', { targetId => $page->{targetId}, flatten => JSON::PP::true })->{sessionId};
	$self->call($_) for 'Page.enable', 'Runtime.enable', 'Log.enable', 'Network.enable';
	return $self;
}

# Returns the next message of the browser.
sub message
{
	my ($self) = @_;
	while ($self->{received} !~ /\0/)
	{
		IO::Select->new($self->{from})->can_read($patience) or die 'the browser does not answer';
		sysread($self->{from}, $self->{received}, 1 << 20, length($self->{received})) or die 'the browser has ended';
	}
	$self->{received} =~ s/\A([^\0]*)\0//;
	return decode_json($1);
}

# Returns the result of a command. Keeps the events before it.
sub call
{
	my ($self, $method, $parameters) = @_;
	my $number = ++$self->{number};
	my %message = (id => $number, method => $method, params => $parameters // {});
	$message{sessionId} = $self->{session} if $self->{session};
	print { $self->{to} } encode_json(\%message) . "\0";
	while (1)
	{
		my $answer = $self->message;
		push(@{ $self->{events} }, $answer) if $answer->{method};
		next if ($answer->{id} // 0) != $number;
		die "$method: $answer->{error}{message}" if $answer->{error};
		return $answer->{result};
	}
}

# Loads a page, and waits until it is complete.
sub load
{
	my ($self, $url) = @_;
	@{ $self->{events} } = ();
	$self->call('Page.navigate', { url => $url });
	until (grep { $_->{method} eq 'Page.loadEventFired' } @{ $self->{events} })
	{
		push(@{ $self->{events} }, $self->message);
	}
}

# Returns the messages of the page's console, of exceptions, and of what it was not allowed to do.
sub complaints
{
	my ($self) = @_;
	$self->value('0');    # those of before have come with it
	return map { encode_json($_->{params}) } grep { $_->{method} =~ /^(Runtime\.(exceptionThrown|consoleAPICalled)|Log\.entryAdded)$/ } @{ $self->{events} };
}

# Returns the addresses of what the page has loaded.
sub requests
{
	my ($self) = @_;
	return map { $_->{params}{request}{url} } grep { $_->{method} eq 'Network.requestWillBeSent' } @{ $self->{events} };
}

# Returns the value of an expression of JavaScript in the page.
sub value
{
	my ($self, $expression) = @_;
	my $result = $self->call('Runtime.evaluate', { expression => $expression, returnByValue => JSON::PP::true });
	die "$expression: $result->{exceptionDetails}{exception}{description}" if $result->{exceptionDetails};
	return $result->{result}{value};
}

# Presses and releases keys, which are letters.
sub press
{
	my ($self, @keys) = @_;
	for my $key (@keys)
	{
		$self->call('Input.dispatchKeyEvent', { type => $_, key => $key, text => $_ eq 'keyDown' ? $key : '', code => 'Key' . uc($key) })
		  for 'keyDown', 'keyUp';
	}
}

# Says whether the user prefers a 'light' or a 'dark' page.
sub prefer
{
	my ($self, $scheme) = @_;
	$self->call('Emulation.setEmulatedMedia', { features => [ { name => 'prefers-color-scheme', value => $scheme } ] });
}

# Writes a picture of what is seen as a PNG file.
sub picture
{
	my ($self, $file, %parameters) = @_;
	open(my $out, '>:raw', $file) or die "$file: $!";
	print $out decode_base64($self->call('Page.captureScreenshot', { format => 'png', %parameters })->{data});
	close($out);
}

# Ends the browser.
sub DESTROY
{
	my ($self) = @_;
	local ($@, $?, $!);
	eval { $self->{session} = undef; $self->call('Browser.close'); };
	kill('KILL', $self->{process}) if $@;
	waitpid($self->{process}, 0);
}

1;
