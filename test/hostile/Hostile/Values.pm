# Values of every type that a role may pass to a function: extreme values, meaningless ones and some good ones.
package Hostile::Values;

use strict;
use warnings;

use Equivalence::Draw;
use Exporter 'import';
use Hostile::Queries;

our @EXPORT = qw(draw_value draw_array relations words);

my @int4 = qw(0 1 2 3 5 17 100 128 1000 65535 65536 1000000 2147483647 -1 -2 -2147483648);
my @int8 = (@int4, qw(4294967296 9007199254740993 9223372036854775807 -9223372036854775808));
my @floats = qw(0 -0 0.05 0.3 0.5 0.7 0.85 1 1.0000000000000002 2 100 1e9 -1 -0.5 NaN Infinity -Infinity 1e-9 5e-324
  1.7976931348623157e308 2147483648);
my @float4 = qw(0 -0 0.5 1 2.5 1e-38 1e-45 3.4e38 -1 -2.5 NaN Infinity -Infinity);

# Names of measures, methods and the like. The catalog adds those of the settings.
my @words = qw(jaccard cosine dice overlap overlap_coefficient containment weighted_jaccard weighted_cosine components star best_link smallest_id first_row power random_walk bilinear
  greedy auto exact minhash euclid best mutual one_to_one assignment);
my @relations;    # names of the world, as regclass literals

sub words { my (@more) = @_; push @words, @more; return @words; }
sub relations { my (@more) = @_; @relations = @more if @more; return @relations; }

sub draw_text
{
	return weighted(
		6 => quote(pick('', ' ', 'a', 'The quick brown fox jumps over the lazy dog', "\x{e9}\x{301}\x{10fffd} \x{df}\x{130}",
				"tab\tnew\nline", "%s%n", "it's; DROP TABLE docs; --", '{1,2}', 'NULL', "\x{feff}\x{200b}")),
		1 => "repeat(" . quote(pick('x', "\x{1f600} ", ' ', "ab \n", 'word ')) . ', ' . pick(100, 10000, 300000) . ')',
		1 => 'array_to_string(array(SELECT chr(i) FROM generate_series(' . pick('1, 300', '55200, 55295', '65000, 66000') . ') i), \'\')');
}

# Returns elements for an array literal of a type.
sub draw_element
{
	my ($type) = @_;
	return 'NULL' if chance(0.03);
	return pick(@int4) if $type eq 'integer' && chance(0.3);
	return pick(@int8) if $type eq 'bigint' && chance(0.3);
	return pick(@float4) if $type =~ /^(real|double precision)$/;
	return pick('""', '"a b"', 'a', 'b', '"\\\\"', '"{}"', "\x{e9}", '"null"', 'x' x between(1, 40)) if $type eq 'text';
	return between(0, 9);
}

# Returns an array literal: sometimes of two dimensions, empty, with bounds of its own or long.
sub draw_array
{
	my ($element) = @_;
	my $list = sub { join(',', map { draw_element($element) } 1 .. $_[0]) };
	my $n = between(1, 8);
	return weighted(
		2 => "'{}'::${element}[]",
		10 => quote('{' . $list->($n) . '}') . "::${element}[]",
		1 => quote('{{' . $list->($n) . '},{' . $list->($n) . '}}') . "::${element}[]",
		1 => quote('{{{' . $list->(1) . '}}}') . "::${element}[]",
		2 => quote('[' . join(':', map { $_ + 0 } bounds($n)) . ']={' . $list->($n) . '}') . "::${element}[]",
		1 => "array_fill(NULL::$element, '{" . between(0, 40) . "}')",
		1 => "(array_agg(NULL::$element) FILTER (WHERE false))",
		1 => "array(SELECT (" . pick('i', 'i % 7', '-i') . ")::text::$element FROM generate_series(1, "
		  . pick(2, 100, 3000, 40000) . ') i)',
		1 => "array(SELECT x FROM unnest(" . quote('{' . $list->($n) . '}') . "::${element}[]) x, generate_series(1, 300))");
}

