# Texts for the parameters that are queries: with the expected columns, and with everything that does not belong there.
package Hostile::Queries;

use strict;
use warnings;

use Equivalence::Draw;
use Exporter 'import';

our @EXPORT = qw(draw_query draw_key with_keys);

# Queries with the columns that some function expects.
my @sets = ('SELECT id, s FROM sets4', 'SELECT id, s FROM sets8', 'SELECT id, s FROM sets_text', 'SELECT id, s FROM nasty4',
	'SELECT id, s FROM nasty8', 'SELECT id, s FROM nasty_text', 'SELECT id::int, s FROM sets4 ORDER BY id DESC',
	'TABLE partitioned', 'SELECT * FROM a_view', 'SELECT * FROM a_matview', 'SELECT id, s FROM domains',
	'SELECT i, ARRAY[i % 10, i % 7, i % 3] FROM generate_series(1, 20000) i', 'SELECT id, s FROM far_away',
	'SELECT i, array(SELECT generate_series(i, i + 400)) FROM generate_series(1, 500) i', 'SELECT id, s FROM nothing',
	q{SELECT i, string_to_array(repeat('a b c d ', 5000), ' ') || i::text FROM generate_series(1, 20) i},
	'SELECT id, s FROM sets4 UNION ALL SELECT id, s FROM sets4', 'SELECT 1::bigint, NULL::int[]',
	'SELECT 9223372036854775807, s FROM sets8', 'SELECT -9223372036854775808, s FROM sets8 LIMIT 1');
my @weighted = ('SELECT id, terms, weights FROM documents', 'SELECT id, terms, weights FROM nasty_documents',
	'SELECT id, s, array_fill(1::float4, ARRAY[cardinality(s)]) FROM sets4', "SELECT id, s, '{}'::float4[] FROM sets8",
	'SELECT id, terms, weights FROM documents ORDER BY random()', 'SELECT * FROM tf_idf($$SELECT id, s FROM sets_text$$)');
my @vectors = ('SELECT id, v FROM vectors', 'SELECT id, v FROM nasty_vectors', 'SELECT i, ARRAY[i, -i, 0.5]::float4[] FROM generate_series(1, 3000) i');
my @terms = ('SELECT id, s FROM sets_text', 'SELECT id, s FROM nasty_text', q{SELECT i, ARRAY['a', 'b', i::text] FROM generate_series(1, 5000) i});
my @edges = ('SELECT a, b, w FROM edges', 'SELECT a, b FROM edges', 'SELECT a, b, w FROM nasty_edges', 'SELECT a, b FROM nasty_edges',
	'SELECT i, i % 100 FROM generate_series(1, 20000) i', 'SELECT 1, 1, 1.0::float8', 'SELECT a, b, -w FROM edges',
	'SELECT i, (i * 7919) % 500, 1e300 FROM generate_series(1, 500) i');
my @pairs = (@edges, 'SELECT a, b, similarity FROM similarity_join($$SELECT id, s FROM sets4$$, $$SELECT id, s FROM sets4$$, 0.3)',
	'SELECT i, j, i * j FROM generate_series(1, 150) i, generate_series(1, 150) j', "SELECT i % 50, i % 70, 'NaN'::float8 FROM generate_series(1, 500) i",
	'SELECT i % 300, i % 7, random() FROM generate_series(1, 20000) i', 'SELECT a, b, w::numeric FROM edges', 'SELECT id, id, 1 FROM sets8');
my @nodes = ('SELECT id FROM sets4', 'SELECT 1', 'SELECT NULL::bigint', 'SELECT generate_series(1, 20000)', 'SELECT a FROM edges');

# Comparisons of pairs, by a column each.
my @comparisons = ('SELECT i % 2 = 0 AS a, i % 3 = 0 AS b, i % 5 = 0 AS c FROM generate_series(1, 500) i',
	'SELECT random() AS a, random()::real AS b, (random() * 4)::int AS c, NULL::numeric FROM generate_series(1, 20000)', "SELECT 'NaN'::float8 AS a, true, 1",
	'SELECT 1e300, -1e300, i % 15, i % 2 = 0, i::numeric FROM generate_series(1, 500) i', 'SELECT i, i, i FROM generate_series(-3, 3) i');

