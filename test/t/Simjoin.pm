# What the TAP tests share: a server with simjoin, collections, and looks into a backend's process.
package Simjoin;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(start_node fill_sets stop_unharmed);

# Returns a running server with simjoin in the database postgres; more arguments are lines of its configuration.
sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', join("\n", 'fsync = off', 'autovacuum = off', @settings, ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION simjoin');
	return $node;
}

# Makes the table sets (id int, tokens int[]): `rows` sets of up to `size` tokens below `universe`, every tenth a
# near copy of the one before it. The same on every run.
sub fill_sets
{
	my ($node, $rows, $size, $universe) = @_;
	$node->safe_psql(
		'postgres', qq{
		CREATE TABLE sets (id int, tokens int[]);
		SELECT setseed(0.42);
		INSERT INTO sets
		SELECT id, ARRAY(SELECT (random() * $universe)::int FROM generate_series(1, $size) WHERE id IS NOT NULL)
		FROM generate_series(1, $rows) id;
		UPDATE sets SET tokens = before.tokens[2:] FROM sets before
		WHERE sets.id % 10 = 0 AND before.id = sets.id - 1;
		VACUUM ANALYZE sets;
	});
	return;
}

# Stops the server and checks that no backend crashed while it ran.
sub stop_unharmed
{
	my ($node) = @_;
	$node->stop;
	unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal|TRAP:/, 'no backend crashed');
	return;
}

1;