sub bounds
{
	my ($n) = @_;
	my $low = pick(-2147483648, -5, 0, 2, 1000000, 2147483647 - $n);
	return ($low, $low + $n - 1);
}

# A signature: a good one, one with changed bytes or text, or that of an empty set.
sub draw_minhash
{
	my ($size, $seed) = (pick(1, 2, 7, 64, 128, 128, 1000, 65535), pick(1, 1, -1, 9223372036854775807));
	my $good = weighted(
		6 => 'minhash(' . draw_array(pick('integer', 'bigint', 'text')) . ", $size, $seed)",
		2 => "weighted_minhash('{1,2,3}'::int[], '{1,0.5,2}', " . ($size > 1000 ? 64 : $size) . ", $seed)",
		1 => "minhash('{}'::int[], $size, $seed)");
	return weighted(
		6 => $good,
		3 => "minhash_truncate($good, " . pick(1, 2, 7, 8, 31, 32) . ')',
		2 => '(' . draw_bytea() . ')::minhash',
		2 => draw_minhash_text() . '::minhash');
}

# The bytes of a signature, some of them changed.
sub draw_bytea
{
	my $signature = "minhash_truncate(minhash('{1,2,3}'::int[], " . pick(1, 3, 8, 128) . '), ' . pick(1, 5, 8, 32) . ')::bytea';
	return weighted(
		4 => "set_byte($signature, " . between(0, 15) . ', ' . pick(0, 1, 2, 32, 33, 127, 128, 255) . ')',
		2 => "substr($signature, 1, " . between(0, 20) . ')',
		2 => "$signature || '\\x00'",
		1 => "set_byte($signature, length($signature) - 1, 255)",
		2 => quote('\\x' . join('', map { sprintf('%02x', between(0, 255)) } 1 .. between(0, 40))) . '::bytea');
}

# The text form, with a changed character or number.
sub draw_minhash_text
{
	my @parts = (pick('minhash', 'weighted'), 1, 4, 8, 1, '01020304');
	my $numbers = sub { pick('', 0, -1, 2, 33, 65535, 65536, '99999999999999999999', ' 1', '+1', '0x1', '1e3') };
	if (chance(0.8))
	{
		my $i = between(0, 5);
		$parts[$i] = $i == 0 ? pick('', 'MINHASH', 'minhash ', 'none')
		  : $i == 5 ? pick('', 'empty', 'empty ', '010203', '0102030g', 'zz', '01' x 65536, 'EMPTY', '0102030405')
		  : $numbers->();
	}
	return quote(join(pick(':', ':', ':', ':', ''), @parts, chance(0.1) ? '' : ()));
}

# Returns a relation. If some relations are named like the parameter, it is mostly one of them.
sub draw_relation
{
	my ($name) = @_;
	my ($kind) = $name =~ /(source|rows|pairs|changes|order)/;
	my @fitting = $kind ? grep { /$kind/ } @relations : ();
	return quote(pick(@fitting)) . '::regclass' if @fitting && chance(0.85);
	return weighted(
		10 => @relations ? quote(pick(@relations)) . '::regclass' : '0::regclass',
		1 => pick(qw(0 1 1259 4294967295 2147483648)) . '::oid::regclass',
		2 => quote(pick(qw(pg_class pg_proc pg_statistic pg_authid pg_toast.pg_toast_1255 pg_roles
				information_schema.columns pg_depend_reference_index))) . '::regclass');
}

