# Parallel workers read the queries of functions, in blocks. Rows, errors and cancels are those of a session that reads alone.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Simjoin;
use Test::More;

my $node = start_node('workers', 'parallel_setup_cost = 0', 'min_parallel_table_scan_size = 0',
	'max_parallel_workers_per_gather = 2', 'parallel_leader_participation = off', 'jit = off', @two_cpu_threads);
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query('SELECT pg_backend_pid()');
$session->query(
	q{SET client_min_messages = warning;
	CREATE DOMAIN tokens AS bigint[];
	CREATE TABLE rows AS SELECT id, 'k' || id AS k, md5(id::text)::uuid AS u, set, set::bigint[]::tokens AS wide, set::text[] AS words,
		CASE WHEN id % 40 > 0 THEN array_to_string(set, ' ') END AS body, array_fill(0.5::real, ARRAY[coalesce(cardinality(set), 0)]) AS weights
	FROM (SELECT id, CASE id % 50 WHEN 1 THEN NULL WHEN 2 THEN '{}' ELSE
		ARRAY(SELECT id / 3 * 10 + j + CASE WHEN j > 7 THEN id % 3 ELSE 0 END FROM generate_series(1, CASE WHEN id % 100 < 6 THEN 2500 ELSE 9 END) j) END AS set
		FROM generate_series(1, 1000) id) s;
	CREATE TABLE apart (LIKE rows);
	ALTER TABLE apart ALTER set SET STORAGE EXTERNAL, ALTER wide SET STORAGE EXTERNAL;
	INSERT INTO apart SELECT id + 2000, k || 'x', md5(id::text || 'x')::uuid, set, wide, words, body, weights FROM rows WHERE id % 7 < 5;
	CREATE TABLE parts (id int, set int[]) PARTITION BY HASH (id);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parts SELECT id, set FROM rows;
	VACUUM ANALYZE;
	CREATE FUNCTION place(leader int) RETURNS int[] LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1
	  AS 'BEGIN RETURN ARRAY[(pg_backend_pid() <> leader)::int]; END';
	CREATE FUNCTION place_unsafe(leader int) RETURNS int[] LANGUAGE plpgsql STABLE COST 1
	  AS 'BEGIN RETURN ARRAY[(pg_backend_pid() <> leader)::int]; END';
	CREATE FUNCTION slow(tokens int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
	  AS 'BEGIN PERFORM pg_sleep(0.05); RETURN tokens; END';
	CREATE FUNCTION pairs() RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE
	  AS 'BEGIN RETURN (SELECT count(*) FROM similarity_self_join(''SELECT id, set FROM parts'', 0.8)); END'});

# Returns how many rows of a query of the places have been read by workers.
sub rows_of_workers
{
	my ($query) = @_;
	return $session->query("SELECT count(*) FROM similarity_join('$query', 'SELECT 0, ARRAY[1]', 1)");
}

is(rows_of_workers("SELECT id, place($pid) FROM rows"), 1000, 'workers read all rows');
is(rows_of_workers("SELECT id, place($pid) FROM parts"), 1000, 'workers read partitions');
is(rows_of_workers("SELECT id, place($pid) FROM rows WHERE id > (SELECT min(id) + 99 FROM apart) - 2000"), 900,
	'workers know the value of a subquery');
is(rows_of_workers("SELECT id, place_unsafe($pid) FROM rows"), 0, 'no worker calls a function that is parallel unsafe');
$session->query('SET max_parallel_workers_per_gather = 0');
is(rows_of_workers("SELECT id, place($pid) FROM rows"), 0, 'no worker is allowed');
$session->query('RESET max_parallel_workers_per_gather');
$session->query('SET parallel_tuple_cost = 1e6');
is(rows_of_workers("SELECT id, place($pid) FROM rows"), 0, 'workers cost too much');
$session->query('RESET parallel_tuple_cost');

# Results with and without workers.
my $aggregate = q{SELECT count(*) || ' ' || md5(string_agg(q::text, ' ' ORDER BY q::text)) FROM (%s) q};

sub results
{
	my ($query) = @_;
	return map {
		$session->query("SET max_parallel_workers_per_gather = $_");
		scalar $session->query(sprintf($aggregate, $query))
	} (0, 2);
}

for my $table (qw(rows apart))
{
	for my $call (
		"similarity_self_join('SELECT id, set FROM $table', 0.5)",
		"similarity_self_join('SELECT id, set FROM $table', 0.5, 'containment')",
		"similarity_self_join('SELECT id, set FROM $table', 0.5, 'idf_jaccard')",
		"similarity_self_join('SELECT id, wide FROM $table', 0.5)",
		"similarity_self_join('SELECT id, words FROM $table', 0.5)",
		"similarity_self_join('SELECT k, words FROM $table', 0.5, key => NULL::text)",
		"similarity_self_join('SELECT u, set FROM $table', 0.5, key => NULL::uuid)",
		"similarity_self_join('SELECT id::smallint, set FROM $table', 0.5, key => NULL::smallint)",
		"similarity_self_join('SELECT id, set, weights FROM $table', 0.5, 'weighted_jaccard')",
		"similarity_self_join('SELECT id, body FROM $table', 0.5, tokens => 'shingles(3)')",
		"similarity_self_join('SELECT id, body::char(30) FROM $table', 0.5, tokens => 'shingles64(3)')",
		"similarity_self_join('SELECT k, body FROM $table', 0.5, NULL::text, tokens => 'words(simple)')",
		"similarity_self_join('SELECT id, to_tsvector(''simple'', body) FROM $table', 0.5)",
		"similarity_self_join('SELECT id, set FROM $table ORDER BY set LIMIT 500', 0.5)",
		"similarity_self_join('SELECT id, set FROM rows UNION ALL SELECT id, set FROM apart WHERE id % 3 = 0', 0.5)",
		"similarity_self_join('SELECT id, array_agg(s) FROM $table, unnest(set) s GROUP BY id', 0.5)",
		"similarity_join('SELECT id, set FROM rows', 'SELECT id, set FROM $table', 0.5)",
		"similarity_neighbors('SELECT id, set FROM rows', 'SELECT id, set FROM $table', 3)",
		"similarity_neighbors('SELECT k, body FROM rows', 'SELECT id, body FROM $table', 3, 0, left_key => NULL::text, right_key => NULL::int, tokens => 'shingles(3)')",
		"similarity_match('SELECT id, set FROM rows', 'SELECT id, set FROM $table', 0.5)",
		"similarity_profile('SELECT id, set FROM $table', '{0.9,0.5}')",
		"similarity_profile('SELECT id, set FROM $table', '{0.9,0.5}', sample => 50, seed => 7)",
		"similarity_profile('SELECT id, wide FROM $table', '{0.9,0.5}', sample => NULL)",
		"minhash_self_join('SELECT id, set FROM $table', 0.5)",
		"minhash_self_join('SELECT id, body FROM $table', 0.5, tokens => 'shingles(3)')",
		"minhash_signatures('SELECT id, words FROM $table')",
		"minhash_signatures('SELECT k, body FROM $table', 128, 1, key => NULL::text, tokens => 'shingles(3)')",
		"duplicate_groups('SELECT id, set FROM $table', 0.5)",
		"duplicate_groups('SELECT id, set FROM $table', 0.5, method => 'star')",
		"duplicate_groups('SELECT CASE WHEN id % 3 > 0 THEN id ELSE -id END, set[:5] FROM $table', 0.5)",
		"duplicate_groups('SELECT (id % 500 - 250) * 36000000000000000 + id, set FROM $table', 0.5)",
		"duplicate_groups('SELECT id, set FROM $table', 0.5, 'idf_cosine')",
		"duplicate_groups('SELECT id, wide FROM $table', 0.5)",
		"duplicate_groups('SELECT k, words FROM $table', 0.5, key => NULL::text)",
		"duplicate_groups('SELECT id, body FROM $table', 0.5, tokens => 'shingles(3)')")
	{
		my ($alone, $by_workers) = results("SELECT * FROM $call");
		like($alone, qr/^[1-9]/, "$call: rows");
		is($by_workers, $alone, "$call: the same by workers");
	}
}

# Inside of a parallel plan, whose workers have none of their own.
my ($alone, $by_workers) = results('SELECT id, pairs() FROM rows WHERE id < 4');
is($by_workers, $alone, 'a function in a parallel plan');
$session->query('RESET max_parallel_workers_per_gather');
is( $session->query(
		q{CREATE FUNCTION looped() RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
		  pairs CURSOR FOR SELECT a FROM similarity_self_join('SELECT id, set FROM rows', 0.5);
		  pair record;
		  found int := 0;
		BEGIN
		  OPEN pairs;
		  FETCH pairs INTO pair;
		  FOR pair IN SELECT * FROM duplicate_groups('SELECT id, set FROM rows WHERE id <= 30', 0.5) WHERE NOT is_representative LOOP
		    found := found + (SELECT count(*) FROM similarity_join('SELECT id, set FROM parts', format('SELECT id, set FROM rows WHERE id = %s', pair.id), 1));
		  END LOOP;
		  FETCH pairs INTO pair;
		  CLOSE pairs;
		  RETURN (pair IS NOT NULL) || ' ' || (found > 0);
		END $$;
		SELECT looped()}),
	'true true', 'calls in a loop of another call, beside an open cursor');

# Errors with and without workers.
sub errors
{
	my ($query) = @_;
	return map {
		my ($status, $out, $error) = $node->psql('postgres', "SET max_parallel_workers_per_gather = $_; $query");
		# Which of the wrong rows comes first is open.
		$error =~ s/"\d+"/"n"/gr =~ s/^CONTEXT:  parallel worker\n/CONTEXT:  /mr
	} (0, 2);
}

for my $query (
	'SELECT id, ARRAY[1 / (id - 500)] FROM rows',
	'SELECT nullif(id, 500), set FROM rows',
	'SELECT id, array_append(set, nullif(id, 500)) FROM rows',
	'SELECT id % 999, set FROM rows',
	'SELECT id, body FROM rows',
	'SELECT id, set, words FROM rows',
	'SELECT id, set FROM nothing',
	'SELECT id, set FRM rows',
	'rows',
	'SELECT id, set FROM rows; SELECT 1, ARRAY[1]',
	'WITH new AS (INSERT INTO parts VALUES (0, NULL) RETURNING *) SELECT * FROM new',
	'SELECT id, set FROM rows WHERE set = $1')
{
	my ($alone, $by_workers) = errors("SELECT * FROM similarity_self_join('$query', 0.9)");
	like($alone, qr/ERROR/, "$query: refused");
	is($by_workers, $alone, "$query: the same error by workers");
}
for my $query ('SELECT id, set FROM rows', 'SELECT k, body FROM rows', 'SELECT id, body, 1 FROM rows')
{
	for my $tokens (qw(shingles(3) words(nothing)))
	{
		my ($alone, $by_workers) = errors("SELECT * FROM similarity_self_join('$query', 0.9, tokens => '$tokens')");
		like($alone, qr/ERROR/, "$query, $tokens: refused");
		is($by_workers, $alone, "$query, $tokens: the same error by workers");
	}
}

# A cancel reaches session and workers.
my ($status, $out, $error) = $node->psql('postgres',
	q{SET statement_timeout = 500; SELECT count(*) FROM duplicate_groups('SELECT id, slow(set) FROM rows', 0.5)});
like($error, qr/canceling statement due to statement timeout/, 'a statement whose workers read is cancelled');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}),
	'its workers end');

$session->quit;
$node->stop;
done_testing();
