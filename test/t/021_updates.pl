# An update of the extension gives what a new installation has, and what was made with the old one stays and goes on.
use strict;
use warnings;

use Digest::SHA;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

# A database has what the script of its version made. If a script of a released version changed, databases of one version
# would differ, and an update could not bring them to the same state. A new object stands in the script of the next version.
# When a version is released, its scripts and their hashes are added here.
my %released = ('simjoin--0.1.0.sql' => '631f605b0996f5b28e5e60a21f123feec7c2b8e96924d4b276f5cd70996b3e33',);

my $top = "$FindBin::RealBin/../..";
my ($current) = slurp_file("$top/simjoin.control") =~ /^default_version = '(.*)'$/m;
for my $path (glob("$top/sql/*.sql"))
{
	my ($script) = $path =~ m{([^/]+)$};
	next if $script =~ /--\Q$current\E\.sql$/ && !$released{$script};
	is(Digest::SHA->new(256)->addfile($path)->hexdigest, $released{$script} // 'the hash that is listed in this test',
		"$script is of a released version and must not change: what is new stands in the script to $current");
	delete $released{$script};
}
is_deeply([ keys %released ], [], 'no script of a released version is missing');

my $node = start_node('updates');
is($node->safe_psql('postgres', 'SELECT simjoin_version()'), $current, 'the library has the version of simjoin.control');

