# Tables that the extension makes for a role, which may change them as it likes: dedup views with their parts, and streams.
package Hostile::Views;

use strict;
use warnings;

use Equivalence::Draw;
use Exporter 'import';
use Hostile::Queries;
use Hostile::Values;

our @EXPORT = qw(make_view parts_query alter_parts use_view forge_view alter_stream);

my @types = qw(bigint integer text int[] text[] bytea float8 uuid numeric boolean bigint[] float4[] timestamptz pair few_ints name "char" xml json);

# Returns the table and a statement that makes a view of it which tracks changes, mostly with keys or weights.
sub make_tracked_view
{
	my ($table) = @_;
	my ($id, $weighted) = (pick(qw(key key id)), chance(0.5));
	my $query = "SELECT $id, tokens" . ($weighted ? ', array_fill((1 + id % 3)::real, ARRAY[cardinality(tokens)])' : '') . " FROM $table";
	my $measure = $weighted ? pick(qw(weighted_jaccard weighted_cosine)) : 'jaccard';
	my $keep = chance(0.3) ? ", keep => 'first_row'" : '';
	$query .= ' ORDER BY priority, id' if $keep;
	return ($table, "SELECT create_dedup_view('v', " . quote($query) . ', ' . pick(0.3, 0.5, 0.8) . ", '$measure', track_changes => true$keep" . make_verdicts($table, $id) . ')');
}

