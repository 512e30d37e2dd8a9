# Join clauses: similarity clauses in every spelling, clauses that only look like one, and all others.
package Equivalence::Clause;

use strict;
use warnings;

use Equivalence::Draw;
use Equivalence::World;
use Exporter 'import';

our @EXPORT = qw(draw_similarity draw_other_clause draw_bound all_pairs_reach);

# Expressions of one set, with <a> for the alias. They take the type, an element and an array as literals.
my %expressions = (
	'column' => sub { '<a>.s' },
	'appended' => sub { my ($type, $element) = @_; "(<a>.s || $element)" },
	'removed' => sub { my ($type, $element) = @_; "array_remove(<a>.s, $element)" },
	'replaced null' => sub { my ($type, $element, $array) = @_; "coalesce(<a>.s, $array)" },
	'case' => sub { my ($type, $element, $array) = @_; "CASE WHEN <a>.flag THEN <a>.s ELSE $array END" },
	'slice' => sub { '<a>.s[2:]' },
	'doubled' => sub { 'array_cat(<a>.s, <a>.s)' },
	'with subquery' => sub { my ($type, $element) = @_; "(<a>.s || (SELECT $element))" });

# Returns a function that gives the set of one side for an alias, and the type of the sets.
sub draw_set_expression
{
	my ($world, $kind, $name) = @_;
	my $type = $world->{type};
	my ($element_type) = $type =~ /^(\w+)/;
	my $token = pick(@{ $world->{tokens} });
	my $element = quote($token) . "::$element_type";
	my $array = quote(array_literal($type, $token, pick(@{ $world->{tokens} }))) . "::$type";
	my %texts = (
		'own' => '',
		'bigger' => $type eq 'int4[]' ? '::int8[]' : '::text[]',
		'text' => '::text[]');
	return 'shingles(left(<a>.note, 40), 3)' if $kind eq 'shingles';
	return 'word_shingles64(left(<a>.note, 40), 1)' if $kind eq 'words';
	return "string_to_array(left(<a>.note, 40), ' ')" if $kind eq 'split';
	return "ARRAY[coalesce(<a>.id, 1) % 5, coalesce(<a>.id, 2) % 7, coalesce(<a>.grp, 0)]" if $kind eq 'numbers';
	return $expressions{$name}->($type, $element, $array) . $texts{$kind};
}

# Returns the two sets that are compared, as templates.
sub draw_sets
{
	my ($world) = @_;
	my $kind = weighted(14, 'own', 1, 'bigger', 1, 'text', 1, 'shingles', 1, 'words', 1, 'split', 1, 'numbers');
	my @names = map { chance(0.7) ? 'column' : pick(sort keys %expressions) } 0 .. 1;
	my $left = draw_set_expression($world, $kind, $names[0]);
	my $right = chance(0.75) ? $left : draw_set_expression($world, $kind, $names[1]);
	return ($left, $right);
}

# Returns a bound for similarities by this measure: a constant as SQL. Special bounds are outside of the range of the
# measure.
sub draw_bound
{
	my ($measure, $special) = @_;
	if ($measure eq 'overlap_count')
	{
		return pick(0, -3, 1000, 0) if $special;
		return weighted(1, 1, 2, 2, 3, 3, 2, 4, 1, 6, 1, 12);
	}
	return pick(0, -1, 1.5, "'NaN'", "'Infinity'", "'-Infinity'", '1e-300', 0) if $special;
	return pick(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.5, 0.55, 0.6, 0.6, 0.65, 0.7, 0.75, 0.8, 0.8, 0.85, 0.9, 1, '2/3::float8', '1/3::float8',
		'4/7::float8', 'sqrt(0.5)');
}

# Returns whether every pair reaches a bound that is a number, cast or not. Other bounds count as not reached.
sub all_pairs_reach
{
	my ($measure, $bound) = @_;
	my ($number) = $bound =~ /^\(?(-?[0-9.]+)\)?(?:::\w+)?$/ or return 0;
	return $measure =~ /distance|<%>/ ? $number >= 1 : $number <= 0;
}

# Spells a bound as a constant of some type, a parameter of the plan or a stable expression. Returns the SQL and the value of
# the setting equivalence.bound that it reads.
sub spell_bound
{
	my ($measure, $bound) = @_;
	my $type = $measure eq 'overlap_count' ? weighted(3, 'int', 1, 'float8') : 'float8';
	my $form = weighted(8, 'plain', 1, 'subquery', 1, 'setting', 1, 'least', 1, 'typed');
	my $sql = "($bound)::$type";
	return ("(SELECT $sql)", '') if $form eq 'subquery';
	return ("least($sql, 2000::$type)", '') if $form eq 'least';
	return ("current_setting('equivalence.bound')::$type", $bound)
	  if $form eq 'setting' && $bound !~ /[^0-9.]/ && ($type ne 'int' || $bound !~ /\./);
	return ($measure eq 'overlap_count' ? "$bound\::" . pick('smallint', 'bigint') : "($bound)::" . pick('float4', 'numeric'), '')
	  if $form eq 'typed' && $bound !~ /[^0-9.]/;
	return ($sql, '');
}