# Everything that the catalog says of the extension's members, without object identifiers, one a line. pg_operator and the
# like name other objects by types that print names.
my %catalogs = (
	pg_proc => q{oid::regprocedure, CASE WHEN prokind <> 'a' THEN pg_get_functiondef(oid) END, proacl, prosupport::regproc, proleakproof,
		(SELECT row(aggtransfn::regproc, aggfinalfn::regproc, aggcombinefn::regproc, aggserialfn::regproc, aggdeserialfn::regproc,
			aggtranstype::regtype, agginitval) FROM pg_aggregate WHERE aggfnoid = c.oid)},
	pg_type => q{format_type(oid, NULL), typlen, typbyval, typtype, typcategory, typalign, typstorage, typinput::regproc,
		typoutput::regproc, typreceive::regproc, typsend::regproc, typarray::regtype, typacl},
	pg_operator => q{oid::regoperator, oprkind, oprcanmerge, oprcanhash, oprresult::regtype, oprcom::regoperator,
		oprnegate::regoperator, oprcode::regprocedure, oprrest::regproc, oprjoin::regproc},
	pg_opclass => q{(SELECT amname FROM pg_am WHERE oid = opcmethod), opcname, opcintype::regtype, opcdefault,
		opckeytype::regtype},
	pg_cast => q{castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod},
);
my $members = join("\nUNION ALL ",
	q{SELECT 'member', pg_describe_object(classid, objid, objsubid), obj_description(objid, classid::regclass::name) FROM pg_depend
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simjoin') AND deptype = 'e'},
	q{SELECT 'operator of a class', pg_describe_object('pg_amop'::regclass, o.oid, 0), '' FROM pg_amop o JOIN pg_depend d
	ON d.classid = 'pg_opfamily'::regclass AND d.objid = amopfamily AND deptype = 'e'},
	q{SELECT 'function of a class', pg_describe_object('pg_amproc'::regclass, p.oid, 0), '' FROM pg_amproc p JOIN pg_depend d
	ON d.classid = 'pg_opfamily'::regclass AND d.objid = amprocfamily AND deptype = 'e'},
	map { qq{SELECT '$_', (SELECT row($catalogs{$_}))::text, '' FROM $_ c JOIN pg_depend d
		ON d.classid = '$_'::regclass AND d.objid = c.oid AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simjoin')} } sort keys %catalogs);
my $catalog = qq{SELECT * FROM ($members) m (kind, object, comment) ORDER BY kind, object COLLATE "C"};
my $installed = $node->safe_psql('postgres', $catalog);
cmp_ok(scalar(() = $installed =~ /^member\|function .*\|\S/mg), '>', 100, 'functions are compared, with their comments');
cmp_ok(scalar(() = $installed =~ /^pg_operator\|/mg), '>', 15, 'operators are compared');
like($installed, qr/^pg_opclass\|\(gin,int4_similarity_ops,integer\[\],f,integer\)/m, 'operator classes are compared');

# Objects of all kinds that keep something of the extension, made by a role without other rights.
my $make = q{
	CREATE TABLE texts (
		id bigint PRIMARY KEY,
		body text,
		tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED,
		signature minhash GENERATED ALWAYS AS (minhash(shingles(body), 16)) STORED);
	CREATE INDEX texts_by_hash ON texts USING hash (signature);
	CREATE INDEX texts_by_order ON texts (signature);
	CREATE INDEX texts_by_bands ON texts USING gin (minhash_bands(signature, 4, 4));
	INSERT INTO texts (id, body)
	SELECT row_number() OVER (ORDER BY objoid, classoid, objsubid), description FROM pg_description
	WHERE objoid < 16384 LIMIT 2000;
	ANALYZE texts;
	CREATE VIEW near AS SELECT a.id AS a, b.id AS b, a.tokens <%> b.tokens AS distance
	FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;
	CREATE VIEW near_by_setting AS SELECT a.id AS a, b.id AS b FROM texts a JOIN texts b ON a.id < b.id AND a.tokens ~= b.tokens;
	SELECT create_dedup_view('groups', 'SELECT id, tokens FROM texts', 0.7, max_group_share => 1);
	SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM texts', 0.7, max_group_share => 1, track_changes => true);
	SELECT create_dedup_view('stars', 'SELECT id, tokens FROM texts ORDER BY body, id', 0.7, method => 'star',
		keep => 'first_row', track_changes => true);
	CREATE TABLE bags AS SELECT * FROM tf_idf('SELECT id, regexp_split_to_array(lower(body), ''\W+'') FROM texts', 12);
	SELECT cluster_stream_create('stream');
	SELECT count(*) FROM cluster_stream('stream', 'SELECT * FROM bags WHERE id <= 1000 ORDER BY id', 0.5);
};
my $contents = join(";\n",
	(map { "SELECT '$_', count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM $_ t" }
	  qw(texts near near_by_setting groups tracked stars stream bags)),
	'SELECT count(*), count(DISTINCT t.id) FROM texts t JOIN texts s USING (signature)',
	'SELECT count(*) FROM texts WHERE minhash_bands(signature, 4, 4) && (SELECT minhash_bands(signature, 4, 4) FROM texts WHERE id = 9)');
my $change = q{
	INSERT INTO texts (id, body) SELECT id + 10000, body || '!' FROM texts WHERE id % 20 = 0;
	UPDATE texts SET body = reverse(body) WHERE id % 50 = 1;
	DELETE FROM texts WHERE id % 50 = 2;
};
my $refresh = join(";\n",
	(map { "SELECT '$_', new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('$_')" } qw(groups tracked stars)),
	q{SELECT 'stream', count(*), md5(string_agg(c::text, ' ' ORDER BY id))
	FROM cluster_stream('stream', 'SELECT * FROM bags WHERE id > 1000 ORDER BY id', 0.5) c});
# Rows of the refreshed views that differ from groups of all rows.
my $differences = join(" UNION ALL ", map {
	my ($view, $query) = @$_;
	"(SELECT * FROM (TABLE $view EXCEPT SELECT * FROM duplicate_groups($query)) v)
	UNION ALL (SELECT * FROM (SELECT * FROM duplicate_groups($query) EXCEPT TABLE $view) d)" }
	[ 'groups', q{'SELECT id, tokens FROM texts', 0.7, max_group_share => 1} ],
	[ 'tracked', q{'SELECT id, tokens FROM texts', 0.7, max_group_share => 1} ],
	[ 'stars', q{'SELECT id, tokens FROM texts ORDER BY body, id', 0.7, method => 'star', keep => 'first_row'} ]);

$node->safe_psql('postgres', 'CREATE ROLE maker');
$node->safe_psql('postgres', "CREATE DATABASE fresh OWNER maker");
my $as_maker = "SET SESSION AUTHORIZATION maker; SET simjoin.similarity_threshold = 0.85;";
$node->safe_psql('fresh', "GRANT ALL ON SCHEMA public TO maker; $as_maker CREATE EXTENSION simjoin; $make");
my $expected = $node->safe_psql('fresh', "$as_maker $contents");
like($expected, qr/^near\|\d\d+\|.*^stream\|\d\d+\|/ms, 'there are near-duplicates and clusters');
my $refreshed = $node->safe_psql('fresh', "$as_maker $change $refresh; $contents");

my @old = split(/\n/, $node->safe_psql('postgres',
	"SELECT version FROM pg_available_extension_versions WHERE name = 'simjoin' AND version <> '$current'"));
ok(scalar(@old), 'there are older versions');
for my $version (@old)
{
	(my $database = "of $version") =~ tr/. /_/;
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER maker");
	$node->safe_psql($database,
		"GRANT ALL ON SCHEMA public TO maker; $as_maker CREATE EXTENSION simjoin VERSION '$version'; $make");
	is($node->safe_psql($database, "$as_maker $contents"), $expected, "$version: the script works with the library of $current");
	like($node->safe_psql($database, 'EXPLAIN SELECT * FROM near'), qr/SetSimilarityJoin/, "$version: the join is planned");
	is($node->safe_psql($database,
			q{SELECT count(*) FROM (SELECT id FROM texts ORDER BY tokens <%> '{1,2,3}', id LIMIT 5) nearest}),
		5, "$version: the nearest sets are found");

	$node->safe_psql($database, "$as_maker ALTER EXTENSION simjoin UPDATE");
	is($node->safe_psql($database, 'SELECT extversion FROM pg_extension WHERE extname = \'simjoin\''), $current,
		"$version: updated to $current");
	is($node->safe_psql($database, $catalog), $installed, "$version: the catalog is that of a new installation");
	is($node->safe_psql($database, "$as_maker $contents"), $expected, "$version: all contents are as before");
	is($node->safe_psql($database, "$as_maker $change $refresh; $contents"), $refreshed,
		"$version: views and streams go on as those of a new installation do");
	is($node->safe_psql($database, "$as_maker SELECT count(*) FROM ($differences) d"), 0,
		"$version: refreshed views have the groups of all rows");
	is($node->safe_psql($database, "$as_maker SELECT create_similarity_index('texts', 'tokens', 0.8) IS NOT NULL"), 't',
		"$version: and what is new works");
	$node->safe_psql($database, 'DROP EXTENSION simjoin CASCADE');
	is($node->safe_psql($database, q{SELECT count(*) FROM pg_proc WHERE probin LIKE '%simjoin%'}), 0,
		"$version: the extension goes as a whole");
}

# A session that had loaded the library before another one was installed keeps it, and so a new script meets an old library.
$node->safe_psql('postgres', q{CREATE DATABASE old_library});
my ($status, $stdout, $stderr) = $node->psql(
	'old_library', q{
	\set VERBOSITY verbose
	CREATE EXTENSION simjoin VERSION '0.1.0';
	CREATE OR REPLACE FUNCTION simjoin_version() RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN '0.1.0';
	ALTER EXTENSION simjoin UPDATE;
});
like($stderr, qr/ERROR:  55000: this session has loaded the library of simjoin 0\.1\.0.*HINT:  Install.*connect again/s,
	'a library older than the script says so');
is($node->safe_psql('old_library', q{SELECT extversion FROM pg_extension WHERE extname = 'simjoin'}), '0.1.0',
	'and the extension stays as it is');

stop_unharmed($node);
done_testing();
