# Statements that use the objects of the catalog: functions in every place of a query, operators, types, settings, triggers.
package Hostile::Calls;

use strict;
use warnings;

use Equivalence::Draw;
use Exporter 'import';
use Hostile::Queries;
use Hostile::Values;

our @EXPORT = qw(call_function call_operator receive_values join_tables change_setting);

my %tables_of = (
	'integer[]' => [qw(sets4 nasty4 partitioned a_view nothing far_away)],
	'bigint[]' => [qw(sets8 nasty8)],
	'text[]' => [qw(sets_text nasty_text)],
	'real[]' => [qw(nasty_vectors vectors)]);

# Returns the arguments of a call. Trailing arguments with defaults are mostly left out, or given by name.
sub draw_arguments
{
	my ($function, $column) = @_;
	my @values;
	my $mild = chance(0.5);
	# Keys and tokenizers that are left out do not change the queries.
	my $first_default = $function->{count} - $function->{defaults};
	my @given = grep { $_ < $first_default || !chance($mild ? 0.8 : 0.4) } 0 .. $function->{count} - 1;
	my @types = map { $function->{types}[$_] } @given;
	my $key = (grep { /^any(element|compatible)$/ } @types) ? draw_key() : undef;
	my $texts = grep { $_ eq 'tokenizer' } @types;
	for my $i (@given)
	{
		my ($type, $name) = ($function->{types}[$i], $function->{names}[$i]);
		my $has_default = $i >= $first_default;
		my $value = $column && $type eq $column->[1] && chance(0.7) ? "t.$column->[0]" : draw_value($type, $name, 0, $mild, $key, $texts);
		push @values, $has_default ? "$name => $value" : $value;
	}
	return join(', ', @values);
}

