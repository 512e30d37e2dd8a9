# Items of a FROM clause: tables, views, functions and subqueries of every kind, all with the same columns.
package Equivalence::Input;

use strict;
use warnings;

use Equivalence::Draw;
use Equivalence::World;
use Exporter 'import';

our @EXPORT = qw(draw_input input_condition);

# Returns a condition on columns of one alias.
sub input_condition
{
	my ($alias) = @_;
	return pick(
		"$alias.flag", "NOT $alias.flag", "$alias.id % 3 > 0", "$alias.grp > 1",
		"$alias.grp IN (0, 1, 2)", "$alias.k < 'z'", "$alias.k IS NOT NULL", "cardinality($alias.s) > 1",
		"($alias.flag OR $alias.grp = 1)", "$alias.s IS NOT NULL", "length($alias.note) > 4", "$alias.grp IS NULL");
}

sub columns_of
{
	my ($alias, %replaced) = @_;
	return join(', ', map { exists $replaced{$_} ? "$replaced{$_} AS $_" : "$alias.$_" } @row_columns);
}

# Subqueries over one table, by name. Each gets the world and a table, and returns SQL.
my %subqueries = (
	filtered => sub { my ($w, $t) = @_; "SELECT * FROM $t i WHERE " . input_condition('i') },
	columns => sub {
		my ($w, $t) = @_;
		my $set = array_literal($w->{type}, pick(@{ $w->{tokens} }));
		'SELECT ' . columns_of('i', grp => 'coalesce(i.grp, 0)', s => 'coalesce(i.s, ' . quote($set) . ')',
			note => 'upper(i.note)', k => quote('x')) . " FROM $t i";
	},
	fenced => sub { my ($w, $t) = @_; "SELECT * FROM $t i OFFSET 0" },
	limited => sub { my ($w, $t) = @_; "SELECT * FROM $t i ORDER BY id LIMIT " . between(1, 40) },
	aggregated => sub {
		my ($w, $t) = @_;
		'SELECT min(i.id) AS id, i.grp, max(i.k) AS k, bool_or(i.flag) AS flag, array_agg(e ORDER BY e) AS s,
			max(i.note) AS note FROM ' . "$t i, unnest(i.s) e GROUP BY i.grp, i.k";
	},
	distinct => sub { my ($w, $t) = @_; "SELECT DISTINCT ON (grp, k) * FROM $t i ORDER BY grp, k, id" },
	all => sub {
		my ($w, $t) = @_;
		my $other = pick(@{ $w->{tables} })->{name};
		'SELECT ' . columns_of('i') . " FROM $t i UNION ALL SELECT " . columns_of('o', id => 'o.id + 500') . " FROM $other o";
	},
	united => sub {
		my ($w, $t) = @_;
		'SELECT ' . columns_of('i') . " FROM $t i UNION SELECT " . columns_of('i') . " FROM $t i WHERE i.flag";
	},
	window => sub {
		my ($w, $t) = @_;
		'SELECT ' . columns_of('r') . " FROM (SELECT *, row_number() OVER (PARTITION BY grp ORDER BY id) AS n FROM $t) r
			WHERE n <= 6";
	},
	joined => sub {
		my ($w, $t) = @_;
		my $other = pick(@{ $w->{tables} })->{name};
		my $join = pick('JOIN', 'LEFT JOIN', 'FULL JOIN');
		'SELECT ' . columns_of('i', id => 'coalesce(i.id, 0) + coalesce(o.id, 0)', grp => 'o.grp', note => 'o.note')
			. " FROM $t i $join $other o ON i.id = o.id";
	},
	similar => sub {
		my ($w, $t) = @_;
		my $other = pick(@{ $w->{tables} })->{name};
		my $join = pick('JOIN', 'LEFT JOIN');
		'SELECT ' . columns_of('i', grp => 'o.grp', note => 'o.note')
			. " FROM $t i $join $other o ON jaccard_similarity(i.s, o.s) >= 0.9"
			. ($w->{small} ? '' : ' OFFSET 0');    # two of them would make a join of four large tables
	},
	found => sub {
		my ($w, $t) = @_;
		my $other = pick(@{ $w->{tables} })->{name};
		"SELECT * FROM $t i WHERE EXISTS (SELECT FROM $other o WHERE dice_similarity(o.s, i.s) > 0.8 AND o.id <> i.id)";
	});

# Returns the rows of VALUES of this type.
sub values_list
{
	my ($world) = @_;
	my @rows;
	for my $i (1 .. between(2, 8))    # a single row is a constant to the planner
	{
		my $set = chance(0.15) ? 'NULL' : quote(array_literal($world->{type},
			map { $world->{tokens}[$_] } @{ pick(@{ $world->{pool} }, [0]) }));
		push @rows, "($i, " . between(0, 4) . ", 'x', " . pick('true', 'false', 'NULL::bool') . ", $set\::$world->{type}, 'a b')";
	}
	return join(', ', @rows);
}

# Draws an input. It is a list of its FROM item, with <alias> for its alias, the CTEs that it needs, whether it has system
# columns (table) and the table's name, if it is a table (base).
sub draw_input
{
	my ($world) = @_;
	my $table = pick(@{ $world->{tables} });
	my $name = $table->{name};
	my $kind = weighted(14, 'table', 1, 'only', 2, 'view', 2, 'barrier', 1, 'sampled', 1, 'function', 1, 'loop',
		1, 'values', 2, 'cte', 2, 'materialized', 8, 'subquery');
	my %input = (kind => $kind, base => '', cte => '', writable => 0);
	my $subquery = $subqueries{ pick(sort keys %subqueries) };
	my %from = (
		table => "$name <alias>",
		only => "ONLY $name <alias>",
		view => "${name}_view <alias>",
		barrier => "${name}_barrier <alias>",
		sampled => "$name <alias> TABLESAMPLE bernoulli (70) REPEATABLE (" . between(1, 9) . ')',
		function => "${name}_above(" . between(0, 20) . ') <alias>',
		loop => "${name}_loop(" . between(0, 20) . ') <alias>',
		subquery => '(' . $subquery->($world, $name) . ') <alias>');
	$from{sampled} = $from{table} if $table->{kind} eq 'materialized view' && chance(0.5);
	$from{only} = $from{table} if $table->{kind} =~ /^(list|hash|range)$/;    # ONLY such a table is empty
	if ($kind eq 'values')
	{
		$from{values} = '(VALUES ' . values_list($world) . ') <alias>(' . join(', ', @row_columns) . ')';
	}
	elsif ($kind eq 'cte' || $kind eq 'materialized')
	{
		my $cte = 'c' . between(1, 1000000);
		$input{cte} = "$cte AS " . ($kind eq 'cte' ? pick('', 'NOT MATERIALIZED') : 'MATERIALIZED') . ' ('
			. $subquery->($world, $name) . ')';
		$from{$kind} = "$cte <alias>";
	}
	$input{from} = $from{$kind};
	$input{base} = $name if $kind eq 'table' || $kind eq 'only';
	$input{writable} = 1 if $input{base} && $table->{writable} && !$table->{partitioned};
	return \%input;
}

1;
