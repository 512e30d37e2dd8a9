# pg_upgrade keeps what a database has of the extension: columns, indexes, triggers, dedup views with their keys and with the
# changes that they have noted, streams, routes, and settings. All of it goes on as if the server had stayed.
# test/tools/upgrade-check names the programs of an older PostgreSQL that has the extension, too.
use strict;
use warnings;

use Cwd;
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use KeptObjects;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $old_bindir = $ENV{OLD_BINDIR};
plan skip_all => 'no older PostgreSQL is given: make upgrade-check does that' unless $old_bindir;

# Since version 18, initdb switches checksums on.
my ($new_major) = `postgres --version` =~ /(\d+)/;
my @no_checksums = $new_major >= 18 ? ('--no-data-checksums') : ();

my $old = PostgreSQL::Test::Cluster->new('old', install_path => dirname($old_bindir));
$old->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$old->append_conf('postgresql.conf', join("\n", 'fsync = off', 'autovacuum = off', 'shared_preload_libraries = simjoin', ''));
$old->start;
note $old->safe_psql('postgres', 'SELECT version()');

# What 0.2.0 has that 0.1.0 does not, and changes that no refresh has seen.
my $more = q{
	SELECT create_similarity_index('texts', 'tokens', 0.8);
	SELECT create_similarity_route('texts', 'id', 'tokens', 0.8, 4);
	CREATE TABLE queries AS SELECT 1 AS id, similarity_query('{1,2,3}'::int[], 0.5) AS q;
	CREATE TABLE notes (id int PRIMARY KEY, tokens int[]);
	INSERT INTO notes VALUES (1, '{1,2,3,4,5,6,7,8,9,10}');
	SELECT create_similarity_index('notes', 'tokens', 0.8);
	CREATE CONSTRAINT TRIGGER no_near_duplicates AFTER INSERT OR UPDATE OF tokens ON notes
	FOR EACH ROW EXECUTE FUNCTION refuse_similar('tokens', 0.8);
	SELECT create_dedup_view('keyed', 'SELECT md5(id::text)::uuid AS id, tokens FROM texts', 0.7, max_group_share => 1);
	SELECT create_dedup_view('weighted', 'SELECT id, tokens, ARRAY(SELECT (3 + token % 3)::real FROM unnest(tokens) token) FROM texts', 0.7, 'weighted_jaccard',
		max_group_share => 1);
	INSERT INTO texts (id, body) SELECT id + 20000, body || '?' FROM texts WHERE id % 30 = 0;
	DELETE FROM texts WHERE id % 70 = 2;
};
my $all_contents = "$contents;\n" . join(
	";\n",
	q{SELECT 'pairs by route', count(*), md5(string_agg(p::text, ' ' ORDER BY p::text)) FROM texts_pairs p},
	q{SELECT 'keyed', count(*), md5(string_agg(k::text, ' ' ORDER BY k::text)) FROM keyed k},
	q{SELECT 'weighted', count(*), md5(string_agg(w::text, ' ' ORDER BY w::text)) FROM weighted w},
	'SELECT count(*) FROM queries WHERE q::text = similarity_query(\'{1,2,3}\'::int[], 0.5)::text',
	'SET enable_seqscan = off',
	q{SELECT t.id, (SELECT count(*) FROM texts s WHERE jaccard_similarity(s.tokens, t.tokens) >= 0.8) FROM
	(SELECT id, tokens FROM texts WHERE id % 40 = 1 OFFSET 0) t ORDER BY t.id});
my $go_on = join('; ', "$change $refresh",
	map { "SELECT new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('$_')" } qw(keyed weighted));
my $checked = q{SELECT indexrelid::regclass, similarity_index_check(indexrelid) FROM pg_index
	WHERE indclass[0] IN (SELECT oid FROM pg_opclass WHERE opcname = 'int4_similarity_ops') ORDER BY 1};

$old->safe_psql('postgres', 'CREATE ROLE maker');
$old->safe_psql('postgres', 'LOAD $$simjoin$$; ALTER ROLE maker SET simjoin.memory_limit = $$99MB$$');
for my $database (qw(of_old_script kept))
{
	my $version = $database eq 'kept' ? '' : "VERSION '0.1.0'";
	$old->safe_psql('postgres', "CREATE DATABASE $database OWNER maker");
	$old->safe_psql($database, "GRANT ALL ON SCHEMA public TO maker; $as_maker CREATE EXTENSION simjoin $version; $make");
}
$old->safe_psql('kept', "$as_maker $more");
my $old_contents = $old->safe_psql('of_old_script', "$as_maker $contents");
my $old_checked = $old->safe_psql('kept', $checked);
is(scalar(() = $old_checked =~ /\|/g), 2, 'there are two indexes on sets');
my $kept_contents = $old->safe_psql('kept', "$as_maker $all_contents");
like($kept_contents, qr/^near\|\d\d+\|.*^stream\|\d\d+\|/ms, 'there are near-duplicates and clusters');

