# Graph functions on a GPU give the results of the CPU, whatever fails. Also interrupts. Skipped without a GPU.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

# Seconds that a statement may still run after the signal. The first use of the GPU in a session also sets it up.
my $patience = 1.5;

my $node = start_node('gpu_graphs', 'log_min_messages = warning', 'jit = off');
if ($node->safe_psql('postgres', 'SELECT count(*) FROM simjoin_devices()') == 0)
{
	$node->stop;
	plan skip_all => 'there is no GPU here';
}
$node->safe_psql(
	'postgres', q{
	CREATE TABLE edges AS SELECT (random() * 300000)::bigint * 1000003 AS a, (random() * random() * 300000)::bigint * 1000003 AS b,
		random() AS weight FROM generate_series(1, 2000000)});

sub session { return gpu_session($node, @_); }

my %calls = (
	components => q{SELECT count(*), md5(string_agg(c::text, ',')) FROM connected_components('SELECT a, b FROM edges WHERE weight < 0.125') c},
	power => q{SELECT count(*), md5(string_agg(p::text, ',')) FROM pagerank('SELECT a, b FROM edges') p},
	weighted => q{SELECT count(*), md5(string_agg(p::text, ',')) FROM pagerank('SELECT * FROM edges', directed => false, tolerance => 0.001) p},
	walk => q{SELECT count(*), md5(string_agg(p::text, ',')) FROM pagerank('SELECT a, b FROM edges', method => 'random_walk', coupons => 40) p},
	weighted_walk => q{SELECT count(*), md5(string_agg(p::text, ',')) FROM pagerank('SELECT * FROM edges', method => 'random_walk', coupons => 3) p},
	densest => q{SELECT count(*), md5(string_agg(d::text, ',')) FROM densest_subgraph('SELECT a, b FROM edges', 50, 'bilinear') d});
my %expected;
for my $name (sort keys %calls)
{
	($expected{$name}) = session('SET simjoin.device = cpu', $calls{$name});
	like($expected{$name}, qr/^\d+\|/, "$name on the CPU");
	for my $device (qw(auto gpu))
	{
		is((session("SET simjoin.device = $device", $calls{$name}))[0], $expected{$name}, "$name: the same with simjoin.device = $device");
	}
}

# Edges that exceed the memory for held-back edges go to the GPU in several lots.
my $all = q{SELECT count(*), md5(string_agg(c::text, ',')) FROM connected_components('SELECT a, b FROM edges') c};
my ($whole) = session('SET simjoin.device = cpu', $all);
is((session('SET simjoin.device = gpu', q{SET simjoin.memory_limit = '80MB'}, $all))[0], $whole, 'components in lots');

for my $call (5, 20, 40)    # the first ones look for a GPU
{
	my ($result, $messages) = session('SET simjoin.device = auto', "SET simjoin.debug_device_fault = $call", $calls{walk});
	is($result, $expected{walk}, "memory runs out in call $call, and the walk is done on the CPU");
	like($messages, qr/NOTICE:  the query is too large for the GPU/, 'with a notice');

	($result, $messages) = session("SET simjoin.debug_device_fault = -$call", $calls{power}, 'SET simjoin.debug_device_fault = 0', $calls{power});
	is($result, "$expected{power}\n$expected{power}", "call $call fails, and PageRank is computed on the CPU");
	like($messages, qr/WARNING:  the GPU failed/, 'with a warning');

	($result, $messages) = session('SET simjoin.device = gpu', "SET simjoin.debug_device_fault = $call", $calls{components});
	like($messages, qr/ERROR:  out of device memory.*HINT: /s, 'where the GPU is demanded it is an error');
}

my $long = q{SELECT count(*) FROM pagerank('SELECT a, b FROM edges', method => 'random_walk', damping => 0.9999, coupons => 100000)};
stops_in_time($node, 'a walk', "SET simjoin.cpu_threads = 1; SET simjoin.device = gpu; $long", $patience, 100, 1500, 3000);

stop_unharmed($node);
done_testing();
