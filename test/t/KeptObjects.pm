# What databases keep of the extension, for tests of updates: tables, indexes, views and streams that a role without other
# rights makes, what they contain, and how they go on.
package KeptObjects;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw($as_maker $make $contents $change $refresh $differences);

# The role maker exists, and may use the schema public.
our $as_maker = 'SET SESSION AUTHORIZATION maker; SET simjoin.similarity_threshold = 0.85;';

# Objects of all kinds that keep something of the extension, made by a role without other rights.
# The default of batch has changed since 0.1.0, so the stream's first call names it, and leaves that batch open.
our $make = q{
	CREATE TABLE texts (
		id bigint PRIMARY KEY,
		body text,
		tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED,
		signature minhash GENERATED ALWAYS AS (minhash(shingles(body), 16)) STORED);
	CREATE INDEX texts_by_hash ON texts USING hash (signature);
	CREATE INDEX texts_by_order ON texts (signature);
	CREATE INDEX texts_by_bands ON texts USING gin (minhash_bands(signature, 4, 4));
	INSERT INTO texts (id, body)
	SELECT row_number() OVER (ORDER BY objoid, classoid, objsubid), description FROM pg_description
	WHERE objoid < 16384 LIMIT 2000;
	ANALYZE texts;
	CREATE VIEW near AS SELECT a.id AS a, b.id AS b, a.tokens <%> b.tokens AS distance
	FROM texts a JOIN texts b ON a.id < b.id AND jaccard_similarity(a.tokens, b.tokens) >= 0.8;
	CREATE VIEW near_by_setting AS SELECT a.id AS a, b.id AS b FROM texts a JOIN texts b ON a.id < b.id AND a.tokens ~= b.tokens;
	SELECT create_dedup_view('groups', 'SELECT id, tokens FROM texts', 0.7, max_group_share => 1);
	SELECT create_dedup_view('tracked', 'SELECT id, tokens FROM texts', 0.7, max_group_share => 1, track_changes => true);
	SELECT create_dedup_view('stars', 'SELECT id, tokens FROM texts ORDER BY body, id', 0.7, method => 'star',
		keep => 'first_row', track_changes => true);
	SELECT create_dedup_view('sharing', 'SELECT id, tokens FROM texts', 12, measure => 'overlap', max_group_share => 1, track_changes => true);
	CREATE TABLE bags AS SELECT * FROM tf_idf('SELECT id, regexp_split_to_array(lower(body), ''\W+'') FROM texts', 12);
	SELECT cluster_stream_create('stream');
	SELECT count(*) FROM cluster_stream('stream', 'SELECT * FROM bags WHERE id <= 1000 ORDER BY id', 0.5, batch => 1024);
};
# Views that 0.1.0 made have no entities.
our $contents = join(";\n",
	(map { "SELECT '$_', count(*), md5(string_agg(ROW(id, group_id, is_representative, similarity)::text, E'\\n' ORDER BY id)) FROM $_" }
	  qw(groups tracked stars sharing)),
	(map { "SELECT '$_', count(*), md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM $_ t" }
	  qw(texts near near_by_setting stream bags)),
	'SELECT count(*), count(DISTINCT t.id) FROM texts t JOIN texts s USING (signature)',
	'SELECT count(*) FROM texts WHERE minhash_bands(signature, 4, 4) && (SELECT minhash_bands(signature, 4, 4) FROM texts WHERE id = 9)');
our $change = q{
	INSERT INTO texts (id, body) SELECT id + 10000, body || '!' FROM texts WHERE id % 20 = 0;
	UPDATE texts SET body = reverse(body) WHERE id % 50 = 1;
	DELETE FROM texts WHERE id % 50 = 2;
};
our $refresh = join(";\n",
	(map { "SELECT '$_', new_rows, changed_rows, removed_rows, new_pairs FROM refresh_dedup_view('$_')" } qw(groups tracked stars sharing)),
	q{SELECT 'stream', count(*), md5(string_agg(c::text, ' ' ORDER BY id))
	FROM cluster_stream('stream', 'SELECT * FROM bags WHERE id > 1000 ORDER BY id', 0.5) c});
# Rows of the refreshed views that differ from groups of all rows.
our $differences = join(" UNION ALL ", map {
	my ($view, $query) = @$_;
	"(SELECT * FROM (SELECT id, group_id, is_representative, similarity FROM $view EXCEPT SELECT * FROM duplicate_groups($query)) v)
	UNION ALL (SELECT * FROM (SELECT * FROM duplicate_groups($query) EXCEPT SELECT id, group_id, is_representative, similarity FROM $view) d)" }
	[ 'groups', q{'SELECT id, tokens FROM texts', 0.7, max_group_share => 1} ],
	[ 'tracked', q{'SELECT id, tokens FROM texts', 0.7, max_group_share => 1} ],
	[ 'sharing', q{'SELECT id, tokens FROM texts', 12, measure => 'overlap', max_group_share => 1} ],
	[ 'stars', q{'SELECT id, tokens FROM texts ORDER BY body, id', 0.7, method => 'star', keep => 'first_row'} ]);

1;
