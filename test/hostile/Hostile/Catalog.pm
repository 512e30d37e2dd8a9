# The extension's functions, operators, types and settings, read from the catalog, so that a new one is called without being
# named here.
package Hostile::Catalog;

use strict;
use warnings;

use Exporter 'import';
use Hostile::Values;

our @EXPORT = qw(read_catalog);

my $members = q{SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simjoin') AND classid = };

# Functions with their parameters: name and type of each input, and the number of inputs with defaults.
sub read_functions
{
	my ($session) = @_;
	my @functions;
	for my $line (@{ $session->rows(qq{
		SELECT p.oid::regproc, prokind, proretset, prorettype::regtype, pronargs, pronargdefaults,
			array_to_string(proargtypes::oid[]::regtype[], ','), array_to_string(proargnames, ','),
			proretset AND prorettype = 'record'::regtype AND proallargtypes IS NULL,
			regexp_replace(coalesce(pg_get_expr(proargdefaults, 0), ''), '\\s', ' ', 'g')
		FROM pg_proc p WHERE p.oid IN ($members 'pg_proc'::regclass) ORDER BY p.oid::regprocedure::text COLLATE "C"}) })
	{
		my %function;
		(@function{qw(name kind set result count defaults)}, my $types, my $names, $function{any_columns}, my $default_values) = split(/\|/, $line, -1);
		# Cut to the inputs, which come first.
		my @names = split(/,/, $names);
		@{ $function{types} } = split(/,/, $types);
		$function{names} = [ map { $names[$_] // '' } 0 .. $function{count} - 1 ];
		words($default_values =~ /'(\w+)'::text/g);
		push @functions, \%function;
	}
	return \@functions;
}

sub read_operators
{
	my ($session) = @_;
	return [ map { my %o; @o{qw(name left right)} = split(/\|/); \%o } @{ $session->rows(qq{
		SELECT format('OPERATOR(%I.%s)', n.nspname, oprname), oprleft::regtype, oprright::regtype
		FROM pg_operator o JOIN pg_namespace n ON n.oid = oprnamespace WHERE o.oid IN ($members 'pg_operator'::regclass)
		ORDER BY oprname COLLATE "C", oprleft::regtype::text COLLATE "C"}) } ];
}

sub read_settings
{
	my ($session) = @_;
	my @settings;
	for my $line (@{ $session->rows(q{SELECT name, vartype, min_val, max_val, array_to_string(enumvals, ',') FROM pg_settings
		WHERE name LIKE 'simjoin.%' ORDER BY name COLLATE "C"}) })
	{
		my %setting;
		(@setting{qw(name type low high)}, my $values) = split(/\|/, $line, -1);
		$setting{values} = [ split(/,/, $values) ];
		words(@{ $setting{values} });
		push @settings, \%setting;
	}
	return \@settings;
}

# Returns the extension's functions, operators, types and settings.
sub read_catalog
{
	my ($session) = @_;
	return {
		functions => read_functions($session),
		operators => read_operators($session),
		settings => read_settings($session),
		types => $session->rows(qq{SELECT oid::regtype FROM pg_type WHERE typtype = 'b' AND typcategory <> 'A'
			AND oid IN ($members 'pg_type'::regclass) ORDER BY 1}),
	};
}

1;
