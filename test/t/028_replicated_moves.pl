# Rows that logical replication moves to another partition. skip_similar cannot know that, and never leaves such a row out.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_node('replicated_moves', 'wal_level = logical', 'max_wal_senders = 10', 'max_replication_slots = 10', 'wal_retrieve_retry_interval = 100ms');
my $columns = '(id int, part int, tokens int[], PRIMARY KEY (id, part))';
$node->safe_psql('postgres', "CREATE TABLE docs $columns; ALTER TABLE docs REPLICA IDENTITY FULL; CREATE PUBLICATION docs FOR TABLE docs");
$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('docs', 'pgoutput')});
$node->safe_psql('postgres', 'CREATE DATABASE subscriber');
$node->safe_psql('subscriber', "CREATE EXTENSION simjoin; CREATE TABLE docs $columns PARTITION BY LIST (part);
	CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1); CREATE TABLE docs_2 PARTITION OF docs FOR VALUES IN (2);
	CREATE TRIGGER skip BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.6);
	ALTER TABLE docs_1 ENABLE ALWAYS TRIGGER skip; ALTER TABLE docs_2 ENABLE ALWAYS TRIGGER skip");
my $publisher = $node->connstr('postgres');
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION docs CONNECTION \$\$$publisher\$\$ PUBLICATION docs WITH (create_slot = false, slot_name = 'docs')");

# Waits until the subscriber has these rows, each as id:partition.
sub arrives
{
	my ($rows, $what) = @_;
	ok($node->poll_query_until('subscriber', qq{SELECT coalesce(string_agg(id || ':' || part, ' ' ORDER BY id), '') = '$rows' FROM docs}), $what);
	return;
}

$node->safe_psql('postgres', q{INSERT INTO docs VALUES (1, 1, '{1,2,3,4}'), (2, 1, '{7,8,9}'), (3, 1, '{1,2,3}'), (4, 1, '{11,12,13}')});
arrives('1:1 2:1 4:1', 'a new row that is similar is left out');
$node->safe_psql('postgres', q{UPDATE docs SET part = 2 WHERE id = 4; BEGIN; DELETE FROM docs WHERE id = 1; INSERT INTO docs VALUES (5, 2, '{1,2,3}'); COMMIT});
arrives('2:1 4:2 5:2', 'rows that are not similar are moved, deleted and inserted');
$node->safe_psql('postgres', q{UPDATE docs SET part = 2, tokens = '{11,12,13,14}' WHERE id = 2});
my $stopped = qr/skip_similar: it is not known whether a row is new/;
for (1 .. 1800) { last if slurp_file($node->logfile) =~ $stopped; usleep(100_000); }
like(slurp_file($node->logfile), $stopped, 'a move of a row that becomes similar is an error');
arrives('2:1 4:2 5:2', 'the row is still there');
$node->safe_psql('subscriber', 'ALTER TABLE docs_1 ENABLE TRIGGER skip; ALTER TABLE docs_2 ENABLE TRIGGER skip');
arrives('2:2 4:2 5:2', 'the move arrives when the trigger does not look at it');

# A partition beside it may be foreign.
my $plain = '(id int, part int, tokens int[])';
$node->safe_psql('postgres', "CREATE TABLE more $plain; ALTER TABLE more REPLICA IDENTITY FULL; ALTER PUBLICATION docs ADD TABLE more");
$node->safe_psql('subscriber', "CREATE TABLE more $plain PARTITION BY LIST (part); CREATE TABLE more_1 PARTITION OF more FOR VALUES IN (1);
	CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
	CREATE FOREIGN TABLE more_2 PARTITION OF more FOR VALUES IN (2) SERVER nowhere;
	CREATE TRIGGER skip BEFORE INSERT ON more_1 FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.6);
	ALTER TABLE more_1 ENABLE ALWAYS TRIGGER skip");
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION docs REFRESH PUBLICATION WITH (copy_data = false)');
$node->safe_psql('postgres', q{INSERT INTO more VALUES (1, 1, '{1,2,3,4}'), (2, 1, '{1,2,3}'), (3, 1, '{7,8}')});
ok($node->poll_query_until('subscriber', q{SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') = '1 3' FROM more_1}),
	'a similar row is left out beside a foreign partition');
$node->safe_psql('subscriber', 'DROP SUBSCRIPTION docs');

stop_unharmed($node);
done_testing();
