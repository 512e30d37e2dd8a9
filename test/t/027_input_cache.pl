# Joins whose inputs the session keeps give the rows of a nested loop, whatever this session and another one do to the tables in
# between. SEED chooses other statements, STEPS more of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $steps = $ENV{STEPS} // 400;
my $seed = $ENV{SEED} // 7;
srand($seed);

my $node = start_node('input_cache', @two_cpu_threads);
$node->safe_psql('postgres', q{
	CREATE FUNCTION random_tokens(i int) RETURNS int[] LANGUAGE sql VOLATILE AS
		'SELECT ARRAY(SELECT (i / 3) * 4 + (random() * 5)::int FROM generate_series(1, 6))';
	CREATE TABLE l (id int, tokens int[], note text);
	CREATE TABLE r (id int, tokens int[], note text);
	INSERT INTO l SELECT i, random_tokens(i), 'l' || i FROM generate_series(1, 120) i;
	INSERT INTO r SELECT i, random_tokens(i), 'r' || i FROM generate_series(1, 120) i;
	CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		counted text := 'SELECT count(*) || md5(coalesce(string_agg(q::text, '' '' ORDER BY q::text), '''')) FROM (' || query || ') q';
		plan json; found text; expected text;
	BEGIN
		PERFORM set_config('enable_nestloop', 'off', true), set_config('simjoin.enable_join', 'on', true);
		EXECUTE counted INTO found;
		EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || counted INTO plan;
		PERFORM set_config('enable_nestloop', 'on', true), set_config('simjoin.enable_join', 'off', true);
		EXECUTE counted INTO expected;
		RETURN CASE WHEN found <> expected THEN 'DIFFERS' ELSE 'same' END ||
			CASE WHEN plan::text LIKE '%Cached Inputs%' THEN ', cached' ELSE ', read' END;
	END $$;
	CREATE SEQUENCE ids START 1000;
});

sub pick { return $_[ int(rand(@_)) ]; }

# Returns a statement that changes a table, or may.
sub change
{
	my $table = pick('l', 'r');
	my $id = int(rand(120));
	return pick(
		"INSERT INTO $table SELECT nextval('ids'), random_tokens($id), 'new'",
		"DELETE FROM $table WHERE id % 40 = " . $id % 40,
		"UPDATE $table SET tokens = random_tokens($id) WHERE id % 50 = " . $id % 50,
		"UPDATE $table SET note = 'changed' WHERE id = $id",
		"SELECT count(*) FROM (SELECT FROM $table WHERE id < $id FOR UPDATE) q");
}

# Returns a statement that needs a transaction of its own.
sub clean
{
	my $table = pick('l', 'r');
	return pick(("VACUUM $table") x 6, "VACUUM (FREEZE) $table", "VACUUM FULL $table", 'VACUUM l, r');
}

# Returns a statement that changes a table as a whole.
sub alter
{
	my $table = pick('l', 'r');
	return pick(
		"ALTER TABLE $table ADD x$_[0] int DEFAULT $_[0]",
		"ALTER TABLE $table ALTER note TYPE varchar",
		"ALTER TABLE $table ALTER note TYPE text",
		"ALTER TABLE $table ALTER id TYPE bigint",
		"ALTER TABLE $table ALTER id TYPE int",
		"TRUNCATE $table;\nINSERT INTO $table SELECT i, random_tokens(i), 't' FROM generate_series(1, 90) i",
		"ALTER TABLE l RENAME TO x; ALTER TABLE r RENAME TO l; ALTER TABLE x RENAME TO r");
}

# In a transaction: fills the new pages of an emptied table twice, and joins between.
sub copy_frozen
{
	my $table = pick('l', 'r');
	my $copy = "\\copy $table (id, tokens) FROM PROGRAM 'printf \"1\\t{1,2,3}\\n2\\t{1,2,4}\\n3\\t{1,2,3}\\n\"' (FREEZE)\n";
	return "TRUNCATE $table;\n$copy" . compare() . $copy . compare();
}

sub compare
{
	my $columns = pick('a.id, b.id AS b', 'a.id, a.note, b.*', 'a.*, b.id AS b');
	my $join = pick(
		'FROM l a JOIN l b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.6',
		'FROM l a LEFT JOIN r b ON jaccard_similarity(a.tokens, b.tokens) >= 0.7',
		'FROM r a JOIN l b ON cosine_similarity(a.tokens, b.tokens) >= 0.8');
	return "SELECT compare('SELECT $columns $join');\n" x pick(1, 2);
}

my $writer = 'psql -X -q -d "' . $node->connstr('postgres') . '"';
my $script = "\\set VERBOSITY terse\nSET simjoin.input_cache = '4MB'; SET jit = off; SET enable_hashjoin = off; SET enable_mergejoin = off;\n"
  . "SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SET lock_timeout = '5s'; SELECT setseed(0.5);\nVACUUM ANALYZE;\n";
my $open = 0;    # this session is in a transaction
for my $step (1 .. $steps)
{
	my $what = rand();
	if ($what < 0.25) { $script .= change() . ";\n"; }
	elsif ($what < 0.45)
	{
		# The statement is an argument in the shell's double quotes.
		my $statement = $what < 0.38 ? change() : clean();
		$script .= "\\! $writer -c \"SET lock_timeout = '50ms'\" -c \"$statement\" > /dev/null 2>&1\n";
	}
	elsif ($what < 0.68) { $script .= clean() . ";\n" unless $open; }
	elsif ($what < 0.73) { $script .= alter($step) . ";\n"; }
	elsif ($what < 0.76)
	{
		$script .= $open ? copy_frozen() : "BEGIN;\n" . copy_frozen() . pick('COMMIT', 'ROLLBACK') . ";\n";
	}
	elsif ($what < 0.80) { $script .= pick("SET simjoin.input_cache = '70kB'", "SET simjoin.input_cache = '4MB'") . ";\n"; }
	elsif ($what < 0.83) { $script .= 'SET max_parallel_workers_per_gather = ' . pick(0, 2) . ";\n"; }
	elsif ($what < 0.86) { $script .= "SAVEPOINT s;\n" . change() . ";\n" . compare() . "ROLLBACK TO s;\n" if $open; }
	elsif ($open) { $script .= pick('COMMIT', 'ROLLBACK') . ";\n"; $open = 0; }
	else { $script .= pick('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ') . ";\n"; $open = 1; }
	$script .= compare();
}

my ($out, $errors);
$node->psql('postgres', $script, stdout => \$out, stderr => \$errors, on_error_stop => 0);
my %count = (DIFFERS => 0, same => 0, cached => 0, read => 0);
++$count{$_} for $out =~ /\b(DIFFERS|same|cached|read)\b/g;
diag("seed $seed: $count{same} joins, $count{cached} from the cache");
is($count{DIFFERS}, 0, "joins give the rows of a nested loop, seed $seed");
cmp_ok($count{cached}, '>', $steps / 8, 'some inputs were kept');
cmp_ok($count{read}, '>', $steps / 8, 'and some were read');
unlike($errors, qr/XX000|server closed|internal/, 'no error is an internal one');

# Where VACUUM may remove rows that a running snapshot still sees, nothing is kept.
SKIP:
{
	skip 'there is no old_snapshot_threshold', 2 unless $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_settings WHERE name = 'old_snapshot_threshold'");
	my $joins = 'SET simjoin.input_cache = \'4MB\'; SET enable_nestloop = off; ' .
	  'EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) FROM kept a JOIN kept b ON jaccard_similarity(a.tokens, b.tokens) >= 0.6;' x 2;
	$node->safe_psql('postgres', 'CREATE TABLE kept AS SELECT i AS id, random_tokens(i) AS tokens FROM generate_series(1, 50) i');
	$node->safe_psql('postgres', 'VACUUM ANALYZE kept');
	like($node->safe_psql('postgres', $joins), qr/Cached Inputs/, 'a table that does not change is kept');
	$node->append_conf('postgresql.conf', "old_snapshot_threshold = '60min'");
	$node->restart;
	unlike($node->safe_psql('postgres', $joins), qr/Cached Inputs/, 'but not with old_snapshot_threshold');
}
$node->stop;
done_testing();
