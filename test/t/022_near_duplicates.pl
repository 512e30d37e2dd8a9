# Many writers of similar rows at the same time, in all isolation levels: no two similar rows get in. Checks end at once when
# they are cancelled, also while they wait.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $writers = 6;
my $turns = 250;

my $node = start_node('near_duplicates', 'deadlock_timeout = 5ms', 'log_min_messages = fatal');
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION set_of_family(family int) RETURNS int[] LANGUAGE SQL VOLATILE AS
	$$ SELECT array_agg(family * 100 + CASE WHEN i = changed THEN 10 + floor(random() * 20)::int ELSE i END)
	   FROM (SELECT floor(random() * 10)::int AS changed) c, generate_series(0, 9) i $$;

	-- Writes rows of families, all sets of which are similar. All writers come to a family at about the same time.
	CREATE PROCEDURE write_rows(name regclass, turns int, seed float8) LANGUAGE plpgsql AS $$
	DECLARE
		family int;
	BEGIN
		PERFORM setseed(seed);
		FOR turn IN 1 .. turns LOOP
			BEGIN
				FOR change IN 1 .. 1 + floor(random() * 2)::int LOOP
					family := turn / 2 + floor(random() * 3)::int;
					EXECUTE format(CASE floor(random() * 11)::int
						WHEN 0 THEN 'DELETE FROM %1$s WHERE id = (SELECT max(id) FROM %1$s)'
						WHEN 1 THEN 'UPDATE %1$s SET tokens = set_of_family($1) WHERE id = (SELECT max(id) FROM %1$s)'
						WHEN 2 THEN 'UPDATE %1$s SET note = random() WHERE id > (SELECT max(id) - 20 FROM %1$s)'
						WHEN 3 THEN 'UPDATE %1$s SET duplicate = NOT duplicate WHERE id > (SELECT max(id) - 3 FROM %1$s)'
						WHEN 4 THEN 'INSERT INTO %1$s (tokens) SELECT set_of_family($1 + i) FROM generate_series(1, 2) i'
						ELSE 'INSERT INTO %1$s (tokens) VALUES (set_of_family($1))' END, name) USING family;
				END LOOP;
				PERFORM pg_sleep(random() * 0.002);
				IF random() < 0.1 THEN RAISE division_by_zero; END IF;
			EXCEPTION WHEN exclusion_violation OR deadlock_detected OR serialization_failure OR division_by_zero THEN
				INSERT INTO failures VALUES (SQLSTATE);
			END;
			COMMIT;
		END LOOP;
	END $$;
	CREATE TABLE failures (state text);
});

# Makes the table, with rows that are similar to none.
sub make_table
{
	my ($name, @triggers) = @_;
	$node->safe_psql(
		'postgres', join(";\n", "CREATE TABLE $name (id serial PRIMARY KEY, tokens int[], note float8, duplicate bool)",
			"CREATE INDEX ON $name (note)",
			"INSERT INTO $name (tokens) SELECT ARRAY[i, i + 1, i + 2] FROM generate_series(-2000, -10, 10) i", @triggers));
	return;
}

# Returns the number of pairs of similar rows, found by a nested loop.
sub similar_pairs
{
	my ($name, $which) = @_;
	return $node->safe_psql('postgres', qq{SELECT count(*) FROM $name a, $name b
		WHERE a.id < b.id AND $which AND jaccard_similarity(a.tokens, b.tokens) + 0 >= 0.6});
}

# Runs the writers, and returns the numbers of failures of each kind.
sub write_all
{
	my ($name) = @_;
	my @levels = ('read committed', 'repeatable read', 'read committed', 'serializable');
	my (@running, @outputs);
	for my $i (1 .. $writers)
	{
		my $output = '';
		push @outputs, \$output;
		push @running, IPC::Run::start(
			[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
				'-c', "SET default_transaction_isolation = '$levels[ $i % @levels ]'",
				'-c', "CALL write_rows('$name', $turns, 0." . (10 + $i) . ')' ],
			'<', \undef, '>&', \$output, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	}
	push @running, IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), map { ('-c', "VACUUM $name", '-c', 'DO $$ BEGIN PERFORM pg_sleep(0.05); END $$') } 1 .. 30 ],
		'<', \undef, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	IPC::Run::finish($_) for @running;
	is(join('', map { $$_ } @outputs), '', "$name: the writers end without an error");
	my $failures = $node->safe_psql('postgres', 'SELECT state, count(*) FROM failures GROUP BY 1 ORDER BY 1; TRUNCATE failures');
	note($failures);
	return $failures;
}

