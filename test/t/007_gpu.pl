# Joins on a GPU give the rows of the CPU, whatever fails. Also interrupts, and the device's memory. Skipped without
# a GPU.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;
use Time::HiRes qw(time);

# Seconds that a statement may still run after the signal, if the session has yet to set up the device and if it
# has done so. The aim is 0.1.
my $patience = 2.0;
my $prompt = 0.3;

my $node = start_node('gpu', 'max_connections = 20', 'log_min_messages = warning', 'jit = off');
if ($node->safe_psql('postgres', 'SELECT count(*) FROM simjoin_devices()') == 0)
{
	$node->stop;
	plan skip_all => 'there is no GPU here';
}
# The sets are so many that one thread of the CPU is expected to take far longer than the GPU's start. They are sparse,
# so that it takes only a second or two in each of many tests. Other sets have some 45 of 101 tokens and long inverted
# lists. The last ones share 33 of their 60 tokens, two too few for a similarity of 0.4, which bitmaps cannot tell.
fill_sets($node, 120000, 60, 1000000);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE crowded AS
	SELECT id, ARRAY(SELECT (random() * 100)::int FROM generate_series(1, 60) WHERE id IS NOT NULL) AS tokens
	FROM generate_series(1, 200000) id;
	CREATE TABLE alike AS
	SELECT id, ARRAY(SELECT generate_series(1, 33)) ||
		ARRAY(SELECT 34 + (random() * 1000000)::int FROM generate_series(1, 27) WHERE id IS NOT NULL) AS tokens
	FROM generate_series(1, 300000) id;
	VACUUM ANALYZE crowded, alike});
my $join = 'SELECT count(*), sum(a.id), sum(b.id) FROM sets a JOIN sets b ON a.id < b.id AND
	jaccard_similarity(a.tokens, b.tokens) >= 0.5';

sub session { return gpu_session($node, @_); }

my ($expected) = session('SET simjoin.device = cpu', $join);
like($expected, qr/^\d{3,}\|/, 'there are pairs to find');
for my $device (qw(auto gpu))
{
	is((session("SET simjoin.device = $device", $join))[0], $expected, "the same rows with simjoin.device = $device");
}
my $name = $node->safe_psql('postgres', 'SELECT name FROM simjoin_devices() LIMIT 1');
my ($plan) = session('SET simjoin.device = gpu', "EXPLAIN (ANALYZE, COSTS OFF) $join");
like($plan, qr/Device: \Q$name\E/, 'EXPLAIN names the device');
like($plan, qr/Device Memory: [1-9]\d* kB/, 'and its memory');
unlike($plan, qr/GPU Not Used/, 'and has nothing to excuse');

# The session's handlers must not run in threads of CUDA: SIGINT, SIGUSR1, SIGALRM and SIGTERM are blocked there.
SKIP:
{
	skip 'no /proc here', 1 unless -r '/proc/self/status';
	my ($threads) = session('SET simjoin.device = gpu', $join, q{
		SELECT string_agg(mask, ' ') FROM pg_ls_dir('/proc/self/task') task,
			LATERAL (SELECT (regexp_match(pg_read_file('/proc/self/task/' || task || '/status', 0, 10000, true), 'SigBlk:\s+(\w+)'))[1]) s (mask)
		WHERE task <> pg_backend_pid()::text AND (('x' || mask)::bit(64)::bigint & x'6202'::bigint) <> x'6202'::bigint});
	is($threads, "$expected\n", 'threads of CUDA take no signals of the session');
}

for my $algorithm (qw(bitmap gssjoin fgssjoin sf_gssjoin cpu_gpu))
{
	for my $device (qw(auto gpu))
	{
		my ($rows) = session("SET simjoin.device = $device", "SET simjoin.algorithm = $algorithm", $join);
		is($rows, $expected, "the same rows by $algorithm with simjoin.device = $device");
	}
	($plan) = session('SET simjoin.device = gpu', "SET simjoin.algorithm = $algorithm",
		"EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) $join");
	like($plan, qr/Algorithm: $algorithm\b.*Device: \Q$name\E/s, "and EXPLAIN says so");

	# A failure before or while it runs.
	for my $call (2, 20, 40)
	{
		my ($result, $messages) = session('SET simjoin.memory_limit = \'4GB\'', "SET simjoin.algorithm = $algorithm",
			"SET simjoin.debug_device_fault = $call", $join);
		is($result, $expected, "$algorithm: the join goes on where call $call fails");
	}
}

for my $type (qw(bigint text))
{
	my $typed = $join =~ s/([ab])\.tokens/$1.tokens::$type\[\]/gr;
	is((session('SET simjoin.device = gpu', $typed))[0], $expected, "the same rows of ${type}[]");
}

