# The page of similarity_report: a document that hostile texts cannot leave, the rights it is made with, and what a browser makes of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Browser;
use Simjoin;
use Test::More;

my $node = start_node('report');

# Texts that end a script, open a tag, turn the line round, are long, empty, or in several scripts. All but the last are in pairs.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE notes (id int PRIMARY KEY, body text);
	INSERT INTO notes SELECT i, 'note ' || i / 3 || ' about the history of rivers' || CASE WHEN i % 3 = 1 THEN ' and lakes' ELSE '' END
	FROM generate_series(1, 60) i;
	INSERT INTO notes SELECT 100 + i, 'n/a' FROM generate_series(1, 7) i;
	INSERT INTO notes SELECT 200 + 10 * n + i, replace(body, '#', i::text) FROM generate_series(1, 2) i, unnest(ARRAY[
		'</script><script>document.title = ''taken''</script><!-- <script> # "quoted" \\ ' || repeat('words that fill the text ', 8),
		'<img src=x onerror="document.title = ''taken''"> # &amp; &lt; ' || repeat('some other words ', 8),
		chr(8232) || chr(8233) || chr(8238) || ' שלום עולם # ' || chr(1) || chr(127) || repeat('and yet other words ', 8), '相似的字符串连接在这里测试一下#𠀀𠀁',
		repeat('a long text of many words ', 500) || '#']) WITH ORDINALITY t (body, n);
	INSERT INTO notes VALUES (301, NULL), (302, ''), (303, E' \t\n')});
my $folder = PostgreSQL::Test::Utils::tempdir();
chmod(0755, $folder);

# Returns the page of a call, and writes it to a file.
sub report
{
	my ($name, $arguments) = @_;
	my $page = $node->safe_psql('postgres', "SELECT similarity_report($arguments)");
	unlink("$folder/$name.html");
	append_to_file("$folder/$name.html", $page);
	return $page;
}

my $page = report('notes', q{'TABLE notes', tokens => 'shingles(3)'});
is($page, report('notes', q{'TABLE notes', tokens => 'shingles(3)'}), 'the same rows give the same page');
unlike($page, qr/[^\x0a\x20-\x7e]/, 'the page is printable ASCII');
is(() = $page =~ /<script/g, 2, 'it has two scripts');
is(() = $page =~ m{</script}g, 2, 'and these end where they should');
unlike($page, qr/<[^<>]*(src|href)=|url\(|\@import|https?:/, 'it loads nothing');
like($page, qr/Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; /, 'and may not');
# Ids that mean something to COPY, and sets.
$page = report('sets', q{$$SELECT 'a\\b' || chr(9) || chr(10) || i, ARRAY[i / 2, i / 4, i / 4 + 1, i / 4 + 2] FROM generate_series(1, 40) i$$, key => NULL::text});

# Databases of other encodings, and bytes without one, which stand for themselves as long as they are UTF-8.
for my $database ([ 'LATIN1', 'chr(228)', '\u00e4' ], [ 'SQL_ASCII', q{E'\xc3\xa4 \xff \xf0\x9f\x98\x80'}, '\u00e4 \ufffd \ud83d\ude00' ])
{
	my ($encoding, $text, $shown) = @$database;
	my $name = lc($encoding);
	$node->safe_psql('postgres', "CREATE DATABASE $name ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql($name, "CREATE EXTENSION simjoin; CREATE TABLE notes AS SELECT i, $text AS body FROM generate_series(1, 2) i");
	like($node->safe_psql($name, q{SET client_encoding = 'UTF8'; SELECT similarity_report('TABLE notes', tokens => 'shingles(1)')}),
		qr/"\Q$shown\E"/, "a database in $encoding");
}

# What a role's own objects do is not done with the rights of another one, and the role reads what it may read.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE eve; CREATE SCHEMA eve AUTHORIZATION eve; CREATE ROLE reader; GRANT USAGE ON SCHEMA eve TO reader;
	SET ROLE eve;
	CREATE FUNCTION eve.count_if_less(bigint, int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'eve was here'; END $$;
	CREATE OPERATOR eve.<= (LEFTARG = bigint, RIGHTARG = int, FUNCTION = eve.count_if_less);
	CREATE OPERATOR eve.> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = eve.count_if_less);
	CREATE OPERATOR eve.= (LEFTARG = bigint, RIGHTARG = int, FUNCTION = eve.count_if_less);
	CREATE FUNCTION eve.unnest(float8[]) RETURNS SETOF float8 LANGUAGE plpgsql AS $$ BEGIN RAISE 'eve was here'; END $$;
	CREATE FUNCTION eve.format(text, bigint) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'eve was here'; END $$;
	CREATE FUNCTION eve.duplicate_groups(query text, threshold float8, tokens public.tokenizer, max_group_share float8, measure text)
	RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8) LANGUAGE plpgsql AS $$ BEGIN RAISE 'eve was here'; END $$;
	CREATE DOMAIN eve.text AS int; CREATE DOMAIN eve.int8 AS int; CREATE DOMAIN eve.float8 AS int;
	RESET ROLE; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA eve TO reader});
