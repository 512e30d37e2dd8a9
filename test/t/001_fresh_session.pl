# A session that has not called simjoin before plans the join operator, with nothing preloaded.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('fresh');
fill_sets($node, 2000, 20, 2000);
is($node->safe_psql('postgres', q{SELECT current_setting('shared_preload_libraries') ||
	current_setting('session_preload_libraries')}), '', 'nothing is preloaded');

my $operator = qr/Custom Scan \(SetSimilarityJoin\)/;
for my $clause (
	'jaccard_similarity(a.tokens, b.tokens) >= 0.8',
	'0.8 <= cosine_similarity(a.tokens, b.tokens)',
	'dice_similarity(b.tokens, a.tokens) > 0.8',
	'overlap_count(a.tokens, b.tokens) >= 15',
	'a.tokens ~= b.tokens')
{
	# Each psql is a session of its own.
	like(
		$node->safe_psql(
			'postgres', "EXPLAIN (COSTS OFF) SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND $clause"),
		$operator,
		"first statement of a session: $clause");
}

# A setting can be changed before the library is loaded, and is checked when the library is loaded.
is( $node->safe_psql(
		'postgres', q{
		SET simjoin.similarity_threshold = 0.25;
		SELECT ARRAY[1, 2, 3, 4] ~= ARRAY[4];
	}),
	't',
	'a setting made before the library is loaded counts');
my ($status, $stdout, $stderr) = $node->psql(
	'postgres', q{
	SET simjoin.similarity_threshold = 'much';
	SELECT ARRAY[1] ~= ARRAY[1];
});
like($stderr, qr/invalid value for parameter "simjoin.similarity_threshold"/, 'a bad one is reported');

# Prepared statements, planned for any parameter, join the same pairs.
my $pairs = $node->safe_psql(
	'postgres', q{
	SET simjoin.enable_join = off;
	SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;
});
cmp_ok($pairs, '>', 100, 'there are pairs to find');
is( $node->safe_psql(
		'postgres', q{
		SET plan_cache_mode = force_generic_plan;
		PREPARE pairs(float8) AS
		SELECT count(*) FROM sets a JOIN sets b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= $1;
		EXECUTE pairs(0.8);
	}),
	$pairs,
	'a prepared statement finds as many as the nested loop');

stop_unharmed($node);
done_testing();
