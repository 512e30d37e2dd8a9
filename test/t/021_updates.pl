# A new installation runs one script, an update gives what it gives, and what was made with an old version stays and goes on.
use strict;
use warnings;

use Digest::SHA;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use KeptObjects;
use Simjoin;
use Test::More;

# A database has what the script of its version made. If a script of a released version changed, databases of one version
# would differ, and an update could not bring them to the same state. A new object stands in the script to the next version, and
# in that of new installations. When a version is released, its script for updates and the hash are added here.
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

ok(-f "$top/sql/simjoin--$current.sql", 'a new installation needs one script');

my $node = start_node('updates');
is($node->safe_psql('postgres', 'SELECT simjoin_version()'), $current, 'the library has the version of simjoin.control');

# Everything that the catalog says of the extension's members, without object identifiers, one a line. pg_operator and the
# like name other objects by types that print names.
my %catalogs = (
	pg_proc => q{oid::regprocedure, CASE WHEN prokind <> 'a' THEN pg_get_functiondef(oid) END, proacl, prosupport::regproc, proleakproof,
		(SELECT row(aggtransfn::regproc, aggfinalfn::regproc, aggcombinefn::regproc, aggserialfn::regproc, aggdeserialfn::regproc,
			aggtranstype::regtype, agginitval) FROM pg_aggregate WHERE aggfnoid = c.oid)},
	pg_type => q{format_type(oid, NULL), typlen, typbyval, typtype, typcategory, typalign, typstorage, typinput::regproc,
		typoutput::regproc, typreceive::regproc, typsend::regproc, typmodin::regproc, typmodout::regproc, typanalyze::regproc,
		typarray::regtype, typdefault, typacl},
	pg_class => q{oid::regclass, relkind, pg_get_viewdef(oid), relacl, reloptions},
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
	q{SELECT 'first rights', pg_describe_object(classoid, objoid, i.objsubid), initprivs::text FROM pg_init_privs i JOIN pg_depend d
	ON d.classid = classoid AND d.objid = objoid AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simjoin')},
	map { qq{SELECT '$_', (SELECT row($catalogs{$_}))::text, '' FROM $_ c JOIN pg_depend d
		ON d.classid = '$_'::regclass AND d.objid = c.oid AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simjoin')} } sort keys %catalogs);
my $catalog = qq{SELECT * FROM ($members) m (kind, object, comment) ORDER BY kind, object COLLATE "C"};
my $installed = $node->safe_psql('postgres', $catalog);
cmp_ok(scalar(() = $installed =~ /^member\|function .*\|\S/mg), '>', 100, 'functions are compared, with their comments');
cmp_ok(scalar(() = $installed =~ /^pg_operator\|/mg), '>', 15, 'operators are compared');
like($installed, qr/^pg_cast\|\(minhash,bytea/m, 'casts are compared');
like($installed, qr/^pg_class\|\(simjoin_stat_activity,v,.*SELECT p\.pid/m, 'views are compared');
like($installed, qr/^first rights\|function simjoin_stat_reset\(\)\|\S/m, 'rights are compared');
like($installed, qr/^pg_opclass\|\(gin,int4_similarity_ops,integer\[\],f,integer\)/m, 'operator classes are compared');

$node->safe_psql('postgres', 'CREATE ROLE maker');
$node->safe_psql('postgres', "CREATE DATABASE fresh OWNER maker");
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
	is($node->safe_psql($database, q{SELECT count(*) FROM tf_idf('SELECT id, tokens FROM texts', NULL::int[], 3)}),
		$node->safe_psql($database, 'SELECT count(*) FROM texts'), "$version: a symbol that only old scripts name answers");
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
$node->safe_psql('postgres', q{CREATE DATABASE new_in_old_library});
($status, $stdout, $stderr) = $node->psql(
	'new_in_old_library', q{
	\set VERBOSITY verbose
	CREATE FUNCTION older() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF simjoin_version() <> '0.1.0' THEN
			CREATE OR REPLACE FUNCTION simjoin_version() RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN '0.1.0';
		END IF;
	END $$;
	CREATE EVENT TRIGGER older ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION older();
	CREATE EXTENSION simjoin;
});
like($stderr, qr/ERROR:  55000: this session has loaded the library of simjoin 0\.1\.0.*HINT:  Install.*connect again/s,
	'so does a new installation');

stop_unharmed($node);
done_testing();