# Queries that no function expects.
my @wrong = ('', ' ', ';', '--', '/*', 'SELECT', 'SELECT 1, 2, 3, 4, 5', 'SELECT NULL, NULL', "SELECT 'a', 'b'", 'SELECT id, id FROM sets4',
	'SELECT s, id FROM sets4', 'SELECT id::text, s FROM sets4', 'SELECT id, s::text FROM sets4', 'SELECT sets4 FROM sets4',
	'SELECT id, ARRAY[ROW(1, 2)] FROM sets4', 'SELECT * FROM pg_class', 'TABLE no_columns', 'SELECT 1::bigint, s FROM (SELECT NULL::int2vector s) x',
	"SELECT 1, '1 2 3'::int2vector", "SELECT 1, '{red}'::color[]", 'SELECT 1, array_fill(1, ARRAY[2,2])', 'SELECT 1, ARRAY[1.5]',
	'SELECT (1)::positive, ARRAY[2]::few_ints', "SELECT 1, '{1}'::positive[]", "SELECT 1, '{99}'::few_ints", 'SELECT id, s FROM no_such_table',
	'SELECT syntax error', 'SELECT $1, $2', 'SELECT 1; SELECT 2', 'SELECT id, s FROM sets4; DELETE FROM docs', 'DELETE FROM docs RETURNING id, tokens',
	'WITH gone AS (DELETE FROM docs RETURNING id, tokens) SELECT * FROM gone', 'INSERT INTO sets4 SELECT * FROM sets4 RETURNING id, s',
	'WITH RECURSIVE r AS (SELECT 1 i UNION ALL SELECT i + 1 FROM r WHERE i < 1000) SELECT i, ARRAY[i] FROM r',
	'WITH RECURSIVE r AS (SELECT 1 i UNION ALL SELECT i + 1 FROM r) SELECT i, ARRAY[i] FROM r', 'SELECT id, s INTO elsewhere FROM sets4',
	'SELECT id, s FROM sets4 FOR UPDATE', 'VALUES (1, ARRAY[1, 2]), (2, ARRAY[1, 2, 3])', 'SHOW ALL', 'EXPLAIN SELECT 1', 'CREATE TABLE elsewhere (a int)',
	'DROP EXTENSION simjoin CASCADE', 'DROP SCHEMA hostile CASCADE', 'TRUNCATE sets4', 'COMMIT', 'ROLLBACK', 'BEGIN', 'SAVEPOINT a', 'ABORT AND CHAIN',
	'DECLARE c CURSOR FOR SELECT 1', 'FETCH ALL FROM c', 'CLOSE ALL', 'EXECUTE p', 'DEALLOCATE ALL', 'DISCARD ALL', 'SET simjoin.device = gpu',
	'RESET ALL', 'LOCK TABLE sets4', 'VACUUM', 'REFRESH MATERIALIZED VIEW a_matview', 'COPY sets4 TO STDOUT', 'COPY sets4 FROM STDIN',
	"DO 'BEGIN PERFORM 1; END'", 'CALL commits()', 'LISTEN a', 'SELECT id, s FROM sets4 WHERE explode(id::int) > 0',
	'SELECT i / (i - 900), ARRAY[i] FROM generate_series(1, 1000) i', 'SELECT i, ARRAY[1 / (900 - i)] FROM generate_series(1, 1000) i',
	'SELECT id, s FROM sets4 WHERE pg_cancel_backend(pg_backend_pid())', 'SELECT id, s FROM sets4 WHERE pg_sleep(0.001) IS NOT NULL',
	'SELECT i, ARRAY[i] FROM generate_series(1, 100000000) i', 'SELECT id, s FROM no_handler', 'SELECT a.id, b.s FROM sets4 a, sets4 b, sets4 c',
	'SELECT i, i + 1 FROM generate_series(1, 100000000) i', 'SELECT i % 3, ARRAY[i] FROM generate_series(1, 500) i');

# Side effects of functions in a query.
my @meddling = ('DROP TABLE sets4', 'DROP TEXT SEARCH CONFIGURATION odd_words', 'ALTER TABLE sets4 DROP COLUMN s', 'TRUNCATE sets4', 'DELETE FROM sets4', 'SET simjoin.memory_limit = 1024',
	'SET simjoin.cpu_threads = 1', 'SET simjoin.device = cpu', 'SET simjoin.algorithm = bitmap', 'DROP EXTENSION simjoin CASCADE',
	'SELECT count(*) FROM similarity_self_join(\'SELECT id, s FROM sets4\', 0.5)', 'SELECT 1 / 0', 'RESET ALL', 'CREATE TEMP TABLE made(a int)',
	'SELECT create_dedup_view(\'meddled\', \'SELECT id, tokens FROM docs\', 0.5)', 'SELECT count(*) FROM sets4 a, sets4 b WHERE a.s ~= b.s');

