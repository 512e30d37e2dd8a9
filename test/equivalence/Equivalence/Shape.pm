# Statements around a query: other queries, prepared statements, cursors, functions, statements that write.
package Equivalence::Shape;

use strict;
use warnings;

use Equivalence::Clause;
use Equivalence::Draw;
use Equivalence::Input;
use Equivalence::Query;
use Exporter 'import';

our @EXPORT = qw(draw_case);

# A shape takes the world and a query and returns a case. {run} is a function that gives the statements with (node => 1) or
# without the join node, and {explain} are the statements whose plan is checked (undef: those of the query). The shape may
# lower {match}, or say that the rows are {ordered}.

# Returns a case that is one statement. The function gets the options of query_text.
sub statement
{
	my ($text, %more) = @_;
	return { run => sub { $text->(@_) . ';' }, explain => 'EXPLAIN (COSTS OFF) ' . $text->(node => 1) . ';', %more };
}

# Returns a function that puts the query as a subquery between two texts, with more options of query_text.
sub around
{
	my ($query, $before, $after, @more) = @_;
	return sub { $before . '(' . query_text($query, @_, @more) . ')' . $after };
}

sub all_columns
{
	my ($query) = @_;
	return join(', ', map { "c$_" } 0 .. $#{ $query->{columns} });
}

# Returns whether a join to rows with unused columns may be removed.
sub may_be_removed
{
	my ($query) = @_;
	return $query->{equality} || $query->{kind} =~ /^three|nearest/;
}

sub weaker { my ($match) = @_; return $match eq 'must' ? 'may' : $match; }

# ---- Queries above the query ----

sub shape_plain
{
	my ($world, $query) = @_;
	return statement(sub { query_text($query, @_) });
}

sub shape_ordered
{
	my ($world, $query) = @_;
	my $columns = all_columns($query);
	return statement(around($query, 'SELECT * FROM ', " q ORDER BY $columns LIMIT " . between(1, 50) . pick('', ' OFFSET 2')),
		ordered => 1);
}

sub shape_limited
{
	my ($world, $query) = @_;
	my $limit = between(1, 20);
	return statement(sub { 'SELECT count(*) FROM (' . query_text($query, @_, tail => " LIMIT $limit") . ') q' })
	  if !$query->{without_node};
	return statement(around($query, 'SELECT count(*) FROM (SELECT * FROM ', " u LIMIT $limit) q"));
}

sub shape_aggregated
{
	my ($world, $query) = @_;
	my $match = may_be_removed($query) ? weaker($query->{match}) : $query->{match};
	my $columns = all_columns($query);
	return statement(pick(
			around($query, 'SELECT count(*) FROM ', ' q'),
			around($query, 'SELECT count(*), sum(c0), min(c0) FROM ', ' q WHERE c0 > 3'),
			around($query, 'SELECT c0, count(*) FROM ', ' q GROUP BY c0 HAVING count(*) > 1'),
			around($query, "SELECT DISTINCT $columns FROM ", ' q'),
			around($query, 'SELECT c0, count(*) FROM ', ' q GROUP BY GROUPING SETS ((c0), ())'),
			around($query, 'SELECT count(DISTINCT c0), bool_and(c0 > 0) FROM ', ' q'),
			around($query, 'SELECT EXISTS ', ' AS found')),
		match => $match);
}

sub shape_window
{
	my ($world, $query) = @_;
	my $columns = all_columns($query);
	return statement(around($query, "SELECT *, row_number() OVER (PARTITION BY c0 ORDER BY $columns), count(*) OVER () FROM ", ' q'));
}

sub shape_set_operation
{
	my ($world, $query) = @_;
	my $operation = pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL');
	my $filter = pick('x.id % 2 = 0', 'x.grp > 1', 'true');
	return statement(sub { '(' . query_text($query, @_) . ") $operation (" . query_text($query, @_, filter => $filter) . ')' });
}

sub shape_joined
{
	my ($world, $query) = @_;
	my $table = pick(@{ $world->{tables} })->{name};
	my $text = pick(
		around($query, 'SELECT q.*, z.grp FROM ', " q JOIN $table z ON z.id = q.c0"),
		around($query, "SELECT q.*, z.grp FROM $table z LEFT JOIN ", ' q ON z.id = q.c0'),
		around($query, "SELECT q.*, z.grp FROM $table z FULL JOIN ", ' q ON z.id = q.c0 + 1'),
		around($query, "SELECT z.id FROM $table z WHERE z.id IN (SELECT q.c0 FROM ", ' q)'),
		around($query, "SELECT z.id FROM $table z WHERE z.id NOT IN (SELECT q.c0 FROM ", ' q WHERE q.c0 IS NOT NULL)'),
		around($query, "SELECT z.id, z.s FROM $table z JOIN ", ' q ON q.c0 <> z.id AND q.c0 < 5 AND z.id < 5'));
	return statement($text, match => may_be_removed($query) ? weaker($query->{match}) : $query->{match});
}

sub shape_cte
{
	my ($world, $query) = @_;
	my $materialized = pick('MATERIALIZED', 'NOT MATERIALIZED', '');
	# Many rows have the same x, above all if the inputs are joins.
	my $same_y = @{ $query->{aliases} } > 1 ? ' AND a.c1 = b.c1' : '';
	my @fewer = $query->{nested} && !$world->{small} ? (filter => '(x.id IS NULL OR x.id % 6 = 0)') : ();
	return statement(
		pick(around($query, "WITH q AS $materialized ", ' SELECT * FROM q'),
			around($query, "WITH q AS $materialized ", " SELECT a.c0, count(*) FROM q a JOIN q b ON a.c0 = b.c0$same_y GROUP BY 1", @fewer),
			around($query, 'WITH RECURSIVE q AS ', ', r AS (SELECT c0 FROM q UNION SELECT r.c0 + 1 FROM r JOIN q ON q.c0 = r.c0 + 1) TABLE r')),
		match => may_be_removed($query) ? weaker($query->{match}) : $query->{match});
}

# ---- Queries whose parameters change while they run ----

sub shape_correlated
{
	my ($world, $query) = @_;
	my $table = pick(@{ $world->{tables} })->{name};
	my $filter = pick('x.grp = o.grp', 'x.id > o.id', 'x.k = o.k', 'x.id <> o.id AND o.flag');
	$filter = 'x.grp = o.grp' if $filter =~ /flag/ && $query->{without_node};
	my $inner = pick('SELECT count(*) FROM (<q>) q', 'SELECT sum(c0) FROM (<q>) q', 'SELECT count(c0) FROM (SELECT * FROM (<q>) p OFFSET 1) q',
		'SELECT array_agg(c0 ORDER BY c0) FROM (<q>) q');
	my $limit = between(1, 6);
	my $text = sub {
		my $subquery = query_text($query, @_, filter => $filter);
		return "SELECT o.id, (" . ($inner =~ s/<q>/$subquery/r) . ") FROM (SELECT * FROM $table ORDER BY id LIMIT $limit) o";
	};
	# o.flag alone is free of the join's columns; PostgreSQL before 17 allows no custom join then (nor any full join).
	my $weaker = may_be_removed($query) || $filter =~ /flag/;
	return statement($text, match => $weaker ? weaker($query->{match}) : $query->{match});
}

# Returns bounds to try in turn, usual and special ones.
sub draw_bounds
{
	my ($query) = @_;
	my $overlap = $query->{measure} eq 'overlap_count';
	my @bounds = map { draw_bound($query->{measure}, 0) } 1 .. 2;
	push @bounds, draw_bound($query->{measure}, 1) if chance(0.5);
	push @bounds, 'NULL' if chance(0.3);
	return map { "($_)::" . ($overlap ? 'int' : 'float8') } @bounds;
}

sub shape_changing_bound
{
	my ($world, $query) = @_;
	my $values = join(', ', map { "($_)" } draw_bounds($query));
	my $lateral = chance(0.4);
	my $text = sub {
		return "SELECT * FROM (VALUES $values) v (bound), LATERAL (" . query_text($query, @_, bound => 'v.bound') . ' OFFSET 0) q'
		  if $lateral;
		return 'SELECT v.bound, (SELECT count(*) FROM (' . query_text($query, @_, bound => 'v.bound') . ") q) FROM (VALUES $values) v (bound)";
	};
	return statement($text, match => may_be_removed($query) ? weaker($query->{match}) : $query->{match}, bound => 1);
}

sub shape_prepared
{
	my ($world, $query) = @_;
	my @bounds = draw_bounds($query);
	my $mode = pick('force_generic_plan', 'force_custom_plan', 'auto');
	my $type = $query->{measure} eq 'overlap_count' ? 'int' : 'float8';
	my $filtered = chance(0.4);
	my $prepare = sub {
		my $text = query_text($query, @_, bound => '$1', $filtered ? (filter => 'x.id < $2') : ());
		return "PREPARE p($type" . ($filtered ? ', int' : '') . ") AS $text;\n";
	};
	my @executes = map { "EXECUTE p($_" . ($filtered ? ', ' . between(0, 2000) : '') . ");\n" } (@bounds) x ($mode eq 'auto' ? 3 : 1);
	# A plan for this one bound knows the bound.
	my $all = $mode ne 'force_generic_plan' && all_pairs_reach($query->{measure}, $bounds[0]);
	return {
		match => $all ? weaker($query->{match}) : $query->{match},
		run => sub { $prepare->(@_) . join('', @executes) . "DEALLOCATE p;" },
		explain => $prepare->(node => 1) . "EXPLAIN (COSTS OFF) $executes[0] DEALLOCATE p;",
		settings => ["plan_cache_mode = $mode"],
		bound => 1
	};
}

sub shape_loop
{
	my ($world, $query) = @_;
	my $values = join(', ', draw_bounds($query));
	my $type = $query->{measure} eq 'overlap_count' ? 'int' : 'float8';
	my $insert = pick('FOR found IN <q> LOOP INSERT INTO sink VALUES (found::text); END LOOP;',
		'INSERT INTO sink SELECT q::text FROM (<q>) q;');
	return {
		run => sub {
			my $text = query_text($query, @_, bound => 'similarity_bound');
			return "CREATE TEMP TABLE sink (line text); DO \$do\$ DECLARE similarity_bound $type; found record; BEGIN
				FOREACH similarity_bound IN ARRAY ARRAY[$values] LOOP " . ($insert =~ s/<q>/$text/r) . " END LOOP; END \$do\$;
				TABLE sink; DROP TABLE sink;";
		},
		bound => 1
	};
}

sub shape_function
{
	my ($world, $query) = @_;
	my $type = $query->{measure} eq 'overlap_count' ? 'int' : 'float8';
	my @bounds = draw_bounds($query);
	my ($before, $after) = chance(0.5) ? ('LANGUAGE plpgsql STABLE AS $f$ BEGIN RETURN QUERY ', '; END $f$') : ('LANGUAGE sql STABLE AS $f$ ', '$f$');
	my $calls = pick(join(' ', map { "SELECT * FROM pg_temp.found($_);" } @bounds),
		'SELECT v.bound, f.* FROM (VALUES ' . join(', ', map { "($_)" } @bounds) . ') v (bound), pg_temp.found(v.bound) f;');
	return {
		run => sub {
			my $text = query_text($query, @_, bound => '$1');
			return "CREATE FUNCTION pg_temp.found($type) RETURNS SETOF text $before SELECT q::text FROM ($text) q $after; $calls
				DROP FUNCTION pg_temp.found;";
		},
		bound => 1
	};
}

# ---- Cursors ----

sub shape_cursor
{
	my ($world, $query) = @_;
	my ($kind, $fetches) = @{ pick(
			[ '', 'FETCH 1 FROM c; FETCH 7 FROM c; FETCH ALL FROM c;' ],
			[ 'NO SCROLL', 'FETCH 3 FROM c; FETCH FORWARD ALL FROM c; FETCH 1 FROM c;' ],
			[ 'SCROLL', 'MOVE 4 FROM c; MOVE BACKWARD 2 FROM c; MOVE ABSOLUTE 0 FROM c; FETCH ALL FROM c; FETCH BACKWARD ALL FROM c;' ],
			[ 'SCROLL', 'MOVE LAST FROM c; MOVE ABSOLUTE 0 FROM c; FETCH ALL FROM c; MOVE ABSOLUTE 0 FROM c; FETCH ALL FROM c;' ],
			[ 'HOLD', 'FETCH 2 FROM c; COMMIT; FETCH ALL FROM c; CLOSE c; BEGIN;' ],
			[ 'SCROLL HOLD', 'MOVE 3 FROM c; MOVE BACKWARD ALL FROM c; COMMIT; FETCH ALL FROM c; FETCH BACKWARD ALL FROM c; CLOSE c; BEGIN;' ]) };
	my $scroll = $kind =~ /(NO SCROLL|SCROLL)/ ? $1 : '';
	my $hold = $kind =~ /HOLD/ ? 'WITH HOLD' : '';
	return { run => sub { "BEGIN; DECLARE c $scroll CURSOR $hold FOR " . query_text($query, @_) . "; $fetches COMMIT;" } };
}

# ---- Statements that write ----

sub shape_stored
{
	my ($world, $query) = @_;
	my $as = sub { my ($kind) = @_; return sub { "CREATE $kind AS " . query_text($query, @_) . ';' } };
	my $temporary = grep { $_->{kind} eq 'temporary' } @{ $world->{tables} };
	my @ways = ([ 'TEMP TABLE kept', 'TABLE kept; DROP TABLE kept;' ],
		[ 'TEMP VIEW kept', 'SELECT * FROM kept; SELECT c0 FROM kept WHERE c0 > 4; DROP VIEW kept;' ]);
	push @ways, [ 'MATERIALIZED VIEW kept', 'REFRESH MATERIALIZED VIEW kept; TABLE kept; DROP MATERIALIZED VIEW kept;' ]
	  if !$temporary;
	my ($kind, $rest) = @{ pick(@ways) };
	return { run => sub { $as->($kind)->(@_) . " $rest" } };
}

sub shape_inserted
{
	my ($world, $query) = @_;
	my ($before, $after) = @{ pick(
			[ 'INSERT INTO sink SELECT q::text FROM ', ' q RETURNING line' ],
			[ 'INSERT INTO sink SELECT q::text FROM ', ' q' ],
			[ 'WITH i AS (INSERT INTO sink SELECT q::text FROM ', ' q RETURNING line) SELECT count(*) FROM i' ],
			[ 'COPY (SELECT q::text FROM ', ' q) TO STDOUT' ]) };
	my $text = around($query, $before, $after);
	return { run => sub { 'CREATE TEMP TABLE sink (line text); ' . $text->(@_) . '; TABLE sink; DROP TABLE sink;' } };
}

# Returns the case of a statement that is rolled back.
sub rolled_back
{
	my ($text, %more) = @_;
	return { run => sub { 'BEGIN; ' . $text->() . '; ROLLBACK;' }, explain => 'EXPLAIN (COSTS OFF) ' . $text->() . ';', %more };
}

# Returns an input that is a writable table, and a query over it, or nothing if the world has no such table.
sub draw_target
{
	my ($world) = @_;
	my @tables = grep { $_->{writable} } @{ $world->{tables} };
	return if !@tables;
	my $table = pick(@tables);
	return {
		kind => 'table', base => $table->{name}, from => "$table->{name} <alias>", cte => '',
		primary_key => $table->{kind} eq 'primary key'
	};
}

# UPDATE and DELETE with a second table, by a join or by EXISTS, MERGE, and row locks.
sub shape_changed
{
	my ($world) = @_;
	my $x = draw_target($world) // return;
	my $y = chance(0.5) ? $x : draw_input($world);
	my $on = draw_on($world, 'x', 'y');
	my ($target, $other) = (from_item($x, 'x'), from_item($y, 'y'));
	my $with = $y->{cte} ? "WITH $y->{cte} " : '';
	my $sql = defined $on->{bound} ? $on->{sql} =~ s/<bound>/$on->{bound}/gr : $on->{sql};
	my $kind = weighted(2, 'update', 2, 'delete', 1, 'update exists', 1, 'delete not exists', 1, 'merge', 3, 'lock');
	my %text = (
		'update' => "${with}UPDATE $target SET note = 'similar' FROM $other WHERE $sql RETURNING x.id, x.note, x.s",
		'delete' => "${with}DELETE FROM $target USING $other WHERE $sql RETURNING x.id, x.k",
		'update exists' => "${with}UPDATE $target SET k = 'q' WHERE EXISTS (SELECT FROM $other WHERE $sql) RETURNING x.id, x.k",
		'delete not exists' => "${with}DELETE FROM $target WHERE NOT EXISTS (SELECT FROM $other WHERE $sql) RETURNING x.id",
		'merge' => "${with}MERGE INTO $target USING $other ON $sql WHEN MATCHED THEN DO NOTHING
			WHEN NOT MATCHED THEN INSERT (id, note) VALUES (-1, y.note); SELECT count(*) FROM $x->{base}",
		'lock' => "${with}SELECT x.id, y.id, x.s FROM $target JOIN $other ON $sql FOR " . pick('UPDATE', 'SHARE') . ' OF x');
	my %query = (%{ $on->{main} }, %$on, kind => $kind, aliases => [ 'x', 'y' ], inputs => { x => $x, y => $y });
	$query{nested} = "$y->{from}$y->{cte}" =~ /_similarity/;
	$kind = 'lock' if $kind eq 'merge' && ($x->{primary_key} || !$world->{merge});
	my $match = $on->{match};
	$match = 'may' if $kind eq 'merge' || $query{nested} && $match eq 'never' || $kind =~ /exists/ && $match eq 'must';
	return rolled_back(sub { $text{$kind} }, query => \%query, match => $match);
}

# Weights and shapes. A shape that takes a bound needs a query with a bound that can be replaced.
my @shapes = (
	12, [ 'plain', \&shape_plain ], 3, [ 'ordered', \&shape_ordered ], 2, [ 'limited', \&shape_limited ],
	4, [ 'aggregated', \&shape_aggregated ], 1, [ 'window', \&shape_window ], 2, [ 'set operation', \&shape_set_operation ],
	4, [ 'joined', \&shape_joined ], 2, [ 'CTE', \&shape_cte ], 4, [ 'correlated', \&shape_correlated ],
	4, [ 'changing bound', \&shape_changing_bound ], 4, [ 'prepared', \&shape_prepared ], 2, [ 'loop', \&shape_loop ],
	2, [ 'function', \&shape_function ], 3, [ 'cursor', \&shape_cursor ], 2, [ 'stored', \&shape_stored ],
	2, [ 'inserted', \&shape_inserted ], 4, [ 'changed', \&shape_changed ]);

# Returns settings that change the choices of the planner and the executor, and whether they force the planner to use the join
# node if a clause allows it.
sub draw_settings
{
	my ($query, $rescanned) = @_;
	my @settings;
	my $forced = chance(0.8);
	my $others_off = chance(0.6);
	push @settings, 'enable_nestloop = off' if $forced;
	push @settings, 'enable_hashjoin = off', 'enable_mergejoin = off' if $others_off;
	push @settings, 'enable_partitionwise_join = on' if chance(0.3);
	push @settings, 'enable_partitionwise_aggregate = on' if chance(0.1);
	# If a row costs nothing on its way from a worker, blocks of rows do not pay.
	push @settings, 'parallel_setup_cost = 0', $forced ? () : 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	  'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 1' if chance(0.2) && !$rescanned;
	push @settings, "simjoin.memory_limit = '1MB'" if chance(0.4);
	push @settings, "work_mem = '64kB'" if chance(0.15);
	push @settings, 'simjoin.cpu_threads = ' . between(1, 3) if chance(0.5);
	push @settings, 'join_collapse_limit = 1' if chance(0.1);
	push @settings, 'from_collapse_limit = 1' if chance(0.1);
	my $no_seqscan = chance(0.1);
	push @settings, 'enable_seqscan = off' if $no_seqscan;
	push @settings, 'enable_material = off' if chance(0.03);
	push @settings, 'simjoin.similarity_threshold = ' . pick(0.1, 0.5, 0.6, 0.9, 1) if chance(0.5);
	push @settings, 'simjoin.measure = ' . pick(qw(cosine dice jaccard overlap_coefficient)) if chance(0.3);
	push @settings, "equivalence.bound = '$query->{setting}'" if length $query->{setting};
	# The scans have the same penalty as the nested loop.
	return ($forced && !$no_seqscan && (!$query->{equality} || $others_off), @settings);
}

# Draws the case of this number: the result of a shape, with {name}, {settings}, {match}. Some cases run as the role that the
# policies of the world restrict.
sub draw_case
{
	my ($world, $seed, $number, $role) = @_;
	reseed($seed, 'case', $number);
	my ($case, $query, $shape);
	while (!$case)
	{
		$query = draw_query($world);
		$shape = weighted(@shapes);
		my $takes_bound = $shape->[0] =~ /changing bound|prepared|loop|function/;
		$case = $shape->[1]->($world, $query) if !$takes_bound || defined $query->{bound};
	}
	$query = $case->{query} // $query;
	my $match = $case->{match} // $query->{match};
	# With a bound that only the executor knows, a clause matches whatever its own bound is.
	$match = 'may' if $case->{bound} && $match eq 'never';
	# Workers that are started again for each row are slow.
	my $rescanned = $shape->[0] =~ /correlated|changing bound/ || $query->{kind} =~ /nearest|OR EXISTS|NOT ANY/;
	my ($forced, @settings) = draw_settings($query, $rescanned);
	$match = 'may' if $match eq 'must' && !$forced;
	$case->{match} = $match;
	$case->{explain} //= 'EXPLAIN (COSTS OFF) ' . query_text($query, node => 1) . ';';
	$case->{settings} = [ @settings, @{ $case->{settings} // [] } ];
	push @{ $case->{settings} }, "role = $role"
	  if $world->{secured} && $shape->[0] !~ /stored|changed/ && chance(0.2);
	$case->{shape} = $shape->[0];
	$case->{join} = $query->{kind};
	$case->{name} = "$shape->[0], $query->{kind}, " . ($query->{main}{kind} // '');
	return $case;
}

1;
