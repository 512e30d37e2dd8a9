# FlyHash can be cancelled at any moment and leaves no thread behind. On a GPU it gives the hashes of the CPU, whatever
# fails.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('flyhash', 'log_min_messages = warning', @two_cpu_threads);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE long AS SELECT id, array_fill(id::real, ARRAY[20000]) AS vector FROM generate_series(1, 200) id;
	CREATE TABLE short AS SELECT id, ARRAY(SELECT sin(id * d * d)::real FROM generate_series(1, 100) d) AS vector
	FROM generate_series(1, 5000) id;
});

my %statements = (
	'flyhash' => 'SELECT count(flyhash(vector, 100000, 100, 2500)) FROM long, generate_series(1, 20)',
	'flyhash_signatures' =>
	  q{SELECT count(tokens) FROM flyhash_signatures('SELECT id, vector FROM long, generate_series(1, 20)', 100000, 100, 2500)},
);
my $session = $node->background_psql('postgres', on_error_stop => 0);
for my $name (sort keys %statements)
{
	takes_little_time_to_cancel($session, $name, $statements{$name}, 0.15, 1.8);
	$session->query("SET statement_timeout = 300; $statements{$name}; SET statement_timeout = 0");
}

no_threads_left($session, 'no thread is left after cancelled statements');
is($session->query(q{SELECT flyhash('{1,2,3,4,5,6,7,8,9,10}', 40, 5, 3)}), '{0,9,20,22,32}', 'the session goes on');
$session->quit;

SKIP:
{
	skip 'there is no GPU here', 13 if $node->safe_psql('postgres', 'SELECT count(*) FROM simjoin_devices()') == 0;
	my $hashes = q{SELECT count(*), md5(string_agg(tokens::text, ';' ORDER BY id))
		FROM flyhash_signatures('SELECT id, vector FROM short', 3000)};
	my $on_cpu = $node->safe_psql('postgres', "SET simjoin.device = cpu; $hashes");
	is($node->safe_psql('postgres', "SET simjoin.device = gpu; $hashes"), $on_cpu, 'the same hashes on the GPU');
	# The setup of the device takes a while, but one thread of the CPU is expected to take longer for many rows.
	my @auto = ('SET simjoin.cpu_threads = 1', "SET simjoin.device = gpu; $hashes", 'SET simjoin.device = auto');
	for my $call (1, 4, 10)
	{
		my ($status, $result, $messages) = $node->psql('postgres',
			join(";\n", @auto, "SET simjoin.debug_device_fault = $call", $hashes), on_error_stop => 0);
		is($result, "$on_cpu\n$on_cpu", "memory runs out in call $call, and the hashes are right");
		like($messages, qr/NOTICE:  the query is too large for the GPU/, 'with a notice');
		($status, $result, $messages) = $node->psql('postgres',
			join(";\n", @auto, "SET simjoin.debug_device_fault = -$call", $hashes), on_error_stop => 0);
		is($result, "$on_cpu\n$on_cpu", "call $call fails, and the hashes are right");
		like($messages, qr/WARNING:  the GPU failed/, 'with a warning');
	}
}

stop_unharmed($node);
done_testing();