# What would have happened if the server had stayed.
$old->safe_psql('postgres', 'CREATE DATABASE stays TEMPLATE kept');
my $refreshed = $old->safe_psql('stays', "$as_maker $go_on; $all_contents");
$old->safe_psql('postgres', 'DROP DATABASE stays');
$old->safe_psql('postgres', 'CREATE DATABASE dropped TEMPLATE kept');
$old->stop;

my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => [ '--locale=C', '--encoding=UTF8', @no_checksums ]);
my @upgrade = (
	'pg_upgrade', '--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
	'--old-bindir', $old_bindir, '--new-bindir', $new->config_data('--bindir'),
	'--socketdir', $new->host, '--old-port', $old->port, '--new-port', $new->port);
my $folder = getcwd();
chdir $PostgreSQL::Test::Utils::tmp_check or die "cannot enter the folder for logs: $!";
command_ok(\@upgrade, 'pg_upgrade');
chdir $folder or die "cannot go back: $!";
$new->append_conf('postgresql.conf', join("\n", 'fsync = off', 'autovacuum = off', 'shared_preload_libraries = simjoin', ''));
$new->start;
note $new->safe_psql('postgres', 'SELECT version()');

is($new->safe_psql('kept', "$as_maker $all_contents"), $kept_contents, 'all contents are as before');
is($new->safe_psql('kept', $checked), $old_checked, 'indexes are in order');
like($new->safe_psql('kept', 'EXPLAIN SELECT * FROM near'), qr/SetSimilarityJoin/, 'the join is planned without statistics');
like($new->safe_psql('kept', q{SET enable_seqscan = off; EXPLAIN SELECT FROM texts WHERE jaccard_similarity(tokens, '{1,2,3}') >= 0.8}),
	qr/Bitmap Index Scan on texts_/, 'the index is used');
is($new->safe_psql('postgres', q{SELECT setconfig FROM pg_db_role_setting JOIN pg_roles r ON r.oid = setrole WHERE rolname = 'maker'}),
	'{simjoin.memory_limit=99MB}', 'settings of roles stay');
is($new->safe_psql('kept', "$as_maker $go_on; $all_contents"), $refreshed, 'views and streams go on as if nothing had been');
is($new->safe_psql('kept', "$as_maker SELECT count(*) FROM ($differences) d"), 0, 'refreshed views have the groups of all rows');
my ($status, $out, $error) = $new->psql('kept', q{INSERT INTO notes VALUES (2, '{1,2,3,4,5,6,7,8,11,12}')});
is($status, 0, 'a row that is not similar enough is stored');
($status, $out, $error) = $new->psql('kept', q{INSERT INTO notes VALUES (3, '{1,2,3,4,5,6,7,8,9,10,12}')});
like($error, qr/violates "no_near_duplicates"/, 'a similar row is refused');

my $parts = q{SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind IN ('r', 'v', 'm') AND relname ~ '^(groups|tracked|stars|keyed|weighted)'};
$new->safe_psql('kept', "$as_maker DROP MATERIALIZED VIEW groups, tracked, stars, keyed, weighted");
is($new->safe_psql('kept', $parts), '', 'a refresh has tied the parts to their views again');

# Views that no refresh has seen since the upgrade go with their parts, too, by the function.
$new->safe_psql('dropped', "$as_maker SELECT drop_dedup_view(v) FROM unnest('{groups,tracked,stars,keyed,weighted}'::text[]) v");
is($new->safe_psql('dropped', $parts), '', 'a view is dropped with its parts before its first refresh');
is($new->safe_psql('dropped', q{SELECT count(*) FROM pg_trigger WHERE tgrelid = 'texts'::regclass}), 0, 'and with its triggers');

# A database with the objects of an older script updates then.
is($new->safe_psql('of_old_script', "$as_maker $contents"), $old_contents, 'contents of an older script are as before');
$new->safe_psql('of_old_script', 'ALTER EXTENSION simjoin UPDATE');
$new->safe_psql('of_old_script', "$as_maker $change $refresh");
is($new->safe_psql('of_old_script', "$as_maker SELECT count(*) FROM ($differences) d"), 0, 'and are updated');

stop_unharmed($new);
done_testing();
