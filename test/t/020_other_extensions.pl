# Other extensions in the same schema: names do not clash, whichever comes first, and queries are the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

# Those that have functions, operators or types on arrays, texts, sets, vectors or graphs. The first ones come with PostgreSQL.
my @others = qw(pg_trgm intarray fuzzystrmatch hstore ltree cube seg citext btree_gin btree_gist bloom unaccent dict_int
  pg_similarity smlar vector rum);

my $node = start_node('others');
my %available = map { $_ => 1 } split(/\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions'));
# Those that cannot be made even where simjoin is not are of no account.
$node->safe_psql('postgres', 'CREATE DATABASE alone');
my @found = grep { $available{$_} && $node->psql('alone', "CREATE EXTENSION $_ CASCADE") == 0 } @others;
note('with ' . join(', ', @found));
plan(skip_all => 'no other extension is available') if !@found;

my $queries = q{
	CREATE TABLE texts (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED);
	INSERT INTO texts (id, body) SELECT i, 'the text of number ' || i / 2 || ' and of number ' || i / 2 * 7 FROM generate_series(1, 100) i;
	SELECT count(*) FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.9;
	SELECT count(*) FROM texts a JOIN texts b ON a.tokens <%> b.tokens <= 0.1;
	SELECT count(*) FROM texts a JOIN texts b ON a.tokens ~= b.tokens;
	SELECT count(*) FROM texts WHERE tokens ~= shingles('the text of number 5 and of number 35');
	SELECT count(*) FROM duplicate_groups('SELECT id, tokens FROM texts', 0.9) WHERE is_representative;
	SELECT count(*) FROM connected_components('SELECT id, id + 1 FROM texts');
	SELECT round(sum(rank)::numeric, 6) FROM pagerank('SELECT id, id + 1 FROM texts');
	SELECT count(*) FROM tf_idf('SELECT id, string_to_array(body, '' '') FROM texts');
	SELECT minhash('{1,2,3}'::int[]) = minhash('{3,2,1}'::int[]), shingles('abcdef') && shingles('bcdefg');
	SELECT create_similarity_index('texts', 'tokens', 0.5);
	SELECT count(*) FROM texts WHERE jaccard_similarity(tokens, shingles('the text of number 5 and of number 35')) >= 0.8;
};
my $expected = $node->safe_psql('postgres', $queries);
like($expected, qr/^\d/, 'the queries without other extensions');

for my $order ('first', 'last')
{
	my $database = "simjoin_$order";
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION simjoin') if $order eq 'first';
	for my $other (@found)
	{
		my ($status, $out, $error) = $node->psql($database, "SET client_min_messages = error; CREATE EXTENSION $other CASCADE");
		is($error, '', "simjoin $order: $other can be made");
	}
	$node->safe_psql($database, 'CREATE EXTENSION simjoin') if $order eq 'last';
	is($node->safe_psql($database, $queries), $expected, "simjoin $order: the same queries");
}

stop_unharmed($node);
done_testing();
