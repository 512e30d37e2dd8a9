# A merge beside writers loses no row and no reference, and one that is killed leaves nothing behind. A journal in a dump undoes the
# merge in the restored database.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('merge', 'restart_after_crash = on');
my $tables = q{
	CREATE TABLE companies (id int PRIMARY KEY, name text);
	CREATE TABLE orders (id int PRIMARY KEY, company int NOT NULL REFERENCES companies);
	CREATE TABLE notes (company int REFERENCES companies, body text);
	INSERT INTO companies SELECT i, 'company ' || i FROM generate_series(0, 999) i;
	INSERT INTO orders SELECT i, i % 1000 FROM generate_series(1, 3000) i;
	INSERT INTO notes SELECT i % 1000, 'note ' || i / 1500 FROM generate_series(1, 3000) i;
	CREATE VIEW groups AS SELECT id, id / 5 * 5 AS survivor FROM companies;
};
$node->safe_psql('postgres', $tables);
my $contents = q{
	SELECT md5(string_agg(c::text, ' ' ORDER BY id)) FROM companies c;
	SELECT md5(string_agg(o::text, ' ' ORDER BY id)) FROM orders o;
	SELECT md5(string_agg(n::text, ' ' ORDER BY n::text)) FROM notes n;
	SELECT count(*) FROM pg_class WHERE relname LIKE 'companies_merge%';
};
my $before = $node->safe_psql('postgres', $contents);
my $merge = q{SELECT FROM merge_duplicates('groups', 'companies', '{"name": "max"}')};

# The trigger holds the merge at a point where references are redirected and rows deleted.
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(43); RETURN NEW; END $$;
	CREATE TRIGGER hold BEFORE UPDATE ON companies FOR EACH ROW EXECUTE FUNCTION hold();
});
my $holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query_safe('SELECT pg_advisory_lock(43)');

sub start_merge
{
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $merge ], '>', \$out, '2>', \$err);
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%merge_duplicates%' AND wait_event = 'advisory'}),
		'a merge is held in its middle');
	return ($session, \$err);
}

my ($victim) = start_merge();
my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE '%merge_duplicates%' AND wait_event = 'advisory'});
is(kill('KILL', $pid), 1, 'it is killed');
eval { $victim->finish };
eval { $holder->quit };
ok($node->poll_query_until('postgres', 'SELECT true', 't'), 'the server recovers');
is($node->safe_psql('postgres', $contents), $before, 'nothing of the merge is left');

