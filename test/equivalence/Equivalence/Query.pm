# Similarity joins of every type: SELECT statements over two or three inputs.
package Equivalence::Query;

use strict;
use warnings;

use Equivalence::Clause;
use Equivalence::Draw;
use Equivalence::Input;
use Equivalence::World;
use Exporter 'import';

our @EXPORT = qw(draw_query draw_on query_text from_item);

sub from_item
{
	my ($input, $alias) = @_;
	return $input->{from} =~ s/<alias>/$alias/r;
}

# Draws the clauses of a join of two aliases: {sql} with <bound>, {match}, and the limits of the planner's choice.
sub draw_on
{
	my ($world, $x, $y, $usual) = @_;
	my $main = draw_similarity($world, $x, $y, $usual);
	my @clauses = ($main->{sql});
	my %on = (main => $main, match => $main->{match}, bound => $main->{bound}, call => $main->{call}, equality => 0);
	for (1 .. weighted(5, 0, 4, 1, 2, 2))
	{
		my $other = draw_other_clause($world, $x, $y);
		push @clauses, $other->{sql};
		$on{equality} = 1 if $other->{kind} eq 'equality';
		# PostgreSQL before 17 cannot evaluate such a clause beside a custom join. EXISTS with a volatile function stays a
		# subplan.
		$on{match} = 'may' if $on{match} eq 'must' && $other->{kind} =~ /constant|volatile/;
		$on{match} = 'may' if $on{match} eq 'never' && $other->{sql} =~ /overlap_count|similarity|containment/;
	}
	$on{sql} = join(' AND ', shuffle(@clauses));
	return \%on;
}

# Returns conditions for WHERE, over the visible aliases.
sub draw_filters
{
	my ($query, @aliases) = @_;
	my @filters;
	for (1 .. weighted(6, 0, 3, 1, 1, 2))
	{
		my $x = pick(@aliases);
		my @pairs = @aliases == 1 ? () : (
			"($aliases[0].grp = $aliases[1].grp OR $aliases[1].id IS NULL)",
			"coalesce($query->{call}, 0) < 0.95",
			"coalesce($aliases[1].s, $aliases[0].s) IS NOT NULL",
			"($aliases[0].id + $aliases[1].id) % 3 <> 1",
			"$aliases[1].k IS NULL");
		push @filters, pick(input_condition($x), input_condition($x), @pairs);
	}
	return @filters;
}

# Returns the select list: the ids, and a few columns of everything else that a join can return.
sub draw_columns
{
	my ($world, $query, %input) = @_;
	my @aliases = sort keys %input;
	my @columns = map { "$_.id" } @aliases;
	push @columns, map { "md5($_.note)" } @aliases if $world->{wide} && chance(0.7);
	my ($x, $y) = @aliases[ 0, -1 ];
	my @sets = @{ $query->{sets} };
	my @more = (
		(@aliases > 1 ? ($query->{call}, $query->{call}, "1 - $query->{call}", "dice_similarity($y.s, $x.s)", $sets[-1],
				"coalesce($query->{call}, -1)", "$x.grp + $y.grp", "coalesce($x.k, $y.k)") : ()),
		"$x.s", "$y.s", $sets[0], "md5($y.note)", "length($x.note)", "md5($y\::text)", "$x.flag", "cardinality($y.s)",
		'random() < 2', 'now() IS NULL');
	for (1 .. weighted(2, 0, 3, 1, 2, 2, 1, 4))
	{
		push @columns, pick(@more);
	}
	my $alias = pick(@aliases);
	push @columns, pick("$alias.ctid", "$alias.tableoid::regclass::text")
	  if $input{$alias}{kind} eq 'table' && $query->{kind} !~ /LATERAL|nearest/ && chance(0.15);
	my $number = 0;
	return map { "$_ AS c" . $number++ } @columns;
}

# Two inputs and an outer, inner or full join. The second input is sometimes lateral.
sub draw_pair
{
	my ($world, $x, $y) = @_;
	my $join = weighted(8, 'JOIN', 5, 'LEFT JOIN', 2, 'RIGHT JOIN', 4, 'FULL JOIN', 1, ',', 1, 'LATERAL', 1, 'LEFT LATERAL');
	my $on = draw_on($world, 'x', 'y');
	# Without the node there is no plan for such a FULL JOIN, nor with it if the clause does not suit it.
	$join = 'LEFT JOIN' if $join eq 'FULL JOIN' && $on->{match} ne 'must';
	my ($left, $right) = (from_item($x, 'x'), from_item($y, 'y'));
	my %query = (%$on, %{ $on->{main} }, kind => $join, match => $on->{match}, aliases => [ 'x', 'y' ]);
	if ($join eq ',')
	{
		@query{qw(from where)} = ("$left, $right", [ $on->{sql} ]);
	}
	elsif ($join =~ /LATERAL/)
	{
		# The planner pulls up a subquery that is so simple.
		my $lateral = "LATERAL (SELECT * FROM " . from_item($y, 'y') . " WHERE $on->{sql}) y";
		@query{qw(from where)} = ($join eq 'LATERAL' ? "$left, $lateral" : "$left LEFT JOIN $lateral ON true", []);
		$query{match} = 'may' if $query{match} eq 'must' && $join eq 'LEFT LATERAL';
	}
	else
	{
		@query{qw(from where)} = ("$left $join $right ON $on->{sql}", []);
	}
	if ($join eq 'FULL JOIN')
	{
		$query{without_node} = [ "$left LEFT JOIN $right ON $on->{sql}", "$right LEFT JOIN $left ON false",
			"NOT EXISTS (SELECT FROM $left WHERE $on->{sql})" ];
	}
	return \%query;
}

