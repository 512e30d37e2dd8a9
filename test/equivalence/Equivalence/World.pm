# A schema with data: three tables of one row type that differ in every property that the planner and the executor see.
package Equivalence::World;

use strict;
use warnings;

use Equivalence::Draw;
use Exporter 'import';

our @EXPORT = qw(draw_world array_literal @row_columns);

# Every table, view and subquery has these columns.
our @row_columns = qw(id grp k flag s note);

my %element_type = ('int4[]' => 'int4', 'int8[]' => 'int8', 'text[]' => 'text');

# Returns the world's tokens by number, all different.
sub draw_tokens
{
	my ($type, $universe) = @_;
	my %extremes = (
		'int4[]' => [ -2147483648, 2147483647, -1, 0 ],
		'int8[]' => [ '-9223372036854775808', '9223372036854775807', 4294967296, -1, 0 ],
		'text[]' => [ '', ' ', 'NULL', 'a,b', "it's", 'q"q', 'b\\s', '{}', "\x{c3}\x{a9}", 'x' x 200 ]);
	my @tokens = $type eq 'text[]' ? map { "t$_" } 1 .. $universe : map { $_ * 7 - 40 } 1 .. $universe;
	if (chance(0.5))
	{
		my @odd = @{ $extremes{$type} };
		@tokens[ map { $_ * int($universe / @odd) } 0 .. $#odd ] = @odd if $universe > 2 * @odd;
		my %seen;
		@tokens = grep { !$seen{$_}++ } @tokens;
	}
	return \@tokens;
}

# Returns an array literal without its quotes.
sub array_literal
{
	my ($type, @elements) = @_;
	return '{' . join(',', @elements) . '}' if $type ne 'text[]';
	my @quoted = map { my $text = $_; $text =~ s/(["\\])/\\$1/g; qq("$text") } @elements;
	return '{' . join(',', @quoted) . '}';
}

# Returns a token's number. The world's skew says how much more frequent small numbers are.
sub draw_token
{
	my ($world) = @_;
	return int(@{ $world->{tokens} } * rand()**$world->{skew});
}

# Returns a set of at most this number of tokens, as a list of different numbers.
sub fresh_set
{
	my ($world, $size) = @_;
	my %set;
	for (1 .. 3 * $size)
	{
		last if keys %set >= $size;
		$set{ draw_token($world) } = 1;
	}
	return sort { $a <=> $b } keys %set;
}

# Returns a set that shares exactly some of the tokens of an earlier one: many pairs of small sets lie on a threshold.
sub related_set
{
	my ($world, @set) = @_;
	my @kept = shuffle(@set);
	my $dropped = weighted(4, 0, 4, 1, 2, 2, 1, between(0, scalar @set));
	splice(@kept, 0, $dropped > @kept ? scalar @kept : $dropped);
	my %kept = map { $_ => 1 } @kept, @set;
	my @added = grep { !$kept{$_} } fresh_set($world, weighted(4, 0, 4, 1, 2, 2, 1, 5));
	return (@kept, @added);
}

# Returns an array as an SQL literal without quotes, or undef for NULL.
sub draw_set
{
	my ($world, $pool) = @_;
	return if chance($world->{null_sets});
	return '{}' if chance(0.06);
	my @set;
	if (@$pool && chance(0.65))
	{
		@set = related_set($world, @{ pick(@$pool) });
	}
	else
	{
		@set = fresh_set($world, pick(@{ $world->{sizes} }));
	}
	push @$pool, [@set] if @$pool < 60 && @set;
	push @set, pick(@set) while @set && chance(0.15);
	my $literal = array_literal($world->{type}, map { $world->{tokens}[$_] } shuffle(@set));
	return @set && chance(0.05) ? '[5:' . (@set + 4) . ']=' . $literal : $literal;
}

sub or_null
{
	my ($null_share, $value) = @_;
	return chance($null_share) ? undef : $value;
}

# Returns a text of a few words of few letters, so that shingles coincide too.
sub draw_note
{
	my ($world) = @_;
	my $words = join(' ', map { join('', map { pick(qw(a b c)) } 1 .. between(1, 3)) } 1 .. between(1, 6));
	return $words if !$world->{wide};
	return $words . ' ' . join('', map { chr(between(97, 122)) } 1 .. between(2500, 5000));
}

# Returns the rows of a table, as VALUES of SQL.
sub draw_rows
{
	my ($world, $pool, $first_id) = @_;
	my @rows;
	my $nulls = $world->{nulls};
	for my $i (1 .. $world->{rows}->())
	{
		my @values = (
			$first_id + $i,
			or_null($nulls, between(0, 4)),
			or_null($nulls, pick(qw(x y z))),
			or_null($nulls, pick(qw(true true false))),
			scalar draw_set($world, $pool),
			or_null($nulls, draw_note($world)));
		push @rows, '(' . join(', ', map { defined $_ ? quote($_) : 'NULL' } @values) . ')';
	}
	return @rows;
}

my $columns = 'id int, grp int, k text, flag bool, s %s, note text';

# Returns the statements that make an empty table of a drawn kind, and its properties.
sub create_table
{
	my ($world, $name) = @_;
	my $set_type = chance(0.15) ? 'tags' : $world->{type};    # a domain over it
	my $body = sprintf($columns, $set_type);
	my $kind = weighted(8, 'plain', 2, 'primary key', 2, 'dropped columns', 1, 'temporary', 1, 'unlogged', 3, 'list',
		2, 'hash', 1, 'range', 2, 'inherited', 1, 'materialized view');
	my %table = (name => $name, kind => $kind, writable => $kind ne 'materialized view', partitioned => 0);
	my $foreign_order = "note text, junk int, s $set_type, flag bool, grp int, k text, id int";
	my %create = (
		'plain' => "CREATE TABLE $name ($body)",
		'primary key' => "CREATE TABLE $name ($body, PRIMARY KEY (id)); CREATE INDEX ON $name (grp)",
		'dropped columns' => "CREATE TABLE $name (junk1 int, $body, junk2 text);
			ALTER TABLE $name DROP COLUMN junk1, DROP COLUMN junk2",
		'temporary' => "CREATE TEMP TABLE $name ($body)",
		'unlogged' => "CREATE UNLOGGED TABLE $name ($body)",
		'list' => "CREATE TABLE $name ($body) PARTITION BY LIST (grp);
			CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES IN (0, 1);
			CREATE TABLE ${name}_1 ($foreign_order);
			ALTER TABLE ${name}_1 DROP COLUMN junk;
			ALTER TABLE $name ATTACH PARTITION ${name}_1 FOR VALUES IN (2, 3);
			CREATE TABLE ${name}_rest PARTITION OF $name DEFAULT",
		'hash' => "CREATE TABLE $name ($body) PARTITION BY HASH (id);
			CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES WITH (MODULUS 2, REMAINDER 0);
			CREATE TABLE ${name}_1 PARTITION OF $name FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
		'range' => "CREATE TABLE $name ($body) PARTITION BY RANGE (id);
			CREATE TABLE ${name}_0 PARTITION OF $name FOR VALUES FROM (MINVALUE) TO (20);
			CREATE TABLE ${name}_1 PARTITION OF $name FOR VALUES FROM (20) TO (MAXVALUE) PARTITION BY LIST (flag);
			CREATE TABLE ${name}_1_all PARTITION OF ${name}_1 DEFAULT",
		'inherited' => "CREATE TABLE $name ($body); CREATE TABLE ${name}_heir (extra int) INHERITS ($name)",
		'materialized view' => "CREATE TABLE ${name}_base ($body)");
	$table{create} = $create{$kind};
	$table{partitioned} = 1 if $kind =~ /^(list|hash|range|inherited)$/;
	return \%table;
}

# Returns the statements that fill a table.
sub fill_table
{
	my ($table, @rows) = @_;
	my $name = $table->{name};
	my $into = $table->{kind} eq 'materialized view' ? "${name}_base" : $name;
	my $sql = '';
	my $list = join(', ', @row_columns);
	if ($table->{kind} eq 'inherited')
	{
		my @heirs = splice(@rows, 0, int(@rows / 3));
		$sql .= "INSERT INTO ${name}_heir ($list) VALUES " . join(",\n", @heirs) . ";\n" if @heirs;
	}
	$sql .= "INSERT INTO $into ($list) VALUES " . join(",\n", @rows) . ";\n" if @rows;
	$sql .= "CREATE MATERIALIZED VIEW $name AS SELECT * FROM $into;\n" if $into ne $name;
	$sql .= "ANALYZE $name;\n" if chance(0.7);
	return $sql;
}

# Returns a statement that makes an index on the sets of a table.
sub create_set_index
{
	my ($world, $name) = @_;
	my $measure = weighted(4, 'jaccard', 1, 'cosine', 1, 'dice', 2, 'overlap', 2, 'overlap_coefficient');
	my $threshold = $measure eq 'overlap' ? pick(1, 1, 2, 4) : pick(0.1, 0.2, 0.3, 0.5, 0.7, 0.9);
	if (chance(0.5))
	{
		return "SELECT create_similarity_index('$name', 's', $threshold, '$measure');\n";
	}
	my $class = $element_type{ $world->{type} } . '_similarity_ops';
	my $where = chance(0.2) ? ' WHERE s IS NOT NULL' : '';
	my $buffered = chance(0.5) ? ' WITH (fastupdate = off)' : '';
	return "CREATE INDEX ON $name USING gin (s $class (measure = $measure, threshold = $threshold))$buffered$where;\n";
}

# Returns statements that make views and functions over a table.
sub dress_table
{
	my ($world, $table) = @_;
	my $name = $table->{name};
	my $type = $world->{type};
	my $condition = pick('flag', 'id % 3 > 0', 'grp > 0', 's IS NOT NULL');
	# PostgreSQL 17 and later make materialized views with a search path of their own.
	my $full_name = ($table->{kind} eq 'temporary' ? 'pg_temp' : 'equivalence') . ".$name";
	return "CREATE VIEW ${name}_view AS SELECT * FROM $name WHERE $condition;
		CREATE VIEW ${name}_barrier WITH (security_barrier) AS SELECT * FROM $name WHERE $condition;
		CREATE FUNCTION ${name}_above(low int)
		RETURNS TABLE (id int, grp int, k text, flag bool, s $type, note text) LANGUAGE sql STABLE
		AS \$\$ SELECT t.id, t.grp, t.k, t.flag, t.s::$type, t.note FROM $full_name t WHERE t.id > low \$\$;
		CREATE FUNCTION ${name}_loop(low int)
		RETURNS TABLE (id int, grp int, k text, flag bool, s $type, note text) LANGUAGE plpgsql STABLE
		AS \$\$ BEGIN RETURN QUERY SELECT t.id, t.grp, t.k, t.flag, t.s::$type, t.note FROM $full_name t WHERE t.id > low; END \$\$;\n";
}

# Returns a function that weighs the elements of a set by their values and their number: by tenths, or by anything from
# 2^-60 to 2^60. The planner cannot look into it.
sub weights_function
{
	my ($world) = @_;
	my $weight = pick("(h & 15) / 10.0", "(h & 3) * 0.1 + 1", "(1 + (h & 255) / 256.0) * 2.0 ^ ((h >> 8) % 60)");
	return "CREATE FUNCTION weights_of(tokens anyarray) RETURNS real[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS \$\$
		BEGIN RETURN ARRAY(SELECT ($weight)::real FROM (SELECT pg_catalog.hashtext(e::text) + pg_catalog.cardinality(tokens) % 2 AS h, n
			FROM pg_catalog.unnest(tokens) WITH ORDINALITY u(e, n)) hashed ORDER BY n); END \$\$;\n";
}

# Returns a world: its tables, the values for constants, and the SQL that makes it in an empty schema.
sub draw_world
{
	my ($seed, $number) = @_;
	reseed($seed, 'world', $number);
	my %world = (
		type => weighted(3, 'int4[]', 2, 'int8[]', 2, 'text[]'),
		skew => pick(1, 1.5, 3),
		null_sets => pick(0, 0.1, 0.3),
		nulls => pick(0, 0.15, 0.4),
		wide => chance(0.12),
		small => chance(0.3));
	$world{sizes} = weighted(5, [ 1 .. 10 ], 2, [ 2 .. 4 ], 1, [ 1, 31, 32, 33, 63, 64, 65, 128 ], 1, [ 20 .. 60 ],
		0.5, [ 5, 300, 310 ]);    # the last ones are compressed, or not even in the table's rows
	my $longest = $world{sizes}[-1];
	$world{tokens} = draw_tokens($world{type}, $longest > 200 ? 1000 : pick(12, 40, 40, 150, 1000));
	$world{small} = 0 if $world{wide};
	$world{rows} = $world{small} ? sub { pick(0, 1, 2, between(3, 25)) } : sub { between(30, 110) };
	$world{rows} = sub { between(70, 120) } if $world{wide};
	my $sql = "CREATE DOMAIN tags AS $world{type};\n" . weights_function(\%world);
	my @pool;
	for my $i (0 .. 2)
	{
		my $table = create_table(\%world, "t$i");
		push @{ $world{tables} }, $table;
		$sql .= "$table->{create};\n";
		# Plain columns are stored in the rows, which then do not fit into the least memory of a join.
		$sql .= "ALTER TABLE t$i ALTER note SET STORAGE " . pick('EXTERNAL', 'PLAIN', 'PLAIN') . ";\n"
		  if $world{wide} && $table->{writable} && !$table->{partitioned};
		$sql .= fill_table($table, draw_rows(\%world, \@pool, chance(0.3) ? 0 : 1000 * $i));
		$sql .= create_set_index(\%world, $table->{name});
		$sql .= dress_table(\%world, $table);
	}
	my $secured = (grep { $_->{kind} eq 'plain' } @{ $world{tables} })[0];
	$sql .= "ALTER TABLE $secured->{name} ENABLE ROW LEVEL SECURITY;
		CREATE POLICY visible ON $secured->{name} USING (grp <> 2);\n" if $secured;
	# Another user could not see a temporary table.
	$world{secured} = $secured && !grep { $_->{kind} eq 'temporary' } @{ $world{tables} };
	$world{sql} = $sql;
	$world{pool} = \@pool;
	return \%world;
}

1;