# Writers wait for the merge. What they then write is kept, or an error of a foreign key.
$holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query_safe('SELECT pg_advisory_lock(43)');
my ($merging, $merge_errors) = start_merge();
my @writers;
for my $statement (
	'INSERT INTO orders VALUES (5000, 5)',
	'INSERT INTO orders VALUES (5001, 6)',
	'UPDATE orders SET company = 7 WHERE id = 1',
	"INSERT INTO notes VALUES (8, 'new')")
{
	my %writer = (statement => $statement, errors => '');
	$writer{session} = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres'), '-c', $statement ], '2>', \$writer{errors});
	push @writers, \%writer;
}
ok($node->poll_query_until('postgres', q{SELECT count(*) = 4 FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'}),
	'four writers wait');
is($node->safe_psql('postgres', 'SELECT count(*) FROM companies'), 1000, 'a reader does not');
$holder->query_safe('SELECT pg_advisory_unlock(43)');
$merging->finish;
is($$merge_errors, '', 'the merge succeeds');
$_->{session}->finish for @writers;
is($writers[0]{errors}, '', 'a new reference to a survivor is written');
like($writers[$_]{errors}, qr/violates foreign key constraint/, "not written: $writers[$_]{statement}") for 1 .. 3;
is( $node->safe_psql(
		'postgres', q{
	SELECT count(*) FROM companies;
	SELECT count(*), count(*) FILTER (WHERE company % 5 = 0) FROM orders;
	SELECT count(*), count(*) FILTER (WHERE company % 5 = 0) FROM notes}),
	"200\n3001|3001\n3000|3000", 'no reference is lost');
$holder->quit;

SKIP:
{
	skip 'pg_dump is missing', 2 unless has_programs('pg_dump');
	$node->safe_psql('postgres', 'DELETE FROM orders WHERE id = 5000; DROP TRIGGER hold ON companies');
	my $dump = $node->basedir . '/dump.sql';
	command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'the journal is dumped');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->psql('restored', "\\i $dump");
	$node->safe_psql('restored', q{SELECT FROM undo_merge('companies_merge'); SELECT drop_merge_journal('companies_merge')});
	is($node->safe_psql('restored', $contents), $before, 'and undone where it was restored');
}

# A session with an old snapshot knows the foreign keys of now. Else a new one would cascade, and one without its column crash.
$node->safe_psql('postgres', 'CREATE DATABASE altered');
$node->safe_psql('altered',
	"CREATE EXTENSION simjoin; $tables CREATE TABLE pages (company int); INSERT INTO pages SELECT * FROM generate_series(0, 999)");
my $old = $node->background_psql('altered', on_error_stop => 0);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_am');
$node->safe_psql(
	'altered', q{
	ALTER TABLE pages ADD FOREIGN KEY (company) REFERENCES companies ON DELETE CASCADE;
	ALTER TABLE notes DROP COLUMN company;
});
is($old->query_safe(q{SELECT * FROM merge_counts('groups', 'companies')}),
	"companies|800|0\norders|0|2400\npages|0|800", 'counts with an old snapshot are of the foreign keys of now');
$old->query_safe("$merge; COMMIT");
is($node->safe_psql('altered', 'SELECT count(*), count(*) FILTER (WHERE company % 5 = 0) FROM pages'),
	'1000|1000', 'a foreign key since the snapshot is redirected');
$old->quit;

SKIP:
{
	my $no_case = q{CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)};
	skip 'ICU is missing', 4 if $node->psql('altered', $no_case) != 0;
	$node->safe_psql(
		'altered', q{
		CREATE TABLE firms (id int PRIMARY KEY);
		CREATE TABLE labels (firm int REFERENCES firms, label text);
		CREATE UNIQUE INDEX ON labels (firm, label COLLATE no_case);
		INSERT INTO firms VALUES (1), (2);
		INSERT INTO labels VALUES (1, 'x'), (2, 'X');
		SELECT FROM merge_duplicates('VALUES (2, 1)', 'firms', on_conflict => 'delete');
	});
	is($node->safe_psql('altered', 'TABLE labels'), '1|x', 'conflicts are those of the collation of the index');

	$node->safe_psql(
		'altered', q{
		CREATE TABLE marks (mark text COLLATE no_case NOT NULL);
		CREATE UNIQUE INDEX ON marks (mark COLLATE "C");
		INSERT INTO marks VALUES ('A'), ('a'), ('S');
	});
	my (undef, undef, $two_rows) = $node->psql('altered', q{SELECT merge_duplicates('VALUES (''S'', ''A'')', 'marks', id => 'mark')});
	like($two_rows, qr/no unique index identifies the rows of public.marks/, 'an index of another collation than its column is no key');

	my $other_index = q{CREATE TABLE tickets (mark text COLLATE no_case REFERENCES marks (mark) ON DELETE CASCADE)};
	SKIP:
	{
		skip 'this PostgreSQL has no such foreign keys', 1 if $node->psql('altered', $other_index) != 0;
		$node->safe_psql('altered', q{INSERT INTO tickets VALUES ('a'); ALTER TABLE marks ADD id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY});
		my (undef, undef, $stays) = $node->psql('altered', q{SELECT merge_duplicates('VALUES (1, 3)', 'marks')});
		like($stays, qr/"tickets_mark_fkey" of public.tickets has an index of another collation/, 'nor does it tell references to two rows apart');
	}

	my $mixed = q{
		CREATE TABLE letters (letter text PRIMARY KEY);
		CREATE TABLE words (letter text COLLATE no_case REFERENCES letters ON DELETE CASCADE)};
	skip 'PostgreSQL 18 has no such foreign keys', 1 if $node->psql('altered', $mixed) != 0;
	$node->safe_psql('altered', q{INSERT INTO letters VALUES ('a'), ('A'), ('b'); INSERT INTO words VALUES ('a')});
	my ($result, $out, $err) = $node->psql('altered', q{SELECT merge_duplicates('VALUES (''A'', ''b'')', 'letters')});
	like($err, qr/"words_letter_fkey" of public.words has a nondeterministic collation of its own/,
		'rows that equal references to a duplicate are not deleted with it');
}

