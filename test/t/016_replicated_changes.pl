# Dedup views over tables that logical replication fills. Replication runs no statement triggers.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('replicated', 'wal_level = logical', 'max_wal_senders = 10', 'max_replication_slots = 10');
my $table = 'CREATE TABLE docs (id int PRIMARY KEY, tokens int[])';
$node->safe_psql('postgres', $table);
$node->safe_psql('postgres', q{INSERT INTO docs SELECT i, ARRAY[i / 2, i / 2 + 1, i / 2 + 2] FROM generate_series(1, 50) i;
	CREATE PUBLICATION docs FOR TABLE docs});
$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('docs', 'pgoutput')});
$node->safe_psql('postgres', 'CREATE DATABASE subscriber');
$node->safe_psql('subscriber', "CREATE EXTENSION simjoin; $table;");
$node->safe_psql('subscriber', q{SELECT create_dedup_view('doc_groups', 'SELECT id, tokens FROM docs', 0.9, track_changes => true)});
# The slot is made beforehand, because a subscription in the same cluster would wait for itself.
my $publisher = $node->connstr('postgres');
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION docs CONNECTION \$\$$publisher\$\$ PUBLICATION docs WITH (create_slot = false, slot_name = 'docs')");

my $differences = q{SELECT count(*) FROM doc_groups v FULL JOIN duplicate_groups('SELECT id, tokens FROM docs', 0.9) d USING (id, group_id)
	WHERE v.similarity IS DISTINCT FROM d.similarity OR v.is_representative IS DISTINCT FROM d.is_representative};

# Waits until the copy is equal, and refreshes. The groups are right because the changes were recorded.
sub arrives
{
	my ($what, $noted) = @_;
	my $contents = q{SELECT md5(coalesce(string_agg(d::text, ' ' ORDER BY id), '')) FROM docs d};
	my $wanted = $node->safe_psql('postgres', $contents);
	ok($node->poll_query_until('subscriber', qq{SELECT ($contents) = '$wanted'}), "$what arrives");
	is( $node->safe_psql('subscriber', 'SELECT coalesce(sum(last_id - first_id + 1)::text, $$all$$) FROM doc_groups_changes'),
		$noted, "$what is written down");
	$node->safe_psql('subscriber', q{SELECT refresh_dedup_view('doc_groups')});
	is($node->safe_psql('subscriber', $differences), 0, "after $what a refresh gives the groups of a full rebuild");
}

arrives('the first copy', 50);
$node->safe_psql('postgres', 'INSERT INTO docs SELECT i, ARRAY[7, 8, 9] FROM generate_series(101, 110) i');
arrives('INSERT', 10);
$node->safe_psql('postgres', 'UPDATE docs SET tokens = ARRAY[1, 2, 3] WHERE id IN (20, 30)');
arrives('UPDATE', 2);
$node->safe_psql('postgres', 'UPDATE docs SET id = 200 WHERE id = 101');
arrives('UPDATE of an id', 2);
$node->safe_psql('postgres', 'DELETE FROM docs WHERE id < 10');
arrives('DELETE', 9);
$node->safe_psql('postgres', 'TRUNCATE docs');
arrives('TRUNCATE', 'all');
$node->safe_psql('subscriber', 'DROP SUBSCRIPTION docs');

stop_unharmed($node);
done_testing();