my $call = q{similarity_report('TABLE public.notes', tokens => 'shingles(3)')};
my ($status, $stdout, $stderr) = $node->psql('postgres', "SET ROLE reader; SELECT $call");
like($stderr, qr/permission denied for table notes/, 'a role needs the right to read the rows');
$node->safe_psql('postgres', 'GRANT SELECT ON notes TO reader');
is( $node->safe_psql('postgres', "CREATE TEMP TABLE expected AS SELECT $call AS page;
		SET search_path = eve, public, pg_catalog; SELECT $call OPERATOR(pg_catalog.=) page FROM expected"),
	't', 'what a search path puts before pg_catalog is not called');

SKIP:
{
	my $path = Browser::path();
	skip('Chromium is not installed', 1) if !defined($path);
	subtest 'in a browser' => sub {
		my $browser = Browser->start($path, $folder);
		$browser->prefer('light');
		$browser->load("file://$folder/notes.html");
		is_deeply([ $browser->complaints ], [], 'no error, and nothing that the policy refuses');
		is_deeply([ $browser->requests ], ["file://$folder/notes.html"], 'no other file is asked for');
		is($browser->value('document.title'), 'Similarity report', 'no text is run');
		is($browser->value('document.querySelectorAll("img, main script").length'), 0, 'nor is one an element');

		# ---- What is shown ----
		is( $browser->value('[...document.querySelectorAll("tr[data-threshold]")].map((row) => row.dataset.threshold).join()'),
			'1,0.9,0.8,0.7,0.6,0.5', 'thresholds');
		is( $browser->value('[...document.querySelectorAll("tr[data-threshold]")].map((row) => row.cells[2].textContent.replace(",", "")).join()'),
			$node->safe_psql('postgres', q{SELECT string_agg(pairs::text, ',' ORDER BY threshold DESC)
				FROM similarity_profile('TABLE notes', '{1,0.9,0.8,0.7,0.6,0.5}', tokens => 'shingles(3)')}),
			'their pairs');
		like($browser->value('document.getElementById("blanks").textContent'), qr/^1 rows are NULL, and 2 are empty/, 'blanks');
		like($browser->value('document.querySelector("main").innerText'), qr/7 rows with the set of\s+101\s+n\/a/, 'placeholders');
		like($browser->value('document.querySelector("main").innerText'), qr/The first 4,000 of 13,001 characters\./, 'a long text is cut, and says so');
		is( $browser->value('[...document.querySelectorAll(".card")].map((card) => [...card.querySelectorAll("mark")].map((mark) => mark.textContent).join())
				.filter((marks) => marks === "1,2").length > 0'),
			JSON::PP::true, 'what differs is marked');
		my $shown = $browser->value('[...document.querySelectorAll(".value")].map((value) => value.textContent).find((text) => text.startsWith("</script>"))');
		like($shown, qr{^</script><script>document\.title = 'taken'</script><!-- <script> 1 "quoted" \\ words}, 'a hostile text is shown as it is');

		# ---- Verdicts ----
		my $take = 'document.getElementById("take").textContent';
		my $precision = sub { $browser->value("document.querySelector('tr[data-threshold=\"$_[0]\"] .precision').textContent") };
		my $pairs = sub { $browser->value("document.querySelector('tr[data-threshold=\"$_[0]\"]').cells[2].textContent") };
		is($browser->value($take), 'Judge pairs to see a threshold.', 'no threshold without verdicts');
		is($browser->value('document.getElementById("verdicts").value'), '', 'and no verdicts');
		$browser->press(('y') x 9, 'n');
		# 90 of 100, and Wilson's error of 10 verdicts, where the step has more pairs that are not judged.
		my $first = $pairs->(1);
		cmp_ok($first, '>', 10, 'pairs of the first step');
		my $error = sqrt(10 * 0.9 * 0.1 + 0.25) / 11 * sqrt(1 - 10 / $first);
		is($precision->(1), sprintf("90.0 %% \x{b1} %.1f", 100 * $error), 'the precision of ten verdicts, and its error');
		is($precision->('0.9'), "\x{2013}", 'none of a step without verdicts');
		is($browser->value($take), 'No judged threshold reaches 95 %.', 'no threshold is precise enough');
		$browser->value('document.getElementById("target").value = "90"; document.getElementById("target").onchange()');
		is($browser->value($take), sprintf("Take 1: 90.0 %% of the pairs over it are the same, \x{b1} %.1f.", 100 * $error), 'one is for another precision');
		my $second = $browser->value('document.querySelectorAll("section")[1].querySelectorAll(".card").length');
		cmp_ok($second, '>', 3, 'pairs of the second step');
		$browser->press(('y') x $second);
		my $both = $pairs->('0.9');
		my $rest = $both - $first;
		my $second_error = 0.5 / ($second + 1) * sqrt(1 - $second / $rest);
		is( $precision->('0.9'),
			sprintf("%.1f %% \x{b1} %.1f", 100 * (0.9 * $first + $rest) / $both, 100 * sqrt(($first * $error)**2 + ($rest * $second_error)**2) / $both),
			'two steps are weighted by their pairs');
		like($browser->value($take), qr/^Take 0\.9: /, 'the lowest threshold is taken');
		$browser->press('k', 'u');
		is($browser->value('[...document.querySelectorAll("tr[data-threshold]")][1].querySelector(".judged").textContent'),
			($second - 1) . " of $second", 'a verdict is taken back');
		my $copy = $browser->value('document.getElementById("verdicts").value');
		is(scalar(() = $copy =~ /^\d+\t\d+\t(same|different)$/mg), 9 + $second, 'a line for each verdict');
		append_to_file("$folder/verdicts.sql", $copy);
		$node->safe_psql('postgres', 'CREATE TABLE verdicts (a bigint, b bigint, verdict text)');
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$folder/verdicts.sql" ], 'psql reads them');
		is($node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE verdict = 'same'), count(*) FILTER (WHERE verdict = 'different') FROM verdicts}),
			(8 + $second) . '|1', 'all of them');
		$browser->load("file://$folder/notes.html");
		is($browser->value('document.getElementById("verdicts").value'), $copy, 'they are still there when the page is loaded again');

		# ---- Light and dark ----
		my $brightness = sub {
			my ($property) = @_;
			my ($red, $green, $blue) = $browser->value("getComputedStyle(document.body).$property") =~ /(\d+), (\d+), (\d+)/;
			return $red + $green + $blue;
		};
		cmp_ok($brightness->('backgroundColor'), '>', 600, 'a light page');
		cmp_ok($brightness->('color'), '<', 200, 'has dark letters');
		$browser->prefer('dark');
		cmp_ok($brightness->('backgroundColor'), '<', 200, 'a dark page');
		cmp_ok($brightness->('color'), '>', 600, 'has light letters');

		# ---- Sets, and ids that are texts ----
		$browser->load("file://$folder/sets.html");
		is_deeply([ $browser->complaints ], [], 'sets: no error');
		$browser->press('n');
		like($browser->value('document.getElementById("verdicts").value'), qr/^COPY verdicts \(a, b, verdict\) FROM stdin;\n(a\\\\b\\t\\n\d+\t){2}different\n\\\.\n$/, 'ids are texts');
		unlink("$folder/verdicts.sql");
		append_to_file("$folder/verdicts.sql", $browser->value('document.getElementById("verdicts").value'));
		$node->safe_psql('postgres', 'CREATE SCHEMA texts CREATE TABLE verdicts (a text, b text, verdict text)');
		$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') . " options='-c search_path=texts'", '-f', "$folder/verdicts.sql" ], 'psql reads them');
		is($node->safe_psql('postgres', q{SELECT a ~ ('^a\\\\b' || chr(9) || chr(10) || '\d+$'), verdict FROM texts.verdicts}), 't|different', 'as they are');
		is($browser->value('[...document.querySelectorAll(".card")].map((card) => [...card.querySelectorAll("mark")].length).filter((n) => n === 2).length > 0'),
			JSON::PP::true, 'elements of one side alone are marked');
	};
}

$node->stop;
done_testing();