# Another table gets the name of one that a call waits for. The call does not take the one for the other.
sub swapped
{
	my ($table, $call) = @_;
	$node->safe_psql(
		'altered', q{
		DROP TABLE IF EXISTS cars, old_cars, drivers, old_drivers;
		CREATE TABLE drivers (id int PRIMARY KEY);
		CREATE TABLE cars (driver int REFERENCES drivers ON DELETE CASCADE);
		INSERT INTO drivers VALUES (1), (2);
	});
	my $swap = $node->background_psql('altered', on_error_stop => 0);
	$swap->query_safe("BEGIN; ALTER TABLE $table RENAME TO old_$table; CREATE TABLE $table (LIKE old_$table)");
	my ($out, $err) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('altered'), '-c', $call ], '>', \$out, '2>', \$err);
	ok($node->poll_query_until('altered', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}), "a call waits for $table");
	$swap->query_safe('COMMIT');
	$session->finish;
	$swap->quit;
	return $out . $err;
}
like(swapped('cars', q{SELECT merge_duplicates('VALUES (2, 1)', 'drivers')}), qr/cars has been renamed meanwhile/, 'a referencing table is locked itself');
like(swapped('drivers', q{SELECT merge_duplicates('VALUES (2, 1)', 'drivers')}), qr/drivers has been renamed meanwhile/, 'and the merged one');
is(swapped('drivers', q{SELECT * FROM merge_counts('VALUES (2, 1)', 'drivers')}), "old_drivers|1|0\n", 'counts are of the table that was named');

# No statement compares all rows of groups with each other, whatever the planner knows of them.
$node->safe_psql('postgres', 'CREATE DATABASE large');
my $spent = $node->safe_psql(
	'large', q{
	CREATE EXTENSION simjoin;
	CREATE TABLE firms (id int PRIMARY KEY, name text);
	CREATE TABLE bills (id int PRIMARY KEY, firm int REFERENCES firms);
	INSERT INTO firms SELECT i, 'firm ' || i FROM generate_series(0, 19999) i;
	INSERT INTO bills SELECT i, i FROM generate_series(0, 19999) i;
	CREATE INDEX ON bills (firm);
	CREATE VIEW groups AS SELECT id, id / 5 * 5 AS survivor FROM firms;
	ANALYZE;
	CREATE FUNCTION cpu_seconds() RETURNS numeric LANGUAGE sql VOLATILE AS $$
	  SELECT (f[14]::numeric + f[15]::numeric) / 100 FROM string_to_array(pg_read_file('/proc/self/stat'), ' ') f $$;
	CREATE TABLE before AS SELECT cpu_seconds() AS seconds;
	SELECT FROM merge_counts('groups', 'firms');
	SELECT FROM merge_preview('groups', NULL::firms, '{"name": "max"}');
	SELECT FROM merge_duplicates('groups', 'firms', '{"name": "max"}');
	SELECT FROM undo_merge('firms_merge');
	SELECT cpu_seconds() - seconds FROM before;
});
$spent =~ s/^\s+//;
cmp_ok($spent, '<', 12, '20,000 rows take few CPU seconds');
$node->stop;
done_testing();