# A device call fails: early calls while sets are uploaded, later ones while kernels run and pairs come back. If memory
# runs out once, smaller tiles may suffice. (Call 1 looks for a device.)
my $free = $node->safe_psql('postgres', 'SELECT memory_free FROM simjoin_devices() WHERE device = 0');
my $off = "SET simjoin.debug_device_fault = 0;\nSET simjoin.debug_device_loss = none";
for my $call (2, 3, 10, 25)
{
	my ($result, $messages) = session('SET simjoin.device = auto', "SET simjoin.debug_device_fault = $call", $join, $off, $join);
	is($result, "$expected\n$expected", "memory runs out once, in call $call, and the join goes on");

	($result, $messages) = session("SET simjoin.debug_device_fault = -$call", $join, 'SET simjoin.debug_device_fault = 0',
		"EXPLAIN (ANALYZE, COSTS OFF) $join", $join);
	like($result, qr/^\Q$expected\E\n.*\n\Q$expected\E$/s, "call $call fails, and the join goes on");
	like($messages, qr/WARNING:  the GPU failed/, 'with a warning');
	like($result, qr/GPU Not Used: the GPU failed earlier in this session/, 'and the session leaves the GPU alone');
}

# From some call on, little memory is left or the device is lost.
for my $call (2, 25)
{
	my ($result, $messages) = session("SET simjoin.debug_device_fault = $call", 'SET simjoin.debug_device_loss = short_memory',
		$join, $off, $join);
	is($result, "$expected\n$expected", "memory is short from call $call on, and the join goes on");
	like($messages, qr/NOTICE:  the query is too large for the GPU/, 'with a notice');

	($result, $messages) = session("SET simjoin.debug_device_fault = $call", 'SET simjoin.debug_device_loss = lost', $join, $off,
		$join);
	is($result, "$expected\n$expected", "the device is lost in call $call, and the join goes on");
	like($messages, qr/WARNING:  the GPU failed/, 'with a warning');

	($result, $messages) = session('SET simjoin.device = gpu', "SET simjoin.debug_device_fault = $call",
		'SET simjoin.debug_device_loss = short_memory', $join, $off, $join);
	like($messages, qr/ERROR:  out of device memory.*HINT: /s, 'where the GPU is demanded it is an error');
	is($result, $expected, 'after which the session can go on');
}

# The session's first look for a GPU finds too little memory. The next query may find enough.
my ($looked) = session('SET simjoin.debug_device_fault = 1', $join, $off, "EXPLAIN (ANALYZE, COSTS OFF) $join");
like($looked, qr/^\Q$expected\E\n.*Device: \Q$name\E/s, 'a look for a GPU that fails is repeated by the next query');

# Devices and drivers that are missing from the start, and devices that disappear between two queries and come back.
for my $loss (['no_device', qr/no CUDA-capable device/], ['no_driver', qr/there is no NVIDIA driver/],
	['old_driver', qr/the NVIDIA driver is too old: it supports CUDA 11.4/])
{
	my ($kind, $reason) = @$loss;
	my ($result, $messages) = session("SET simjoin.debug_device_loss = $kind", "EXPLAIN (ANALYZE, COSTS OFF) $join", $join,
		$off, $join);
	like($result, qr/GPU Not Used: .*$reason.*\n\Q$expected\E\n\Q$expected\E$/s, "$kind: the CPU does it, and EXPLAIN says why");
	unlike($messages, qr/WARNING|NOTICE|ERROR/, 'without a word otherwise');
	($result, $messages) = session("SET simjoin.debug_device_loss = $kind", 'SET simjoin.device = gpu', $join, $off, $join);
	like($messages, qr/ERROR:  a GPU cannot be used: .*$reason.*HINT: /s, 'where the GPU is demanded it is an error');
	is($result, $expected, 'and the session uses it when it is there');

	($result, $messages) = session($join, "SET simjoin.debug_device_loss = $kind", $join, $off,
		"EXPLAIN (ANALYZE, COSTS OFF) $join");
	like($result, qr/^\Q$expected\E\n\Q$expected\E\n.*Device: \Q$name\E/s, "$kind after a query: both have all rows, and so has the next");
}

# A device that is in use by others: the next query finds it again.
for my $call (1, 2, 25)
{
	my ($result, $messages) = session("SET simjoin.debug_device_fault = $call", 'SET simjoin.debug_device_loss = busy', $join,
		$off, "EXPLAIN (ANALYZE, COSTS OFF) $join", $join);
	like($result, qr/^\Q$expected\E\n.*Device: \Q$name\E.*\n\Q$expected\E$/s, "busy from call $call on, and used afterwards");
	like($messages, qr/NOTICE:  the GPU cannot be used now; the query continues on the CPU/, 'with a notice') if $call > 1;
	unlike($messages, qr/WARNING/, 'and no warning');
}
my ($busy, $told) = session('SET simjoin.device = gpu', 'SET simjoin.debug_device_fault = 25',
	'SET simjoin.debug_device_loss = busy', $join, $off, $join);
