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

# A trigger that loads the library in the midst of a statement of a function does not know whether that inserts a row or moves
# it to another partition. If it moves rows the statement ends with an error, instead of without one of them.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parted (id int, part int, tokens int[], PRIMARY KEY (id, part)) PARTITION BY LIST (part);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
	CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
	INSERT INTO parted VALUES (1, 1, '{1,2,3}'), (2, 1, '{1,2,3}'), (3, 1, '{4,5,6}');
	CREATE TRIGGER skip BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.6);
});
sub in_function { my ($statement) = @_; return "DO \$f\$ BEGIN $statement; END \$f\$"; }
my $move = in_function('UPDATE parted SET part = 3 - part WHERE id = 2');
my $not_known = qr/skip_similar: it is not known whether a row is new/;
($status, $stdout, $stderr) = $node->psql('postgres', $move);
like($stderr, $not_known, 'a move that loads the library is an error');
is($node->safe_psql('postgres', 'SELECT id, part FROM parted ORDER BY id'), "1|1\n2|1\n3|1", 'no row is lost');
is( $node->safe_psql('postgres', "SELECT sets_similar('{1}'::int[], '{1}'); $move; SELECT id, part FROM parted ORDER BY id"),
	"t\n1|1\n2|2\n3|1",
	'when the library is loaded it moves the row');
is( $node->safe_psql(
		'postgres', in_function(q{
			BEGIN
				UPDATE parted SET part = CASE id WHEN 1 THEN 2 ELSE 99 END WHERE id <> 2;
			EXCEPTION WHEN check_violation THEN
			END;
			UPDATE parted SET part = 2 WHERE id = 1}) . '; SELECT id, part FROM parted ORDER BY id'),
	"1|2\n2|2\n3|1",
	'a statement that failed is not checked again');
my $upsert = in_function(q{INSERT INTO parted VALUES (3, 1, '{4,5,6,7}') ON CONFLICT (id, part) DO UPDATE SET tokens = EXCLUDED.tokens});
($status, $stdout, $stderr) = $node->psql('postgres', $upsert);
like($stderr, $not_known, 'an upsert that loads the library is an error');
is($node->safe_psql('postgres', "SELECT sets_similar('{1}'::int[], '{1}'); $upsert; SELECT tokens FROM parted WHERE id = 3"),
	"t\n{4,5,6,7}", 'when the library is loaded it updates the row');

stop_unharmed($node);
done_testing();