# Returns an argument for verdicts on rows of the table, mostly good ones, or nothing.
sub make_verdicts
{
	my ($table, $id) = @_;
	return '' if chance(0.6);
	my $verdict = pick("CASE x.id % 3 WHEN 0 THEN 'same' ELSE 'different' END", "CASE x.id % 2 WHEN 0 THEN 'same' END", pick("''", "'perhaps'", "CASE WHEN explode(x.id::int) > 0 THEN 'same' END"));
	return ', verdicts => ' . quote(weighted(
		8 => "SELECT x.$id AS a, y.$id AS b, $verdict AS verdict FROM $table x, $table y WHERE y.id BETWEEN x.id AND x.id + 7 AND y.id % 5 = 1",
		1 => "SELECT $id AS a, NULL AS b, 'same'::text AS verdict FROM $table",
		1 => "SELECT $id AS a, $id AS b FROM $table",
		1 => draw_value('text', 'query', 0, 0) =~ s/^'(.*)'$/$1/sr =~ s/''/'/gr));
}

# Returns statements that make a dedup view, mostly a good one.
sub make_view
{
	my $table = pick(qw(docs docs8 docs_text));
	return make_tracked_view($table) if chance(0.3);
	my $query = weighted(
		8 => "SELECT id, tokens FROM $table" . pick('', '', ' ORDER BY priority, id'),
		1 => "SELECT id, tokens FROM $table WHERE explode(id::int + 1000) > 0",
		1 => 'SELECT id, s FROM ' . pick(qw(sets4 partitioned a_view nasty4 far_away)),
		1 => draw_value('text', 'query', 0, 0) =~ s/^'(.*)'$/$1/sr =~ s/''/'/gr);
	my $has_keys = chance(0.3);
	$query = with_keys($query, 'query', draw_key()) if $has_keys;
	my @options = grep { chance(0.4) } 'method => ' . quote(pick(qw(components star best_link))), 'keep => ' . quote(pick(qw(smallest_id first_row))),
	  'max_group_share => ' . pick(0.1, 1), 'measure => ' . quote(pick(qw(jaccard dice cosine)));
	my $has_weights = chance(0.3);
	if ($has_weights)
	{
		my $weight = pick('1 / n::float4', '1 / n::float4', '(n % 3)::float4', '3e38::float4', "(CASE WHEN i::text LIKE '%7' THEN 'NaN' ELSE '1e-45' END)::float4");
		$query = "SELECT i, s, ARRAY(SELECT $weight FROM generate_series(1, cardinality(s)) n) FROM ($query) x (i, s)";
		@options = ((grep { !/^measure/ } @options), 'measure => ' . quote(pick(qw(weighted_jaccard weighted_cosine))));
	}
	push @options, 'track_changes => true' if chance($has_keys || $has_weights ? 0.1 : 0.6);
	my $verdicts = $has_keys || grep { /^method => '(star|best)/ } @options ? '' : make_verdicts($table, 'id');
	return ($table, "SELECT create_dedup_view(" . join(', ', quote(pick('v', 'v', 'v', 'a "view"', 'x' x 60)), quote($query), pick(0.3, 0.5, 0.8), @options) . "$verdicts)");
}

# Returns a query for the relations made after the one with this OID. It gives a row per column: name, kind, column, type.
sub parts_query
{
	my ($last) = @_;
	return qq{SELECT c.oid::regclass, relkind, quote_ident(attname), format_type(atttypid, atttypmod)
		FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
		WHERE c.oid > $last AND relkind IN ('r', 'v', 'm', 'f', 'p') AND relpersistence = 'p' AND relnamespace <> 'pg_toast'::regnamespace
		ORDER BY c.oid, attnum};
}

# Returns an expression for the new value of a column of a type.
sub garbage
{
	my ($type) = @_;
	return weighted(
		3 => 'NULL',
		1 => $type eq 'uuid' ? "md5('1')::uuid" : draw_value($type, '', 0, 0),
		3 => $type eq 'uuid' ? "md5(random()::text)::uuid" : draw_value($type, '', 0, 0),
		2 => $type =~ /^(\w+)\[\]$/ ? "array_fill(NULL::$1, '{3}')" : 'NULL',
		1 => $type =~ /^(\w+)\[\]$/ ? "array_fill(1::text::$1, '{2,2}')" : 'NULL',
		1 => $type =~ /^(\w+)\[\]$/ ? "array_fill(1::text::$1, '{200000}')" : 'NULL') . '';
}

# Returns statements that change one column of a part.
sub alter_column
{
	my ($part) = @_;
	my ($name, $column, $type) = @$part{qw(name column type)};
	my $free = "ALTER TABLE $name ALTER COLUMN $column DROP NOT NULL";
	my $other = pick(@types);
	return weighted(
		4 => [ $free, "UPDATE $name SET $column = " . garbage($type) . pick('', ' WHERE random() < 0.5') ],
		4 => [ $free, "ALTER TABLE $name ALTER COLUMN $column TYPE $other USING " . pick('NULL', "$column\::text::$other", '(' . garbage($other) . ")::$other") ],
		2 => [ $free, "ALTER TABLE $name ALTER COLUMN $column TYPE bigint USING " . pick(16, 0, -1, 9223372036854775807) ],
		1 => ["ALTER TABLE $name DROP COLUMN $column CASCADE"],
		1 => [ "ALTER TABLE $name DROP COLUMN $column CASCADE", "ALTER TABLE $name ADD COLUMN $column $type" . pick('', ' DEFAULT ' . garbage($type)) ],
		1 => ["ALTER TABLE $name RENAME COLUMN $column TO other"],
		1 => [ $free, "INSERT INTO $name ($column) VALUES (" . garbage($type) . ')' ],
		1 => ["ALTER TABLE $name ALTER COLUMN $column TYPE $other USING NULL"]);
}

# Returns statements that change a part as a whole.
sub alter_part
{
	my ($part) = @_;
	my $name = $part->{name};
	my $keyless = "DO " . quote("DECLARE r record; BEGIN FOR r IN SELECT conname FROM pg_constraint WHERE conrelid = " . quote($name)
		  . "::regclass LOOP EXECUTE format('ALTER TABLE $name DROP CONSTRAINT %I', r.conname); END LOOP; FOR r IN SELECT indexrelid::regclass AS i FROM pg_index WHERE indrelid = "
		  . quote($name) . "::regclass LOOP EXECUTE format('DROP INDEX %s', r.i); END LOOP; END");
	return weighted(
		3 => [ $keyless, ("INSERT INTO $name SELECT * FROM $name") x pick(1, 3, 9) ],
		2 => ["TRUNCATE $name"],
		2 => ["DELETE FROM $name WHERE random() < 0.5"],
		1 => [ "DROP " . ($part->{kind} eq 'v' ? 'VIEW' : $part->{kind} eq 'm' ? 'MATERIALIZED VIEW' : 'TABLE') . " $name" . pick('', ' CASCADE') ],
		1 => [ "ALTER TABLE $name RENAME TO hidden", "CREATE VIEW $name AS SELECT * FROM hidden" . pick('', ' UNION ALL SELECT * FROM hidden', ' WHERE false') ],
		1 => [ "ALTER TABLE $name RENAME TO hidden", "CREATE TABLE $name AS SELECT * FROM hidden, generate_series(1, 3)" ],
		1 => [ "ALTER TABLE $name RENAME TO hidden", "CREATE TABLE $name (a text)" ],
		1 => ["CREATE RULE nothing AS ON " . pick(qw(INSERT UPDATE DELETE)) . " TO $name DO INSTEAD NOTHING"],
		1 => [ "CREATE TRIGGER drops BEFORE INSERT OR UPDATE OR DELETE ON $name FOR EACH ROW EXECUTE FUNCTION " . pick('drop_row()', 'refuse()') ],
		1 => [ "ALTER TABLE $name ENABLE ROW LEVEL SECURITY", "ALTER TABLE $name FORCE ROW LEVEL SECURITY" ],
		1 => [ "CREATE TABLE child () INHERITS ($name)", "INSERT INTO child SELECT * FROM $name" ],
		1 => [ "REVOKE ALL ON $name FROM current_user" ],
		1 => [ "ALTER TABLE $name SET UNLOGGED" ],
		1 => [ "COMMENT ON TABLE $name IS NULL" ]);
}

# Returns statements that change some of the parts.
sub alter_parts
{
	my (@parts) = @_;
	return () if !@parts;
	my %tables = map { ($_->{name}, $_) } grep { $_->{kind} ne 'v' } @parts;
	my @columns = grep { $_->{kind} eq 'r' } @parts;
	return map { @$_ } map { @columns && chance(0.7) ? alter_column(pick(@columns)) : alter_part($tables{ pick(sort keys %tables) } // pick(@parts)) } 1 .. between(1, 3);
}

# Returns statements that write to the table of a view and use the view, named as a regclass literal.
sub use_view
{
	my ($table, $view) = @_;
	my $literal = quote($view);
	my @uses;
	for (1 .. between(2, 4))
	{
		push @uses, weighted(
			6 => "SELECT * FROM refresh_dedup_view($literal, " . pick('true', 'false') . ')',
			3 => "REFRESH MATERIALIZED VIEW " . pick('', 'CONCURRENTLY ') . $view . pick('', '', ' WITH NO DATA'),
			3 => "INSERT INTO $table SELECT id + " . pick(50, 100, 200) . ", priority, tokens FROM $table LIMIT 20",
			3 => "UPDATE $table SET tokens = tokens || tokens[1:" . between(0, 2) . '] WHERE id % 3 = 0',
			2 => "UPDATE $table SET id = id + 500 WHERE id < 10",
			3 => "DELETE FROM $table WHERE random() < 0.3",
			1 => "TRUNCATE $table",
			1 => "ALTER TABLE $table DISABLE TRIGGER " . pick('ALL', 'USER'),
			1 => [ "ALTER TABLE $table DISABLE TRIGGER USER", "ALTER TABLE $table DROP CONSTRAINT IF EXISTS ${table}_pkey", "INSERT INTO $table SELECT * FROM $table" ],
			1 => "ALTER TABLE $table ALTER COLUMN tokens TYPE text USING tokens::text",
			1 => "ALTER TABLE $table RENAME COLUMN id TO key",
			1 => "SELECT count(*) FROM $view",
			1 => "SELECT drop_dedup_view($literal)",
			1 => "DROP MATERIALIZED VIEW $view" . pick('', ' CASCADE'),
			1 => "SELECT create_dedup_view($literal, 'SELECT id, tokens FROM $table', 0.5)",
			1 => "DROP TABLE $table CASCADE");
	}
	return ((map { ref $_ ? @$_ : $_ } @uses), pick("SELECT * FROM refresh_dedup_view($literal)", "SELECT drop_dedup_view($literal)"));
}

# Returns statements that make a materialized view that imitates the given one, and use it.
sub forge_view
{
	my ($table, $view) = @_;
	my $select = pick('SELECT x.* FROM (%s) x', 'SELECT x.* FROM (%s) x, generate_series(1, 3000)', '%s', 'SELECT 1::bigint AS id, x.group_id, x.is_representative, x.similarity FROM (%s) x',
		'SELECT x.id::text, x.group_id FROM (%s) x', '(%s) UNION ALL (%1$s)');
	return ("DO " . quote("BEGIN EXECUTE 'CREATE MATERIALIZED VIEW forged AS ' || format(" . quote($select) . ", rtrim(pg_get_viewdef(" . quote($view) . "::regclass), ';')); END"),
		pick('CREATE UNIQUE INDEX ON forged (id)', 'CREATE INDEX ON forged (id)', 'SELECT 1'), use_view($table, 'forged'));
}

# Returns statements that alter the table of a stream and continue the stream.
sub alter_stream
{
	my (@parts) = @_;
	my $name = $parts[0]{name};
	my $query = $name =~ /text/ ? 'SELECT id, terms, weights FROM documents' : 'SELECT id, s, array_fill(1::float4, ARRAY[cardinality(s)]) FROM sets4';
	my $use = "SELECT count(*) FROM cluster_stream('$name', " . quote($query) . ', ' . pick(0.1, 0.5)
	  . pick(', batch => %d)', ', 20, %d, merge => 0.4)') =~ s/%d/pick(1, 7, 1024)/er;
	return ($use, alter_parts(@parts), $use, alter_parts(@parts), $use, "SELECT count(*) FROM $name");
}

1;