like($told, qr/ERROR:  the GPU cannot be used now: .*HINT:  Try again later/s, 'where the GPU is demanded it is an error');
is($busy, $expected, 'after which the session can go on');

# An idle session gives back the device's memory, and sets up the device again when it needs it.
my $sleeper = $node->background_psql('postgres', on_error_stop => 0);
$sleeper->query("SET simjoin.device = gpu; SET simjoin.gpu_idle_timeout = '1s'");
is($sleeper->query($join), $expected, 'a session uses the device');
my $held = $node->safe_psql('postgres', 'SELECT memory_free FROM simjoin_devices() WHERE device = 0');
ok($node->poll_query_until('postgres', "SELECT memory_free > $held + 300000000 FROM simjoin_devices() WHERE device = 0"),
	'gives its memory back once it is idle');
is($sleeper->query($join), $expected, 'and uses it again');
$sleeper->quit;

# Tiles: the device memory does not hold all sets at once.
my ($tiled) = session('SET simjoin.device = gpu', 'SET simjoin.gpu_memory_limit = \'40MB\'', $join,
	"EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) $join");
like($tiled, qr/^\Q$expected\E\n/, 'the same rows in tiles');
like($tiled, qr/too little memory for all sets at once: \d+ joins of tiles on 1 GPU/, 'and EXPLAIN says why');

# Timeouts while the device is set up, while rows are read, and while it joins.
my $long_join = $join =~ s/\bsets\b/alike/gr =~ s/0\.5/0.4/r;
for my $timeout (50, 400, 600, 800, 1200)
{
	my $start = time();
	my ($result, $messages) = session('SET simjoin.device = gpu', 'SET simjoin.algorithm = bitmap',
		"SET statement_timeout = $timeout", $long_join, 'SET statement_timeout = 0', $join);
	my $seconds = time() - $start;
	like($messages, qr/canceling statement due to statement timeout/, "a timeout of $timeout ms ends the join");
	cmp_ok($seconds, '<', $timeout / 1000 + $patience + 5, 'soon, the next join included');
	is($result, $expected, 'and the next join of the session works');
}
# Timeouts in milliseconds while kernels run, in joins that take an H200 seconds. Nearly all 45 billion pairs of sets that
# are alike are verified. Crowded sets share 400 billion list entries, and at 0.6 most pairs are candidates of their
# prefixes. With cpu_gpu, one thread of the CPU takes the time.
my $now = 'SELECT extract(epoch FROM clock_timestamp())';
my $crowded_join = $join =~ s/\bsets\b/crowded/gr =~ s/0\.5/0.6/r;
for my $long ([ 'bitmap', 500, $long_join ], [ 'gssjoin', 500, $crowded_join ], [ 'fgssjoin', 500, $crowded_join ],
	[ 'cpu_gpu', 1000, $long_join ])
{
	my ($algorithm, $timeout, $statement) = @$long;
	my $messages;
	takes_effect_in_time(
		"$algorithm: a join on a GPU that is set up stops at once",
		$prompt,
		sub {
			(my $times, $messages) = session('SET simjoin.device = gpu', $join, "SET simjoin.algorithm = $algorithm",
				"SET statement_timeout = $timeout", $now, $statement, $now);
			my ($begin, $end) = $times =~ /^(\d+\.\d+)$/mg;
			return $end - $begin - $timeout / 1000;
		});
	like($messages, qr/canceling statement due to statement timeout/, "$algorithm: it was the timeout that stopped it");
}
my ($limited) = session('SET simjoin.device = gpu', 'SELECT count(*) FROM (' . ($join =~ s/count.*? FROM/FROM/r =~ s/0\.5/0.05/r) . ' LIMIT 10) t');
is($limited, 10, 'a LIMIT stops the join early');

# simjoin_devices() sets up the devices for a moment, which takes some 500 MB of their memory. If a join has
# failed during its own setup, the devices stay as they are.
for my $call (7, 8, 10)
{
	my ($result) = session("SET simjoin.debug_device_fault = $call", $join, $off, 'SELECT count(*) > 0 FROM simjoin_devices()',
		$join, 'SET simjoin.device = gpu', $join);
	is($result, "$expected\nt\n$expected\n$expected", "a look at the devices after call $call has failed, and the GPU works");
}
my $onlooker = $node->background_psql('postgres', on_error_stop => 0);
my $free_before = $onlooker->query('SELECT memory_free FROM simjoin_devices() WHERE device = 0');
like($free_before, qr/^\d+$/, 'a session looks at the devices');
ok($node->poll_query_until('postgres', "SELECT memory_free >= $free_before - (64 << 20) FROM simjoin_devices() WHERE device = 0"),
	'and keeps nothing of their memory');
