# Draws that depend on nothing but the seed.
package Equivalence::Draw;

use strict;
use warnings;

use Digest::MD5 'md5';
use Exporter 'import';

our @EXPORT = qw(reseed chance between pick weighted shuffle quote);

# Starts a new sequence of draws. Sequences of different names have nothing in common.
sub reseed
{
	my (@name) = @_;
	srand(unpack('N', md5(join('/', @name))));
	return;
}

# Returns true with this probability.
sub chance
{
	my ($probability) = @_;
	return rand() < $probability;
}

# Returns an integer from low to high.
sub between
{
	my ($low, $high) = @_;
	return $low + int(rand($high - $low + 1));
}

# Returns one of the arguments.
sub pick
{
	my (@values) = @_;
	return $values[ int(rand(@values)) ];
}

# Takes weights and values in turn, and returns one of the values.
sub weighted
{
	my (@table) = @_;
	my $total = 0;
	for (my $i = 0; $i < @table; $i += 2) { $total += $table[$i]; }
	my $at = rand($total);
	for (my $i = 0; $i < @table; $i += 2)
	{
		$at -= $table[$i];
		return $table[ $i + 1 ] if $at < 0;
	}
	return $table[-1];
}

# Returns the arguments in another order.
sub shuffle
{
	my (@values) = @_;
	for (my $i = @values - 1; $i > 0; --$i)
	{
		my $j = int(rand($i + 1));
		@values[ $i, $j ] = @values[ $j, $i ];
	}
	return @values;
}

# Returns a text as an SQL literal.
sub quote
{
	my ($text) = @_;
	$text =~ s/'/''/g;
	return "'$text'";
}

1;
