# Signatures and joins by bands can be cancelled at any moment; the session keeps nothing of them.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(time);

# How long after the signal a statement may still run. The aim is 0.1 s; a busy test machine needs some slack.
my $patience = 1.0;

my $node = start_node('minhash_interrupts', 'log_min_messages = warning');
$node->safe_psql(
	'postgres', q{
	CREATE TABLE long AS SELECT tokens, tokens::real[] AS weights
	FROM (SELECT ARRAY(SELECT generate_series(1, 300000)) AS tokens) t;
	CREATE TABLE copies AS SELECT id, ARRAY(SELECT generate_series(1, 2000)) AS tokens FROM generate_series(1, 6000) id;
});

my %statements = (
	'minhash' => 'SELECT minhash(tokens, 65535) FROM long',
	'weighted_minhash' => 'SELECT weighted_minhash(tokens, weights, 65535) FROM long',
	'minhash_signatures' => q{SELECT count(signature) FROM minhash_signatures('SELECT 1, tokens FROM long', 65535)},
	'weighted_minhash_signatures' =>
	  q{SELECT count(signature) FROM weighted_minhash_signatures('SELECT 1, tokens, weights FROM long', 65535)},
	'signing for a join' => q{SELECT count(*) FROM minhash_self_join('SELECT 1, tokens FROM long', 0.5, 65535, 1, 1)},
	'minhash_self_join' => q{SELECT count(*) FROM minhash_self_join('SELECT id, tokens FROM copies', 0.5, 8, 8, 1)},
	'the operator by bands' => q{SET simjoin.method = minhash; SELECT count(*) FROM copies a JOIN copies b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.5},
	'minhash_join' => q{SELECT count(*) FROM minhash_join('SELECT id, tokens FROM copies', 'SELECT id, tokens FROM copies', 0.5, 8, 8, 1)},
);
my $session = $node->background_psql('postgres', on_error_stop => 0);
for my $name (sort keys %statements)
{
	for my $timeout (150, 900)
	{
		my $start = time();
		my ($status, $stdout, $stderr) =
		  $node->psql('postgres', "SET statement_timeout = $timeout; $statements{$name}", on_error_stop => 0);
		like($stderr, qr/canceling statement due to statement timeout/, "$name is stopped by a timeout of $timeout ms");
		cmp_ok(time() - $start, '<', $timeout / 1000 + $patience, "$name stops at once after $timeout ms");
	}
	$session->query("SET statement_timeout = 300; $statements{$name}; SET statement_timeout = 0");
}

SKIP:
{
	skip 'no /proc here', 1 unless -r '/proc/self/status';
	# A thread that has been joined may be listed for a moment.
	my $threads;
	for (1 .. 50)
	{
		$threads = $session->query(q{SELECT (regexp_match(pg_read_file('/proc/self/status'), 'Threads:\s+(\d+)'))[1]});
		last if $threads eq '1';
		select(undef, undef, undef, 0.1);
	}
	is($threads, 1, 'no thread is left after cancelled statements');
}
is( $session->query(q{SELECT count(*) FROM minhash_self_join('SELECT id, tokens[1:3] FROM copies WHERE id < 4', 1)}),
	3, 'the session goes on');
$session->quit;
stop_unharmed($node);
done_testing();