# Three inputs. Two of them are joined first, and are either side of the other join.
sub draw_triple
{
	my ($world, @inputs) = @_;
	my @joins = map { pick('JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN') } 0 .. 1;
	my ($x, $y, $z) = map { from_item($inputs[$_], (qw(x y z))[$_]) } 0 .. 2;
	my $first = draw_on($world, 'x', 'y', 1);
	my $second = draw_on($world, pick('x', 'y'), 'z', 1);
	# There is one setting to read a bound from.
	$second = draw_on($world, pick('x', 'y'), 'z', 1) while length $first->{main}{setting} && length $second->{main}{setting};
	# Sometimes only one of the two joins is by similarity.
	$second = { %$second, sql => pick('y.id = z.id', 'x.grp = z.grp AND z.id < 15', 'y.id + 1 = z.id'), equality => 1, bound => undef, match => 'may' }
	  if chance(0.4);
	my $right_first = chance(0.4) && $second->{sql} !~ /\bx\./;
	my $bound = $second->{bound};
	my $second_sql = defined $bound ? $second->{sql} =~ s/<bound>/$bound/gr : $second->{sql};    # it keeps its own bound
	my $from = $right_first ? "$x $joins[0] ($y $joins[1] $z ON $second_sql) ON $first->{sql}"
	  : "($x $joins[0] $y ON $first->{sql}) $joins[1] $z ON $second_sql";
	# Otherwise there are too many rows, above all if inputs are joins themselves, in which an id occurs several times.
	my @nested = map { "$_->{from}$_->{cte}" =~ /_similarity/ ? 1 : 0 } @inputs;
	my ($x_part, $z_part) = ($nested[0] ? 18 : 6, $nested[2] ? 12 : 4);
	my @where = $world->{small} ? () : ("x.id % $x_part = 0", "(z.id IS NULL OR z.id % $z_part = 0)");
	push @where, '(y.id IS NULL OR y.id % 18 = 0)' if !$world->{small} && $nested[1];
	my %query = (%{ $first->{main} }, %$first, kind => "three, $joins[0], $joins[1]", from => $from, where => \@where, aliases => [ 'x', 'y', 'z' ]);
	$query{equality} = 1 if $second->{equality};
	$query{match} = 'may' if $second->{match} ne $first->{match};
	$query{setting} = $first->{main}{setting} . $second->{main}{setting};
	return \%query;
}

# EXISTS, NOT EXISTS, = ANY and LEFT JOIN ... IS NULL.
sub draw_existence
{
	my ($world, $x, $y) = @_;
	my $kind = weighted(6, 'EXISTS', 6, 'NOT EXISTS', 2, 'ANY', 2, 'IS NULL', 1, 'OR EXISTS', 1, 'NOT ANY');
	my $on = draw_on($world, 'x', 'y');
	my ($left, $right) = (from_item($x, 'x'), from_item($y, 'y'));
	my %query = (%{ $on->{main} }, %$on, kind => $kind, from => $left, aliases => ['x']);
	my $filter = chance(0.3) ? ' AND ' . input_condition('y') : '';
	my %where = (
		'EXISTS' => "EXISTS (SELECT FROM $right WHERE $on->{sql}$filter)",
		'NOT EXISTS' => "NOT EXISTS (SELECT 1 FROM $right WHERE $on->{sql}$filter)",
		'OR EXISTS' => "(x.flag OR EXISTS (SELECT FROM $right WHERE $on->{sql}$filter))",
		'ANY' => "x.s ~= ANY (SELECT y.s FROM $right WHERE " . input_condition('y') . ')',
		'NOT ANY' => "NOT x.s ~= ANY (SELECT y.s FROM $right WHERE y.s IS NOT NULL$filter)",
		'IS NULL' => 'y.id IS NULL');
	$query{where} = [ $where{$kind} ];
	$query{match} = 'may' if $kind =~ /NOT ANY|OR EXISTS/;
	if ($kind =~ /ANY/)
	{
		delete $query{bound};
		$query{match} = 'must' if $kind eq 'ANY';
		$query{equality} = 0;
	}
	$query{from} = "$left LEFT JOIN $right ON $on->{sql}$filter" if $kind eq 'IS NULL';
	return \%query;
}

