# Signatures and joins by bands can be cancelled at any moment. The session keeps nothing of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('minhash_interrupts', 'log_min_messages = warning', @two_cpu_threads);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE long AS SELECT tokens, tokens::real[] AS weights
	FROM (SELECT ARRAY(SELECT generate_series(1, 300000)) AS tokens) t;
	CREATE TABLE copies AS SELECT id, ARRAY(SELECT generate_series(1, 2000)) AS tokens FROM generate_series(1, 6000) id;
});

# Each statement takes about a minute. Signing the first set alone takes longer than the timeouts on most hosts. Buckets of
# 10,000 rows would be chained, with few of their pairs compared, but no bucket has as many rows.
my %statements = (
	'minhash' => 'SELECT minhash(tokens, 65535) FROM long, generate_series(1, 20)',
	'weighted_minhash' => 'SELECT weighted_minhash(tokens, weights, 65535) FROM long, generate_series(1, 20)',
	'minhash_signatures' =>
	  q{SELECT count(signature) FROM minhash_signatures('SELECT i, tokens FROM long, generate_series(1, 20) i', 65535)},
	'weighted_minhash_signatures' =>
	  q{SELECT count(signature) FROM weighted_minhash_signatures('SELECT i, tokens, weights FROM long, generate_series(1, 20) i', 65535)},
	'signing for a join' =>
	  q{SELECT count(*) FROM minhash_self_join('SELECT i, tokens FROM long, generate_series(1, 20) i', 0.5, 65535, 1, 1)},
	'signing for a join of sets with weights' =>
	  q{SELECT count(*) FROM weighted_minhash_self_join('SELECT i, tokens, weights FROM long, generate_series(1, 20) i', 0.5, 65535, 1, 1)},
	'weighted_minhash_self_join' =>
	  q{SELECT count(*) FROM weighted_minhash_self_join('SELECT id, tokens, tokens::real[] FROM copies', 0.5, 8, 8, 1)},
	'minhash_self_join' => q{SELECT count(*) FROM minhash_self_join('SELECT id, tokens FROM copies', 0.5, 8, 8, 1)},
	'the operator by bands' => q{SELECT count(*) FROM copies a JOIN copies b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5},
	'minhash_join' => q{SELECT count(*) FROM minhash_join('SELECT id, tokens FROM copies WHERE id < 4900', 'SELECT id, tokens FROM copies WHERE id < 4900', 0.5, 8, 8, 1)},
);
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('SET simjoin.method = minhash');
for my $name (sort keys %statements)
{
	takes_little_time_to_cancel($session, $name, $statements{$name}, 0.15, 1.8);
	$session->query("SET statement_timeout = 300; $statements{$name}; SET statement_timeout = 0");
}

no_threads_left($session, 'no thread is left after cancelled statements');
is( $session->query(q{SELECT count(*) FROM minhash_self_join('SELECT id, tokens[1:3] FROM copies WHERE id < 4', 1)}),
	3, 'the session goes on');
$session->quit;
stop_unharmed($node);
done_testing();
