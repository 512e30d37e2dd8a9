# An index on sets while rows are written beside it: after crashes, on a standby, and in a restored dump it finds what a
# scan finds.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run qw(start);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('indexed', 'wal_level = replica', 'max_wal_senders = 5', 'gin_pending_list_limit = 64kB',
	'autovacuum_naptime = 1s', 'restart_after_crash = off');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE docs (id bigserial PRIMARY KEY, tokens int[]);
	INSERT INTO docs (tokens) SELECT ARRAY(SELECT (i * 31 + j * j * (1 + i % 17)) % 5000 FROM generate_series(1, 15 + i % 9) j)
	FROM generate_series(1, 3000) i;
	SELECT create_similarity_index('docs', 'tokens', 0.5);
	CREATE INDEX CONCURRENTLY docs_unbuffered ON docs USING gin (tokens int4_similarity_ops (threshold = 0.6)) WITH (fastupdate = off);
	ANALYZE docs;
	CREATE FUNCTION write_some(writer int, steps int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. steps LOOP
			INSERT INTO docs (tokens) SELECT tokens || (writer * 1000 + i) FROM docs WHERE id = (writer * 977 + i * 31) % 3000 + 1;
			UPDATE docs SET tokens = tokens[2:] WHERE id = (writer * 7 + i * 13) % 3000 + 1 AND cardinality(tokens) > 5;
			DELETE FROM docs WHERE id = (writer * 11 + i * 17) % 3000 + 1 AND i % 5 = 0;
		END LOOP;
	END $$;
});

# For some sets, how many rows each index finds that a scan does not find, or the other way round; and how many it finds.
my $check = q{
	SET max_parallel_workers_per_gather = 0;
	SET enable_seqscan = off;
	CREATE TEMP TABLE by_index AS SELECT a.id AS a, b.id AS b FROM (SELECT * FROM docs WHERE id % 13 = 1) a,
		LATERAL (SELECT id FROM docs b WHERE jaccard_similarity(a.tokens, b.tokens) >= THRESHOLD OFFSET 0) b;
	SET enable_seqscan = on; SET enable_bitmapscan = off;
	CREATE TEMP TABLE by_scan AS SELECT a.id AS a, b.id AS b FROM (SELECT * FROM docs WHERE id % 13 = 1) a,
		LATERAL (SELECT id FROM docs b WHERE jaccard_similarity(a.tokens, b.tokens) >= THRESHOLD OFFSET 0) b;
	SELECT (SELECT count(*) FROM (TABLE by_index EXCEPT TABLE by_scan) d) + (SELECT count(*) FROM (TABLE by_scan EXCEPT TABLE by_index) d),
		(SELECT count(*) > 0 FROM by_index WHERE a <> b);
};
(my $check_on_standby = $check) =~ s/CREATE TEMP TABLE (\w+) AS (.*?);/SELECT count(*), md5(coalesce(string_agg(a || ' ' || b, ',' ORDER BY a, b), '')) FROM ($2) q;/sg;
$check_on_standby =~ s/SELECT \(SELECT count\(\*\) FROM \(TABLE.*//s;

my $check_indexes = q{SELECT count(similarity_index_check(i)) FROM unnest('{docs_similarity_idx, docs_unbuffered}'::regclass[]) i};

sub finds_what_a_scan_finds
{
	my ($where, $database, $what) = @_;
	is($where->safe_psql($database, $check_indexes), 2, "$what: the indexes are sound");
	for my $threshold (0.5, 0.8)
	{
		(my $query = $check) =~ s/THRESHOLD/$threshold/g;
		is($where->safe_psql($database, $query), '0|t', "$what: rows at $threshold");
	}
	return;
}

my $plan = $node->safe_psql('postgres', q{EXPLAIN SELECT id FROM docs WHERE jaccard_similarity(tokens, '{1,2,3}') >= 0.8});
like($plan, qr/Bitmap Index Scan/, 'the index is used');
$node->safe_psql('postgres', 'SELECT write_some(1, 300)');
finds_what_a_scan_finds($node, 'postgres', 'at first');

for my $round (1 .. 3)
{
	my @writers = map { start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', '-' ],
		'<', \("SELECT write_some($_, 50);\n" x 1000), '>', '/dev/null', '2>', '/dev/null') } 1 .. 3;
	$node->safe_psql('postgres', 'SELECT write_some(9, 100)');
	is($node->safe_psql('postgres', "$check_indexes; VACUUM docs"), 2, "beside writers the indexes are sound ($_)") for 1 .. 5;
	$node->stop('immediate');
	$_->finish for @writers;
	$node->start;
	$node->safe_psql('postgres', "SELECT write_some($round + 20, 200)");
	finds_what_a_scan_finds($node, 'postgres', "after crash $round");
}
$node->safe_psql('postgres', 'VACUUM docs');
finds_what_a_scan_finds($node, 'postgres', 'after VACUUM');
$node->safe_psql('postgres', 'REINDEX TABLE CONCURRENTLY docs');
finds_what_a_scan_finds($node, 'postgres', 'after REINDEX CONCURRENTLY');

SKIP:
{
	skip 'pg_basebackup is missing', 1 unless has_programs('pg_basebackup');
	$node->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	$node->safe_psql('postgres', 'SELECT write_some(50, 300)');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
	for my $threshold (0.5, 0.8)
	{
		(my $query = $check_on_standby) =~ s/THRESHOLD/$threshold/g;
		my ($by_index, $by_scan) = split(/\n/, $standby->safe_psql('postgres', $query));
		is($by_index, $by_scan, "on a standby: rows at $threshold");
	}
	is($standby->safe_psql('postgres', $check_indexes), 2, 'on a standby the indexes are sound');
	$standby->stop;
}

SKIP:
{
	skip 'pg_dump or pg_restore is missing', 1 unless has_programs('pg_dump', 'pg_restore');
	my $file = $node->basedir . '/dump';
	$node->command_ok([ 'pg_dump', '--format', 'custom', '--file', $file, $node->connstr('postgres') ], 'dump');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $file ], 'restore');
	finds_what_a_scan_finds($node, 'restored', 'restored');
	is($node->safe_psql('restored', q{SELECT count(*) FROM pg_indexes WHERE indexdef ~ 'similarity_ops .*threshold'}), 2,
		'both indexes are restored with their parameters');
}

stop_unharmed($node);
done_testing();