# The nearest rows for each row, one by one.
sub draw_nearest
{
	my ($world, $x, $y) = @_;
	my $on = draw_on($world, 'x', 'y');
	my ($value, $direction) = @{ pick([ 'x.s <%> y.s', '' ], [ 'jaccard_similarity(x.s, y.s)', ' DESC' ],
			[ 'containment(y.s, x.s)', ' DESC NULLS LAST' ], [ 'overlap_count(x.s, y.s)', ' DESC' ], [ 'y.id % 5', '' ], [ 'x.id - y.grp', ' DESC' ],
			[ 'edit_distance(x.k, y.k)', '' ], [ '1 - damerau_distance(y.k, x.k)::float8 / greatest(length(x.k), length(y.k), 1)', ' DESC' ],
			[ 'jaro_winkler_similarity(x.k, y.k)', ' DESC NULLS LAST' ]) };
	my $condition = pick($on->{sql}, 'x.grp = y.grp', 'x.id IS DISTINCT FROM y.id', input_condition('y'), 'true');
	my $lateral = "LATERAL (SELECT y.*, $value AS distance FROM " . from_item($y, 'y')
	  . " WHERE $condition ORDER BY distance$direction, y.id, y.s, y.note, y.grp, y.k, y.flag LIMIT " . between(1, 3) . ') y';
	my $from = from_item($x, 'x') . pick(", $lateral", " LEFT JOIN $lateral ON true");
	return { %{ $on->{main} }, %$on, kind => 'nearest', from => $from, where => [], aliases => [ 'x', 'y' ], match => 'may' };
}

# Draws a query: its parts, and whether its plan must, may or must never have the join node. %fixed gives parts that are not
# drawn.
sub draw_query
{
	my ($world, %fixed) = @_;
	my $x = $fixed{x} // draw_input($world);
	my $y = chance(0.45) ? $x : draw_input($world);
	my $z = chance(0.4) ? $x : draw_input($world);
	my $build = $fixed{build} // weighted(10, \&draw_pair, 5, \&draw_existence, $world->{small} ? 6 : 2, \&draw_triple, 3,
		\&draw_nearest);
	my $query = $build->($world, $x, $y, $z);
	my %input = (x => $x, y => $y, z => $z);
	my @used = $build == \&draw_triple ? ($x, $y, $z) : ($x, $y);
	my %ctes = map { $_->{cte} => 1 } grep { $_->{cte} } @used;
	$query->{ctes} = join(', ', sort keys %ctes);
	push @{ $query->{where} }, draw_filters($query, @{ $query->{aliases} });
	$query->{columns} = [ draw_columns($world, $query, map { $_ => $input{$_} } @{ $query->{aliases} }) ];
	$query->{inputs} = \%input;
	$query->{nested} = scalar grep { $_->{from} =~ /_similarity/ || $_->{cte} =~ /_similarity/ } @used;
	# Joins of two joins have many rows, too.
	push @{ $query->{where} }, '(x.id IS NULL OR x.id % 6 = 0)' if !$world->{small} && $query->{nested} > 1;
	$query->{match} = 'may' if $query->{match} eq 'never' && $query->{nested};
	return $query;
}

# Returns the query as SQL. Options: node (0: a form that needs no join node), bound (instead of its own), filter (a further
# condition), columns, tail.
sub query_text
{
	my ($query, %option) = @_;
	my $columns = $option{columns} // join(', ', @{ $query->{columns} });
	my @where = (@{ $query->{where} }, defined $option{filter} ? ($option{filter}) : ());
	my $bound = $option{bound} // $query->{bound};
	my $sql = 'SELECT ';
	my $where_of = sub { @_ ? ' WHERE ' . join(' AND ', @_) : '' };
	if (!$option{node} && $query->{without_node})
	{
		my ($left_join, $right_rows, $unmatched) = @{ $query->{without_node} };
		$sql = "SELECT $columns FROM $left_join" . $where_of->(@where)
		  . "\nUNION ALL SELECT $columns FROM $right_rows" . $where_of->($unmatched, @where);
	}
	else
	{
		$sql = "SELECT $columns FROM $query->{from}" . $where_of->(@where);
	}
	my @ctes = $query->{ctes} ? ($query->{ctes}) : ();
	if (!$option{node})
	{
		# A nested loop that expects few rows would run a join that is its inner input again for each outer row.
		for my $alias (@{ $query->{aliases} })
		{
			my $item = from_item($query->{inputs}{$alias}, $alias);
			next if $item !~ /_similarity/ || $item !~ /^(\(.*\)) $alias$/s;
			push @ctes, "held_$alias AS MATERIALIZED $1";
			$sql =~ s/\Q$item\E/held_$alias $alias/g;
		}
	}
	$sql = 'WITH ' . join(', ', @ctes) . " $sql" if @ctes;
	$sql =~ s/<bound>/$bound/g if defined $bound;
	return $sql . ($option{tail} // '');
}

1;
