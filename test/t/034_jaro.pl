# Jaro and Jaro-Winkler similarities: those of another implementation to the last digit, and texts of any length.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('jaro');

# ---- 100,000 random pairs ----

# Names with mistakes, texts of few letters, accents and combining marks, and Chinese, of 0 to 60 characters.
$node->safe_psql('postgres', q{
	SELECT setseed(0.41);
	CREATE TABLE pairs AS
	SELECT i AS id, a, CASE (random() * 4)::int
		WHEN 0 THEN overlay(a placing 'q' from at for 1) WHEN 1 THEN overlay(a placing substr(a, at + 1, 1) || substr(a, at, 1) from at for 2)
		WHEN 2 THEN overlay(a placing '' from at for (random() * 6)::int) WHEN 3 THEN b ELSE reverse(a) END AS b
	FROM (SELECT i, 1 + (random() * 8)::int AS at, first.t AS a, second.t AS b
		FROM generate_series(1, 100000) i
		CROSS JOIN LATERAL (SELECT (ARRAY['abc', 'abcdefghijklmnopqrstuvwxyz ', 'Müllerßé' || chr(769), '相似的字符串连接𠀀'])[1 + i % 4] AS letters) l
		CROSS JOIN LATERAL (SELECT coalesce(string_agg(substr(letters, 1 + (random() * (length(letters) - 1))::int + 0 * g, 1), ''), '') AS t
			FROM generate_series(1, (random() * CASE WHEN i % 7 = 0 THEN 60 ELSE 14 END)::int) g) first
		CROSS JOIN LATERAL (SELECT coalesce(string_agg(substr(letters, 1 + (random() * (length(letters) - 1))::int + 0 * g, 1), ''), '') AS t
			FROM generate_series(1, (random() * 14)::int) g) second) s});
SKIP:
{
	skip('jellyfish for Python is not installed', 3) if system('python3 -W ignore -c "import jellyfish; jellyfish.jaro_winkler_similarity" 2> /dev/null') != 0;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $rows = $node->safe_psql('postgres',
		'SELECT a, b, jaro_similarity(a, b), jaro_winkler_similarity(a, b) FROM pairs ORDER BY id', extra_params => [ '-F', "\t" ]);
	append_to_file("$folder/pairs", "$rows\n");
	append_to_file("$folder/compare.py", q{
import jellyfish, sys
pairs = wrong = similar = 0
for line in open(sys.argv[1], encoding='utf-8'):
    a, b, jaro, winkler = line.rstrip('\n').split('\t')
    pairs += 1
    similar += 0.7 < float(winkler) < 1
    same = float(jaro) == jellyfish.jaro_similarity(a, b) and float(winkler) == jellyfish.jaro_winkler_similarity(a, b)
    if not same:
        wrong += 1
        print(repr(a), repr(b), jaro, jellyfish.jaro_similarity(a, b), winkler, jellyfish.jaro_winkler_similarity(a, b), file=sys.stderr)
print(pairs, wrong, similar)
});
	my ($pairs, $wrong, $similar) = split(' ', `python3 -W ignore $folder/compare.py $folder/pairs`);
	is($pairs, 100000, 'pairs');
	is($wrong, 0, 'all have the similarities of jellyfish');
	cmp_ok($similar, '>', 20000, 'many are similar');
}

# ---- Joins of them ----

for my $bound ('jaro_similarity(l.a, r.b) >= 0.75', 'jaro_similarity(l.a, r.b) > 0.9', 'jaro_winkler_similarity(l.a, r.b) >= 0.85', 'jaro_winkler_similarity(l.a, r.b) >= 0.97')
{
	my @rows = map {
		$node->safe_psql('postgres', "SET simjoin.enable_join = $_->[0]; SET enable_nestloop = $_->[1];
			SELECT count(*), sum(l.id::bigint * r.id) FROM (SELECT * FROM pairs WHERE id % 400 < 4) l JOIN (SELECT * FROM pairs WHERE id % 400 < 4) r ON $bound")
	} ([ 'off', 'on' ], [ 'on', 'off' ]);
	isnt($rows[0], '0|', "$bound: pairs");
	is($rows[1], $rows[0], "$bound: those of the nested loop");
}

# ---- Long texts ----

$node->safe_psql('postgres', q{CREATE TABLE long AS SELECT string_agg(repeat(md5(i::text) || 'é', 600), '' ORDER BY i) AS t FROM generate_series(1, 500) i});
is($node->safe_psql('postgres', 'SELECT length(t), jaro_similarity(t, t), jaro_winkler_similarity(t, reverse(t)) < 0.9, cardinality(jaro_keys(t)) FROM long'),
	'9900000|1|t|9900000', 'a text of ten million characters');
for my $call ('jaro_similarity(t, t)', 'jaro_keys(t)')
{
	stops_in_time($node, $call, "SELECT count($call) FROM long, generate_series(1, 1000)", $patience, 400, 900);
}

stop_unharmed($node);
done_testing();