my $event = 'INSERT OR UPDATE OF tokens';
for my $index ('', 'USING gin (tokens int4_similarity_ops (threshold = 0.6))')
{
	my $indexed = $index ? 'indexed_' : '';
	my $refused = "${indexed}refused";
	make_table($refused, $index && "CREATE INDEX ON $refused $index",
		"CREATE CONSTRAINT TRIGGER t AFTER $event ON $refused FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.6)");
	like(write_all($refused), qr/^23P01\|/m, "$refused: similar rows are refused");
	is(similar_pairs($refused, 'true'), 0, "$refused: no two similar rows got in");
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM $refused"), '>', 220, "$refused: rows got in");

	my $marked = "${indexed}marked";
	make_table($marked, $index && "CREATE INDEX ON $marked $index",
		"CREATE TRIGGER m BEFORE $event ON $marked FOR EACH ROW EXECUTE FUNCTION mark_similar('tokens', 0.6, 'duplicate')",
		"CREATE CONSTRAINT TRIGGER t AFTER $event, duplicate ON $marked FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.6, 'jaccard', 'duplicate')");
	write_all($marked);
	is(similar_pairs($marked, 'NOT a.duplicate AND NOT b.duplicate'), 0, "$marked: no two similar rows are unmarked");
	is($node->safe_psql('postgres', "SELECT count(*) > 20 FROM $marked WHERE duplicate"), 't', "$marked: rows are marked");
}

# A row that is moved to a page that a check has passed, by a change that the trigger does not look at. The first page has room
# for it. Reading the sets in between takes a second.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE moved (id int, tokens int[], note text);
	ALTER TABLE moved ALTER note SET STORAGE plain, ALTER tokens SET STORAGE external;
	INSERT INTO moved VALUES (1, NULL, repeat('x', 8000));
	INSERT INTO moved SELECT 2, big, repeat('x', 7000) FROM (SELECT array_agg((random() * 1e9)::int) AS big FROM generate_series(1, 200000)) b, generate_series(1, 60);
	INSERT INTO moved VALUES (3, NULL, repeat('x', 6000)), (4, '{1,2,3,4}', repeat('x', 2000)), (5, NULL, repeat('x', 7500));
	DELETE FROM moved WHERE id = 1;
	VACUUM moved;
	CREATE CONSTRAINT TRIGGER t AFTER INSERT OR UPDATE OF tokens ON moved FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.6);
});
my $insert = q{INSERT INTO moved VALUES (6, '{1,2,3,5}')};
my $running = qq{SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'INSERT INTO moved%'};
my $page = q{SELECT (ctid::text::point)[0] FROM moved WHERE id = 4};
cmp_ok($node->safe_psql('postgres', $page), '>', 0, 'the row is in a later page');
my $stderr = '';
my $writer = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', $insert ], '<', \undef, '2>', \$stderr, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
ok($node->poll_query_until('postgres', $running), 'a check runs');
$node->safe_psql('postgres', q{UPDATE moved SET note = repeat('y', 2000) WHERE id = 4});
is($node->safe_psql('postgres', $page), 0, 'the row is in the first page now');
is($node->safe_psql('postgres', $running), 't', 'the check still runs');
$writer->finish;
like($stderr, qr/violates "t": it is similar to another row/, 'the check finds the row');

my $session = $node->background_psql('postgres', on_error_stop => 0);
takes_little_time_to_cancel($session, 'a check', $insert, 0.1, 0.6);
$session->quit;

stop_unharmed($node);
done_testing();