# Returns statements that make triggers with the function, and changes that fire them.
sub call_trigger
{
	my ($function) = @_;
	my $table = pick(qw(docs docs8 sets4 no_columns partitioned a_view domains far_changes));
	my $timing = pick('BEFORE', 'AFTER', 'AFTER', $table eq 'a_view' ? 'INSTEAD OF' : 'AFTER');
	my $event = pick('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'INSERT OR UPDATE OR DELETE', 'UPDATE OF id');
	my $tables = chance(0.4) && $timing eq 'AFTER'
	  ? 'REFERENCING ' . join(' ', ($event eq 'INSERT' ? () : 'OLD TABLE AS o'), ($event eq 'DELETE' ? () : 'NEW TABLE AS n')) : '';
	my $arguments = join(', ', map { quote(pick('docs', '1', '', 'id', 'good_changes', 'hostile.good_changes', 'far_changes', '-1', '16450')) } 1 .. between(0, 3));
	return ("CREATE TRIGGER t $timing $event ON $table $tables FOR EACH " . pick('ROW', 'STATEMENT') . " EXECUTE FUNCTION $function->{name}($arguments)",
		"INSERT INTO $table SELECT * FROM $table LIMIT 1", "INSERT INTO $table (id) VALUES (" . pick(1000, 'NULL') . ')', "UPDATE $table SET id = id + 10000", "DELETE FROM $table",
		"TRUNCATE $table");
}

# Returns statements that make triggers with a function that keeps out near-duplicates, and changes that fire them.
sub call_guard
{
	my ($function) = @_;
	my $table = pick(qw(sets4 sets8 sets_text nasty4 nasty8 nasty_text docs docs_text domains partitioned far_away a_view));
	my $marks = $function->{name} =~ /mark/;
	my $column = $table =~ /^docs/ ? 'tokens' : 's';
	my @arguments = (chance(0.9) ? $column : pick('id', 'no_column', '', 'ctid', 'x' x 100), weighted(8 => pick(0.1, 0.5, 0.8, 1), 2 => pick('2', '-1', 'NaN', '1e400', '', '0.5x', "\x{e9}")));
	push @arguments, pick('mark', 'marked', 'mark', 'id', $column) if $marks;
	push @arguments, pick('jaccard', 'cosine', 'dice', 'overlap', 'overlap_coefficient', 'containment', 'jacard', '') if chance(0.4);
	pop @arguments if chance(0.05);
	my $deferred = $function->{name} =~ /refuse/ && chance(0.6) ? 'CONSTRAINT' : '';
	my $timing = chance(0.95) ? ($function->{name} =~ /refuse/ ? 'AFTER' : 'BEFORE') : pick('AFTER', 'BEFORE', 'INSTEAD OF');
	return (
		chance(0.5) ? "CREATE INDEX ON $table USING gin ($column " . pick('int4', 'int8', 'text') . '_similarity_ops (threshold = ' . pick(0.05, 0.5, 0.9) . '))' : (),
		$marks ? ("ALTER TABLE $table ADD mark bool, ADD marked " . pick('bigint', 'int', 'smallint', 'text')) : (),
		"CREATE $deferred TRIGGER t $timing " . pick('INSERT', 'INSERT OR UPDATE', "INSERT OR UPDATE OF $column", 'UPDATE', 'DELETE') . " ON $table "
		  . ($deferred ? 'DEFERRABLE INITIALLY ' . pick('DEFERRED', 'IMMEDIATE') : '') . ' FOR EACH ' . (chance(0.95) ? 'ROW' : 'STATEMENT')
		  . " EXECUTE FUNCTION $function->{name}(" . join(', ', map { quote($_) } @arguments) . ')',
		"SAVEPOINT before", "INSERT INTO $table SELECT * FROM $table LIMIT " . between(1, 3), "ROLLBACK TO before",
		"INSERT INTO $table (id, $column) SELECT id + 100, $column || $column FROM $table LIMIT " . between(1, 9), "ROLLBACK TO before",
		"INSERT INTO $table (id, $column) VALUES (1000, " . draw_array(pick('integer', 'bigint', 'text')) . ')',
		"UPDATE $table SET $column = ${column}[2:]", "ROLLBACK TO before", "UPDATE $table SET id = id + 5", "ALTER TABLE $table RENAME $column TO renamed",
		"INSERT INTO $table (id) VALUES (1001)", "ROLLBACK TO before", "ALTER TABLE $table ALTER $column TYPE text USING NULL", "INSERT INTO $table (id) VALUES (1002)",
		"ROLLBACK TO before", "DELETE FROM $table WHERE id < 20", 'SET CONSTRAINTS ALL IMMEDIATE');
}

# Returns statements that make an index on sets, write to its table, and check the index.
sub call_check
{
	my ($function) = @_;
	my $table = pick(qw(sets4 sets8 sets_text nasty4 nasty8 docs docs_text domains partitioned a_view));
	my $column = $table =~ /^docs/ ? 'tokens' : 's';
	my $check = "SELECT $function->{name}('checked')";
	return (
		$table =~ /^nasty/ ? ("DELETE FROM $table WHERE array_ndims($column) > 1", "DELETE FROM $table WHERE array_position($column, NULL) > 0") : (),
		"CREATE INDEX checked ON $table USING gin (" . pick($column, "($column || $column)", "(${column}[2:])", "$column, $column") . ' '
		  . (chance(0.1) ? pick('int4', 'int8', 'text') : $table =~ /8$/ ? 'int8' : $table =~ /text$/ ? 'text' : 'int4') . '_similarity_ops (threshold = ' . pick(0.05, 0.5, 0.9, 3) . (chance(0.4) ? ', measure = ' . pick('overlap', 'overlap_coefficient') : '') . '))'
		  . (chance(0.3) ? ' WITH (fastupdate = off)' : '') . (chance(0.3) ? ' WHERE id > 5' : ''),
		$check, 'SAVEPOINT before', "INSERT INTO $table (id, $column) SELECT id + 100, $column || $column FROM $table LIMIT " . between(1, 9), $check,
		"UPDATE $table SET $column = ${column}[2:] WHERE id > 10", $check, "UPDATE $table SET id = id + 500", $check, "DELETE FROM $table WHERE id < 520", $check,
		"ALTER TABLE $table ALTER $column TYPE text USING NULL", $check, 'ROLLBACK TO before', "ALTER INDEX checked ALTER COLUMN 1 SET STATISTICS 5", $check,
		"ALTER TABLE $table DROP COLUMN $column", $check, 'ROLLBACK TO before', "TRUNCATE $table", $check,
		"CREATE INDEX other ON $table USING " . pick("gin ($column)", 'btree (id)', 'hash (id)', 'brin (id)'), "SELECT $function->{name}('other')",
		"SELECT $function->{name}(oid) FROM pg_class WHERE relkind IN ('i', 'I') ORDER BY random() LIMIT 3");
}

# The places of a call that returns rows. `columns` is what FROM needs to know of them.
sub call_rows
{
	my ($value, $columns) = @_;
	my $call = "$value$columns";
	return weighted(
		6 => "SELECT count(*) FROM $call",
		1 => "SELECT * FROM $call LIMIT " . between(0, 5),
		1 => "SELECT count(*) FROM (SELECT $value LIMIT 100) x",
		1 => "SELECT count(*) FROM (SELECT ($value).* LIMIT 10) x",
		1 => "SELECT count(*) FROM edges e, LATERAL (SELECT * FROM $call LIMIT e.a) x",
		1 => "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM $call",
		1 => "DECLARE c SCROLL CURSOR FOR SELECT * FROM $call;\nFETCH 2 FROM c;\nFETCH BACKWARD 1 FROM c;\nMOVE ABSOLUTE 0 IN c;\nFETCH 1 FROM c",
		1 => "PREPARE p AS SELECT count(*) FROM $call;\n" . "EXECUTE p;\n" x 6 . 'SET plan_cache_mode = force_generic_plan; EXECUTE p',
		1 => "CREATE TEMP TABLE made AS SELECT * FROM $call",
		1 => "DO " . quote("DECLARE r record; BEGIN FOR i IN 1 .. 3 LOOP BEGIN FOR r IN SELECT * FROM $call LOOP EXIT WHEN i > 1; END LOOP;
			EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%' THEN RAISE; END IF; END; END LOOP; END"),
		1 => "WITH x AS MATERIALIZED (SELECT * FROM $call LIMIT 2) SELECT count(*) FROM x a, x b",
		1 => "SELECT (SELECT count(*) FROM $call), (SELECT count(*) FROM $call)");
}

# The places of a call that returns a value. `from` is the table of its arguments, or empty.
sub call_value
{
	my ($call, $from) = @_;
	return weighted(
		5 => "SELECT count($call) $from",
		2 => "SELECT count(*) " . ($from || 'FROM sets4 t') . " WHERE ($call) IS NOT NULL",
		1 => "SELECT $call $from ORDER BY 1 LIMIT 3",
		1 => "SELECT count(*) FROM (SELECT DISTINCT $call $from) x",
		1 => "SELECT count(*) " . ($from || 'FROM sets4 t') . " GROUP BY $call",
		1 => "CREATE TEMP TABLE made AS SELECT $call AS x $from;\nANALYZE made;\nSELECT count(*) FROM made a JOIN made b USING (x)",
		1 => "PREPARE p AS SELECT count($call) $from;\n" . "EXECUTE p;\n" x 6,
		1 => "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SELECT count($call) $from");
}

# Returns columns for a function whose own are not known.
sub draw_columns
{
	my $type = pick('text', 'uuid', 'bigint', 'pair');
	return pick("id $type, group_id $type, is_representative bool, similarity float8", 'a text', "a $type, b text, c bool, d float8");
}

# Returns the statements that call a function.
sub call_function
{
	my ($function) = @_;
	return chance(0.8) && $function->{name} =~ /similar$/ ? call_guard($function) : call_trigger($function) if $function->{result} eq 'trigger';
	return call_check($function) if $function->{name} =~ /index_check$/ && chance(0.8);
	my @columns = grep { $tables_of{$_} } @{ $function->{types} };
	my ($column, $from) = (undef, '');
	if ((@columns || grep { $_ eq 'minhash' } @{ $function->{types} }) && chance(0.4))
	{
		my $type = @columns ? pick(@columns) : 'minhash';
		my $table = @columns ? pick(@{ $tables_of{$type} }) : 'signatures';
		$column = [ $type eq 'minhash' ? 'signature' : $type eq 'real[]' ? 'v' : 's', $type ];
		$from = "FROM $table t";
	}
	my $call = "$function->{name}(" . draw_arguments($function, $column) . ')';
	my $columns = $function->{any_columns} eq 't' ? ' AS f (' . draw_columns() . ')' : '';
	return $function->{set} eq 't' && !$from ? call_rows($call, $columns) : call_value($call, $from) if $function->{kind} eq 'f';
	my $values = 'FROM generate_series(1, ' . pick(0, 1, 5) . ') t';
	return pick("SELECT $call $from", "SELECT $call OVER (ORDER BY random()) " . ($from || $values), "SELECT $call FILTER (WHERE random() < 0.5) " . ($from || $values),
		"SELECT $call " . ($from || $values) . ' GROUP BY GROUPING SETS ((), (t))');
}

# Returns a statement that uses an operator.
sub call_operator
{
	my ($operator) = @_;
	my ($left, $right) = map { draw_value($_, '', 0, 0) } @$operator{qw(left right)};
	my $table = $tables_of{ $operator->{left} };
	return "SELECT count(*) FROM (VALUES ($left), ($right), ($left)) a(x), (VALUES ($right), ($left)) b(x) WHERE a.x $operator->{name} b.x IS NOT NULL"
	  if chance(0.3);
	return "SELECT $left $operator->{name} $right" if !$table || chance(0.5);
	return "SELECT count(a.s $operator->{name} $right) FROM " . pick(@$table) . ' a ORDER BY 1';
}

# Sends bytes to the receive function of a type.
sub receive_values
{
	my ($type) = @_;
	my $array = pick('integer', 'bigint', 'text');
	my $bytes = $type ne 'similarity_query' || chance(0.2) ? draw_value('bytea', '', 0, 0)
	  : 'set_byte(similarity_query_send(similarity_query(' . draw_array($array) . ", 0.5)), " . between(0, 16) . ', ' . pick(0, 1, 2, 3, 255) . ')';
	return ("CREATE TEMP TABLE received (x $type)",
		"\\copy (SELECT " . $bytes . ' FROM generate_series(1, ' . pick(1, 1, 3) . ")) TO 'received' BINARY",
		"\\copy received FROM 'received' BINARY", 'SELECT count(x::text), count(DISTINCT x) FROM received',
		"\\copy (SELECT " . draw_value('cstring', '', 0, 0) . ") TO 'received'", "\\copy received FROM 'received'",
		'CREATE INDEX ON received (x)', 'ANALYZE received', 'SELECT count(*) FROM received a JOIN received b ON a.x = b.x');
}

# Returns a join whose clause is made of a function of two sets, over values that may break it.
sub join_tables
{
	my ($catalog) = @_;
	my $type = pick('integer[]', 'integer[]', 'bigint[]', 'text[]');
	my @measures = grep { $_->{count} == 2 && $_->{kind} eq 'f' && join('', @{ $_->{types} }) eq $type x 2 } @{ $catalog->{functions} };
	my $measure = pick(@measures);
	my $clause = "$measure->{name}(a.s, b.s)";
	if ($measure->{result} ne 'boolean')
	{
		my $threshold = weighted(
			8 => pick(0.1, 0.5, 0.7, 1),
			3 => draw_value('double precision', '', 0, 0),
			1 => '(SELECT max(w) FROM nasty_edges)',
			1 => 'explode(17)',
			1 => '1 / (SELECT count(*) - count(*) FROM sets4)',
			1 => 'random()',
			1 => 'NULL');
		$clause .= pick(' >= ', ' > ', ' <= ', ' < ', ' = ') . $threshold;
	}
	if (chance(0.2))
	{
		# Edits between two texts, or their characters in common.
		my $compare = pick(grep { $_->{count} == 2 && "@{ $_->{types} }" eq 'text text' && $_->{name} =~ /edit_|damerau_|jaro_/ } @{ $catalog->{functions} });
		my ($x, $y) = map { pick("array_to_string($_.s, '')", "array_to_string($_.s, '', 'NULL')", "left($_.s::text, 15)", "$_.id::text") } 'a', 'b';
		my $edits = "$compare->{name}($x, $y)";
		my $least = pick(0, 1, 0.75, 0.9, 2, 16, 17, "'NaN'::float8", "'-Infinity'::float8", 2147483647, 9223372036854775807, 'NULL', 'a.id', draw_value('double precision', '', 0, 0));
		$clause = pick("$edits <= $least", "$edits >= $least", "$edits = $least", "1 - $edits\::float8 / greatest(length($x), length($y)) > $least", "$edits + $edits < $least");
	}
	$clause .= ' AND ' . pick('a.id < b.id', 'a.id = b.id', '100 / (a.id - b.id) > 0', 'a.s <> b.s', "meddle('SELECT 1') = 1", 'a.id > 3',
		"meddle('DELETE FROM sets4') = 1", 'explode(a.id::int % 20) = explode(b.id::int % 20)') if chance(0.6);
	my ($left, $right) = map { pick(@{ $tables_of{$type} }, @{ $tables_of{$type} }, "(SELECT id, " . draw_array($type =~ s/\[\]//r) . " AS s FROM sets4)") } 1 .. 2;
	my $from = weighted(
		4 => "$left a JOIN $right b ON $clause",
		3 => "$left a " . pick('LEFT', 'RIGHT', 'FULL') . " JOIN $right b ON $clause",
		2 => "$left a WHERE " . pick('', 'NOT ') . "EXISTS (SELECT FROM $right b WHERE $clause)",
		1 => "$left x, LATERAL (SELECT b.id FROM $left a JOIN $right b ON $clause AND a.id = x.id LIMIT 2) y");
	return weighted(4 => "SELECT count(*) FROM $from", 1 => "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM $from", 1 => "SELECT * FROM $from LIMIT 3",
		1 => "DECLARE c CURSOR FOR SELECT * FROM $from;\nFETCH 1 FROM c;\nCLOSE c;",
		1 => "SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SELECT count(*) FROM $from");
}

# Returns a statement that changes a setting. Settings of memory and time stay within the limits of this suite.
sub change_setting
{
	my ($settings) = @_;
	my $setting = pick(@$settings);
	my $value = weighted(
		1 => pick(qw(NaN -1 0 99999999999999999999), 'nonsense', '', '1e400', '0.5', '7'),
		6 => @{ $setting->{values} } ? pick(@{ $setting->{values} })
		: $setting->{type} eq 'bool' ? pick('on', 'off')
		: pick($setting->{low}, $setting->{high}, 1, 2, 3, 100, 0.5));
	$value = pick('1MB', '2MB', '4MB', '64MB') if $setting->{name} =~ /memory_limit$/;
	$value = pick(0, 1, 2, 3, 33) if $setting->{name} =~ /threads$/;
	return "SET $setting->{name} = " . quote($value);
}

1;