my %scalar = (
	integer => sub { pick(@int4) . '::int' =~ s/^(-.*)::int$/($1)::int/r },
	bigint => sub { my $n = pick(@int8); $n eq '-9223372036854775808' ? "'$n'::bigint" : "($n)::bigint" },
	smallint => sub { pick('0', '1', "'-32768'", '32767') . '::smallint' },
	'double precision' => sub { quote(pick(@floats)) . '::float8' },
	real => sub { quote(pick(@float4)) . '::float4' },
	boolean => sub { pick('true', 'false') },
	jsonb => sub { quote(pick('{}', '[]', '1', '{"a": [0.5, 1]}', '{"a": [1e999]}', '{"b": [null]}', '[{}]', '[{"place": 1, "prior": 0.5}]', '[[1], 2]',
			'[{"place": 1, "prior": 0.5, "level": 1, "at_least": 0.5, "weight": 2}]', '[{"place": 1e9, "prior": "x"}]')) . '::jsonb' },
	bytea => \&draw_bytea,
	cstring => sub { draw_minhash_text() . '::cstring' },
	minhash => \&draw_minhash,
	regclass => \&draw_relation,
	tokenizer => sub { quote(weighted(6 => pick('shingles', 'shingles(2)', 'shingles64(9)', 'word_shingles(1)', 'word_shingles64', 'words', 'words(english)', 'alnum', 'qgrams(2)', 'shingles(3, multi, nfkc, unaccent)', 'words(multi, casefold)'),
			3 => pick('shingles(2147483647)', 'word_shingles64( 2147483647 )', 'words(hostile.odd_words)', 'words(hostile.odd_words, multi)', 'qgrams(255, multi)', 'alnum64(unaccent,nfkc,casefold,multi)', 'words("")', 'words(a.b.c.d.e)', 'words(-)',
				'words(0)', 'words(' . 'x' x 100000 . ')', "words(\x{e9})", 'words("")'),
			1 => pick('', 'shingles(0)', 'words(', 'jaccard', 'x' x 100000))) . '::tokenizer' },
	internal => sub { 'NULL' });

# Values with which most calls get beyond the checks of their parameters.
my %mild = (
	integer => sub { between(1, 20) },
	bigint => sub { between(1, 20) . '::bigint' },
	'double precision' => sub { pick(0.1, 0.3, 0.5, 0.7, 0.9) },
	'double precision[]' => sub { quote(pick('{0.5}', '{0.9,0.2,0.6}', '{0.7,0.7}', '{1,0.99}')) . '::float8[]' });

# Returns an SQL expression for a parameter of a type. The parameter's name tells the meaning of a text. `depth` is the
# number of queries around it, `key` the type of the keys that a function over queries is called with, if any. `texts` says
# whether its queries are to return texts.
sub draw_value
{
	my ($type, $name, $depth, $mild, $key, $texts) = @_;
	return weighted(9 => "NULL::$key", 1 => 'NULL::' . draw_key(), 0.2 => 'NULL') if $key && $type =~ /^any(element|compatible)$/;
	return $mild{$type}->() if $mild && $mild{$type};
	return "NULL::$type" if chance(0.05) && $type !~ /^(any|internal)/;
	if ($type eq 'text')
	{
		my $kind = $name =~ /query|edges|nodes|pairs/ ? 'query' : $name =~ /input|name|view|body|^[ab]$/ ? 'text' : 'word';
		$kind = pick('query', 'text', 'word') if chance(0.1);
		return quote(draw_query($name, $depth, $key, $texts)) if $kind eq 'query';
		return $kind eq 'word' ? quote(pick(@words)) : draw_text();
	}
	return $scalar{$type}->($name) if $scalar{$type};
	return draw_array($1) if $type =~ /^(.*)\[\]$/;
	return weighted(6 => draw_array(pick('integer', 'bigint', 'text', 'real')),
		1 => "array_fill('(1,2)'::hostile.pair, '{2}')", 1 => "'1 2 3'::int2vector", 1 => "'1 2'::oidvector",
		1 => "'{1,2}'::hostile.few_ints", 1 => "'{red,blue}'::hostile.color[]", 1 => "NULL::text[]", 1 => "'{}'::record[]",
		1 => "'{1,2}'::hostile.positive[]", 1 => 'NULL')
	  if $type =~ /^any/;
	return "NULL::$type";
}

1;