# A query whose rows come from functions of the extension.
sub nested_query
{
	my ($depth) = @_;
	my $inner = quote(draw_query('query', $depth + 1));
	my $edges = quote(draw_query('edges', $depth + 1));
	return pick("SELECT a, ARRAY[b] FROM similarity_self_join($inner, 0.5)", "SELECT a, b, similarity FROM similarity_self_join($inner, 0.3)",
		"SELECT node, ARRAY[component] FROM connected_components($edges)", "SELECT id, ARRAY[group_id] FROM duplicate_groups($inner, 0.5)",
		"SELECT a, b, similarity FROM similarity_neighbors($inner, $inner, 3)", "SELECT id, terms, weights FROM " . pick('tf_idf', 'idf') . "($inner)",
		"SELECT a, b, similarity FROM best_matches($edges, 'assignment')", "SELECT a, ARRAY[b] FROM similarity_match($inner, $inner, 0.3, method => 'mutual')",
		"SELECT id, tokens FROM flyhash_signatures($inner, 100)", "SELECT node, ARRAY[rank] FROM pagerank($edges)",
		"SELECT id, s FROM sets4 WHERE EXISTS (SELECT FROM minhash_self_join($inner, 0.5))", "SELECT id, minhash_bands(signature, 4, 4) FROM minhash_signatures($inner)",
		"SELECT id, ARRAY[cluster] FROM cluster_documents($inner, 0.2" . pick(')', ', 20, 7, merge => 0.5)'));
}

# Types of keys, and how a number becomes one.
my %keys = (
	uuid => 'md5(#::text)::uuid', text => '#::text', varchar => '#::varchar', numeric => '# / 7.0', 'hostile.pair' => 'ROW(# % 5, #)::hostile.pair',
	'hostile.color' => q{(CASE WHEN # > 2 THEN 'red' ELSE 'blue' END)::hostile.color}, record => 'ROW(#, NULL)', 'int[]' => 'ARRAY[#]::int[]',
	smallint => '(# % 30000)::smallint', 'hostile.positive' => '(abs(#) + 1)::hostile.positive', bytea => 'repeat(#::text, 500)::bytea',
	point => 'point(0, #)', xid => q{'7'::xid}, json => 'to_json(#)', minhash => 'minhash(ARRAY[#]::int[], 8)', bool => '(# % 2 = 0)');

# Returns a type of keys.
sub draw_key
{
	return pick('uuid', 'text', 'uuid', sort keys %keys);
}

# Returns the query with keys of a type instead of numbers.
sub with_keys
{
	my ($query, $name, $key) = @_;
	my $value = sub { my ($number) = @_; $keys{$key} =~ s/#/$number/gr };
	return "SELECT " . $value->('a') . " FROM ($query) x (a)" if $name eq 'nodes';
	return "SELECT " . $value->('a') . ', ' . $value->('b') . ($query =~ /\bw\b/ ? ', w' : '') . " FROM ($query) x (a, b" . ($query =~ /\bw\b/ ? ', w' : '') . ')'
	  if $name eq 'edges' || $name eq 'pairs';
	return "SELECT " . $value->('i') . ", s FROM ($query) x (i, s)";
}

# Returns the query with texts in the place of sets.
sub with_texts
{
	my ($query) = @_;
	my $text = pick("array_to_string(s, ' ')", "array_to_string(s, ' ')", "array_to_string(s, '')::varchar", "array_to_string(s, ' ')::char(40)",
		"array_to_string(s, ' ') COLLATE \"C\"", "repeat(array_to_string(s, E'\\t'), 50)", 's::text', 'NULL::text', "repeat('x ', 200000)", "repeat('x', 100000)");
	return "SELECT i, $text FROM ($query) x (i, s)";
}

# Returns the text of a query for a parameter of this name. `key` is the type of keys that the function is called with, if any,
# and `texts` says whether it wants texts.
sub draw_query
{
	my ($name, $depth, $key, $texts) = @_;
	my @fitting = $name eq 'edges' ? (@edges) : $name eq 'pairs' ? (@pairs) : $name eq 'nodes' ? (@nodes) : (@sets, @sets, @weighted, @vectors, @terms, @comparisons);
	my $query = weighted(
		9 => pick(@fitting),
		4 => pick(@wrong),
		1 => pick(@sets, @weighted, @vectors, @edges, @nodes),
		$depth < 3 ? (2 => nested_query($depth)) : ());
	$query = with_texts($query) if $texts && chance(0.9);
	$query = "SELECT i, array_to_string(s, ' ')::tsvector FROM ($query) x (i, s)" if !$texts && chance(0.03);
	$query = with_keys($query, $name, $key) if $key && chance(0.8);
	$query = "SELECT * FROM ($query) x WHERE meddle(" . quote(pick(@meddling)) . ') IS NOT NULL' if chance(0.04);
	$query .= pick(';', '; ', ' -- ', ' LIMIT 3', ' LIMIT 0', ' OFFSET 2', '; SELECT 1', "\n;\n") if chance(0.1);
	return $query;
}

1;