# Spells `value reaches bound` in one of its ways. A distance reaches a bound from above.
sub spell_comparison
{
	my ($value, $bound, $distance) = @_;
	my ($op, $commuted, $strict, $strict_commuted) = $distance ? qw(<= >= < >) : qw(>= <= > <);
	my %forms = (
		inclusive => "$value $op $bound",
		commuted => "$bound $commuted $value",
		strict => "$value $strict $bound",
		strict_commuted => "$bound $strict_commuted $value",
		negated => "NOT ($value " . ($distance ? '>' : '<') . " $bound)",
		both => $distance ? "$value BETWEEN 0 AND $bound" : "$value BETWEEN $bound AND 1000");
	my $form = weighted(5, 'inclusive', 2, 'commuted', 2, 'strict', 1, 'strict_commuted', 1, 'negated', 1, 'both');
	return ($forms{$form}, $form =~ /strict/ ? 1 : 0);
}

# Clauses that the join operator must leave alone, by name. <f> is a call of a measure with both sets, and the functions get
# both templates.
my %impossible = (
	'bound of a row' => sub { '<f> >= <x>.grp / 4.0' },
	'volatile bound' => sub { '<f> >= 0.5 + 0 * random()' },
	'difference' => sub { '<f> - <x>.grp / 4.0 >= 0' },
	'upper bound' => sub { '<f> <= 0.5 AND <f> > -1' },
	'both in one' => sub { 'jaccard_similarity(<x>.s || <y>.s, <y>.s) >= 0.6' },
	'volatile set' => sub { 'jaccard_similarity(array_remove(<x>.s, CASE WHEN random() < 2 THEN NULL ELSE <x>.s[1] END), <y>.s) >= 0.6' },
	'subplan set' => sub { 'jaccard_similarity(ARRAY(SELECT e FROM unnest(<x>.s) e WHERE <x>.flag), <y>.s) >= 0.6' });

# Conditions that imply a clause on the similarity <f>.
my @implying = ('round(<f>::numeric, 1) >= <bound>', 'round(<f>::numeric, 3) > <bound>', '<f>::numeric >= <bound>', '<f>::float4 > <bound>',
	'trunc(<f>::numeric, 2) >= <bound>', 'floor(10 * <f>) / 10 >= <bound>', '<bound> < abs(<f>)', '<f> = <bound>', '<bound> = <f>::numeric',
	'1 - <f>::numeric <= 1 - <bound>');

# Returns the clause with the aliases filled in.
sub put_aliases
{
	my ($sql, $left, $right) = @_;
	$sql =~ s/<x>/$left/g;
	$sql =~ s/<y>/$right/g;
	return $sql;
}

sub draw_impossible
{
	my ($world, $left, $right) = @_;
	my $kind = pick(sort keys %impossible);
	my $call = "jaccard_similarity($left.s, $right.s)";
	my $sql = $impossible{$kind}->();
	$sql =~ s/<f>/$call/g;
	return {
		kind => $kind, sql => put_aliases($sql, $left, $right), match => 'never', call => $call, setting => '',
		measure => 'jaccard_similarity', sets => [ "$left.s", "$right.s" ], fixed => 1
	};
}

# Conditions that may stand beside a similarity clause in a disjunction.
my @other_arms = ('<x>.id = <y>.id', '<x>.id = <y>.id + 1', '<x>.k = <y>.k AND <x>.flag', '<x>.s = <y>.s', '<x>.id = 7', '<y>.grp IS NULL',
	'<x>.flag AND <y>.id IN (3, 9)', '<y>.id = 5 AND <x>.id < <y>.id + 4', '<x>.grp < <y>.grp', '<x>.id > NULL AND <x>.id = <y>.id');

# Draws a disjunction of similarity clauses, some beside an equality, and maybe of other conditions.
sub draw_disjunction
{
	my ($world, $left, $right) = @_;
	my @arms = draw_clause($world, $left, $right, 1);
	for (1 .. weighted(3, 1, 1, 2))
	{
		my $arm = draw_clause($world, $left, $right, 1);
		$arm = draw_clause($world, $left, $right, 1) while length $arm->{setting};    # there is one to read a bound from
		push @arms, $arm;
	}
	my @spelled;
	for my $arm (@arms)
	{
		my $sql = defined $arm->{bound} ? $arm->{sql} =~ s/<bound>/$arm->{bound}/gr : $arm->{sql};
		push @spelled, $sql . (chance(0.3) ? " AND $left.grp = $right.grp" : '');
	}
	splice @spelled, int(rand(@spelled + 1)), 0, put_aliases(pick(@other_arms), $left, $right) for 1 .. weighted(3, 0, 2, 1, 1, 2);
	return { %{ $arms[0] }, sql => '(' . join(' OR ', @spelled) . ')', bound => undef, fixed => 1, match => 'may' };
}