$onlooker->quit;

# Signatures and joins by bands are the same on every device, whatever fails.
my %signatures = (
	'minhash_signatures' => q{SELECT md5(string_agg(s.signature::text, ',' ORDER BY s.id)) FROM
		minhash_signatures('SELECT id, tokens FROM sets WHERE id % 4 = 0', 200) s},
	'weighted_minhash_signatures' => q{SELECT md5(string_agg(s.signature::text, ',' ORDER BY s.id)) FROM
		weighted_minhash_signatures('SELECT id, tokens, tokens::real[] FROM sets WHERE id % 4 = 0', 100) s},
	'minhash_self_join' => q{SELECT count(*), sum(a), sum(b) FROM minhash_self_join('SELECT id, tokens FROM sets', 0.6)});
for my $name (sort keys %signatures)
{
	my ($of_cpu) = session('SET simjoin.device = cpu', $signatures{$name});
	isnt($of_cpu, '', "$name has a result");
	for my $device (qw(auto gpu))
	{
		my ($of_gpu, $messages) = session("SET simjoin.device = $device", $signatures{$name});
		is($of_gpu, $of_cpu, "$name is the same with simjoin.device = $device");
		is($messages, '', 'and nothing fails');
	}
	for my $call (5, 20)    # the first ones look for a GPU
	{
		my ($result, $messages) = session('SET simjoin.device = gpu', "SET simjoin.debug_device_fault = $call", $signatures{$name},
			'SET simjoin.debug_device_fault = 0', $signatures{$name});
		like($messages, qr/ERROR:  out of device memory.*HINT: /s, "$name: memory runs out in call $call");
		is($result, $of_cpu, 'after which the session can go on');
		($result, $messages) = session("SET simjoin.debug_device_fault = -$call", $join, $signatures{$name});
		like($result, qr/\Q$of_cpu\E$/, "$name goes on without the GPU");
	}
}

($plan) = session('SET simjoin.device = gpu', 'SET simjoin.method = minhash', "EXPLAIN (ANALYZE, COSTS OFF) $join");
like($plan, qr/Method: minhash.*Device: \Q$name\E\n.*Device Memory: [1-9]\d* kB/s, 'EXPLAIN of a join by bands names the device and its memory');
unlike($plan, qr/GPU Not Used/, 'and has nothing to excuse');
($plan) = session('SET simjoin.method = minhash', 'SET simjoin.debug_device_loss = no_driver', "EXPLAIN (ANALYZE, COSTS OFF) $join");
like($plan, qr/Method: minhash.*Device: cpu\n\s*GPU Not Used: \S/s, 'where there is none it says so');

# Joins of sets with weights, whatever fails.
my $weighted = q{SELECT count(*), sum(a.id), sum(b.id), sum(weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights)::numeric)
	FROM weighted a JOIN weighted b ON a.id < b.id AND weighted_jaccard_similarity(a.tokens, a.weights, b.tokens, b.weights) >= 0.4};
$node->safe_psql('postgres', q{CREATE TABLE weighted AS
	SELECT id, tokens, ARRAY(SELECT (1 + random())::real FROM generate_series(1, cardinality(tokens)) WHERE id IS NOT NULL) AS weights
	FROM sets WHERE id % 4 = 0});
my ($of_cpu) = session('SET simjoin.device = cpu', $weighted);
like($of_cpu, qr/^\d+\|/, 'a join of sets with weights');
($plan) = session('SET simjoin.device = gpu', "EXPLAIN (ANALYZE, COSTS OFF) $weighted");
like($plan, qr/Algorithm: weighted prefixes.*Device: \Q$name\E/s, 'runs on the GPU, as EXPLAIN says');
for my $device (qw(auto gpu))
{
	is((session("SET simjoin.device = $device", $weighted))[0], $of_cpu, "the same pairs with weights with simjoin.device = $device");
}
for my $call (5, 25)
{
	is((session("SET simjoin.debug_device_fault = -$call", $weighted))[0], $of_cpu, "pairs with weights where call $call fails");
}

# The last session's memory may be freed a moment after its end.
ok($node->poll_query_until('postgres', "SELECT memory_free >= $free - (64 << 20) FROM simjoin_devices() WHERE device = 0"),
	'no device memory is lost');

stop_unharmed($node);
done_testing();