# Draws a condition on a sum of similarities. A distance lessens it.
sub draw_sum
{
	my ($world, $left, $right) = @_;
	my ($sum, $most) = ('', 0);
	for (1 .. weighted(1, 2, 3, 3, 1, 4))
	{
		my $term = draw_clause($world, $left, $right, 1);
		my $weight = pick(0.1, 0.15, 0.2, 0.35, 0.5, 0.5, 1, 2);
		my $lessens = $term->{kind} =~ /distance|<%>/ || chance(0.1);
		$sum .= ($lessens ? ' - ' : $sum ? ' + ' : '') . (chance(0.2) ? "$term->{call} * $weight" : "$weight * $term->{call}");
		$most += $weight * ($term->{kind} eq 'overlap_count' ? 4 : 1) unless $lessens;
	}
	my $bound = sprintf('%.2f', $most * pick(0.3, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8));
	my $sql = pick("$sum >= $bound", "$sum >= $bound", "$sum > $bound", "$bound <= $sum", "$bound < $sum", "($sum)::numeric >= $bound",
		"($sum)::float4 > $bound", "round(($sum)::numeric, 2) >= $bound", "$sum = $bound", "$sum - $bound >= 0");
	return { %{ draw_clause($world, $left, $right, 1) }, sql => "($sql)", bound => undef, setting => '', fixed => 1, match => 'may' };
}

# Draws a condition on the edits between two texts, or on their characters in common.
sub draw_edits
{
	my ($world, $left, $right) = @_;
	my $text = pick('left(<a>.note, 40)', 'left(<a>.note, 12)', '<a>.k', "coalesce(<a>.k, '') || left(<a>.note, 3)");
	my ($x, $y) = shuffle(map { $text =~ s/<a>/$_/gr } $left, $right);
	my $distance = pick('edit_distance', 'edit_distance', 'damerau_distance');
	my ($k, $share) = (between(0, 5), pick(0, 0.05, 0.1, 0.2, 0.25, 0.3));
	my $shared = "edit_distance($x, $y)::" . pick('float8', 'numeric', 'float4') . " / greatest(length($y), length($x), 1)";
	my ($jaro, $least) = (pick('jaro_similarity', 'jaro_winkler_similarity') . "($x, $y)", pick(0.75, 0.85, 0.9, 0.95, 1));
	my $sql = pick("$distance($x, $y) <= $k", "$distance($x, $y) < $k", "$k >= $distance($x, $y, $k)", "$distance($x, $y) = $k", "$distance($x, $y) + edit_distance($left.k, $right.k) <= $k",
		"1 - $shared >= 1 - $share", "$shared <= $share", "$jaro >= $least", "$least < $jaro", "round($jaro\::numeric, 2) >= $least", "0.5 * $jaro + 0.5 - 0.5 * ($shared) > $least");
	return { %{ draw_clause($world, $left, $right, 1) }, sql => "($sql)", bound => undef, setting => '', fixed => 1, match => 'may' };
}

# Draws a similarity clause over two aliases, or several with OR between them, or a sum. {sql} has <bound> for a bound that may be replaced, {bound} is its own bound,
# {call} is the value of the measure, and {match} says whether it must, may or never be the clause of a join node. With
# $usual, not every pair reaches its bound.
sub draw_similarity
{
	my ($world, $left, $right, $usual) = @_;
	return draw_impossible($world, $left, $right) if chance(0.04);
	return draw_sum($world, $left, $right) if chance(0.08);
	return draw_edits($world, $left, $right) if chance(0.08);
	return chance(0.08) ? draw_disjunction($world, $left, $right) : draw_clause($world, $left, $right, $usual);
}

# Draws one similarity clause.
sub draw_clause
{
	my ($world, $left, $right, $usual) = @_;
	my @sets = draw_sets($world);
	$sets[0] =~ s/<a>/$left/g;
	$sets[1] =~ s/<a>/$right/g;
	my @arguments = chance(0.3) ? reverse(@sets) : @sets;
	my $kind = weighted(5, 'jaccard_similarity', 2, 'cosine_similarity', 2, 'dice_similarity', 2, 'overlap_count',
		1, 'overlap_coefficient', 2, 'containment', 2, 'weighted_jaccard_similarity', 2, 'weighted_cosine_similarity',
		1, 'jaccard_distance', 1, '<%>', 2, '~=', 1, 'sets_similar');
	my %clause = (kind => $kind, match => 'must', setting => '', sets => \@sets, fixed => 0, measure => $kind);
	$clause{call} = $kind eq '<%>' ? "($arguments[0] <%> $arguments[1])" : "$kind($arguments[0], $arguments[1])";
	$clause{call} = "$kind(" . join(', ', map { "$_, equivalence.weights_of($_)" } @arguments) . ')' if $kind =~ /weighted/;
	if ($kind =~ /^[^w].*_/ && $kind ne 'sets_similar' && chance(0.06))
	{
		# Texts with a tokenizer. The planner takes them for these sets.
		my ($x, $y) = chance(0.3) ? ($right, $left) : ($left, $right);
		my ($tokenizer, $set) = @{ pick([ 'shingles(2)', 'shingles(<t>, 2)' ], [ 'word_shingles64(1)', 'word_shingles64(<t>, 1)' ],
				[ 'words', "tsvector_to_array(to_tsvector('simple', <t>))" ], [ 'alnum(multi)', "token_set(<t>, 'alnum(multi)')" ],
				[ 'qgrams64(2, casefold)', "token_set64(<t>, 'qgrams64(2, casefold)')" ],
				[ 'words(simple, multi, nfkc)', "word_set(<t>, 'simple', 'words(multi, nfkc)')" ]) };
		$clause{sets} = [ map { $set =~ s/<t>/left($_.note, 40)/r } $left, $right ];
		$clause{call} = "$kind(left($x.note, 40), left($y.note, 40), " . quote($tokenizer) . ')';
	}
	if ($kind eq '~=' || $kind eq 'sets_similar')
	{
		$clause{sql} = $kind eq '~=' ? "$arguments[0] ~= $arguments[1]" : $clause{call};
		return { %clause, fixed => 1, call => "jaccard_similarity($arguments[0], $arguments[1])" };
	}
	my $distance = $kind eq '<%>' || $kind eq 'jaccard_distance';
	my $special = !$usual && chance(0.06);
	my $bound = draw_bound($kind, $special);
	my $strict;
	($clause{bound}, $clause{setting}) = spell_bound($kind, $bound);
	($clause{sql}, $strict) = spell_comparison($clause{call}, '<bound>', $distance);
	# If all or no pairs qualify, the planner may do as it likes, except with a plain constant.
	my $all = all_pairs_reach($kind, $bound);
	$clause{match} = 'may' if $special || $all;
	$clause{match} = 'never' if $all && !$strict && $clause{bound} =~ /^\(/ && $clause{bound} !~ /SELECT/;
	# A function of the similarity, or an equality, implies a clause if the bound is a constant.
	if (!$distance && !$special && chance(0.08))
	{
		$clause{match} = 'may';
		$clause{sql} = pick(@implying) =~ s/<f>/$clause{call}/r;
	}
	return \%clause;
}

# Draws another clause over two aliases: {sql}, and whether it is an equality, is volatile or has no columns.
sub draw_other_clause
{
	my ($world, $x, $y) = @_;
	my $kind = weighted(6, 'order', 5, 'equality', 4, 'mixed', 1, 'constant', 1, 'volatile');
	my %by_kind = (
		order => ["$x.id < $y.id", "$x.id <> $y.id", "$y.id >= $x.id", "$x.k > $y.k", "($x.id, $x.grp) < ($y.id, $y.grp)"],
		equality => ["$x.grp = $y.grp", "$x.k = $y.k", "$y.grp = $x.grp", "$x.id % 3 = $y.id % 4", "$x.grp::bigint = $y.grp",
			"$x.flag = $y.flag", "coalesce($x.grp, 1) = coalesce($y.grp, 2)", "lower($x.k) = $y.k"],
		mixed => ["($x.grp = 1 OR $y.grp = 2)", "$x.k IS DISTINCT FROM $y.k", "$x.flag", "$y.grp > 0", "$x.grp + $y.grp > 2",
			"length($x.note) < length($y.note) + 3", "overlap_count($x.s, $y.s) > 1", "containment($y.s, $x.s) > 0.4", "cosine_similarity($y.s, $x.s) >= 0.6",
			"($x.flag IS NULL OR $y.flag)", "$x.grp IS NOT DISTINCT FROM $y.grp", "$x.k || $y.k <> 'xx'",
			"$x.s <> $y.s"],
		constant => ["now() > '2000-01-01'", "current_setting('equivalence.bound', true) IS DISTINCT FROM '7'"],
		volatile => ["random() < 2", "random() + $x.id > -1 + $y.id * 0"]);
	return { kind => $kind, sql => pick(@{ $by_kind{$kind} }) };
}

1;
