-- The records of two tables matched by pg_trgm alone, with its index: the most similar right row of each left row. test/bench/linkage runs this after
-- linkage.sql.
CREATE EXTENSION pg_trgm;
\c
SET client_min_messages = warning;
CREATE INDEX ON buy USING gin (name gin_trgm_ops);
CREATE INDEX ON acm USING gin (title gin_trgm_ops);
CREATE INDEX ON zagats USING gin ((name || ' ' || addr) gin_trgm_ops);
SET simjoin.enable_join = off;
CALL judge('Abt-Buy', 'pg_trgm, names, best',
           'SELECT x.id AS a, y.id AS b FROM abt x CROSS JOIN LATERAL (SELECT id FROM buy y WHERE y.name % x.name ORDER BY similarity(y.name, x.name) DESC, id LIMIT 1) y', 'abt_buy');
CALL judge('DBLP-ACM', 'pg_trgm, titles, best',
           'SELECT x.id AS a, y.id AS b FROM dblp x CROSS JOIN LATERAL (SELECT id FROM acm y WHERE y.title % x.title ORDER BY similarity(y.title, x.title) DESC, id LIMIT 1) y', 'dblp_acm');
CALL judge('Fodors-Zagats', 'pg_trgm, names and addresses, best',
           $$SELECT x.id AS a, y.id AS b FROM fodors x CROSS JOIN LATERAL (SELECT id FROM zagats y WHERE (y.name || ' ' || y.addr) % (x.name || ' ' || x.addr)
                                                                        ORDER BY similarity(y.name || ' ' || y.addr, x.name || ' ' || x.addr) DESC, id LIMIT 1) y$$, 'fodors_zagats');
-- Persons, the first of them a twentieth: their names and dates of birth.
CREATE INDEX ON persons USING gin ((full_name || ' ' || dob) gin_trgm_ops);
CREATE TABLE some_same AS SELECT a, b FROM (SELECT a, b FROM same_person UNION ALL SELECT b, a FROM same_person) s WHERE a % 20 = 0;
SET pg_trgm.similarity_threshold = 0.5;
CALL judge('historical_50k', 'pg_trgm, names and births >= 0.5, a twentieth',
           $$SELECT x.id AS a, y.id AS b FROM persons x JOIN persons y ON (y.full_name || ' ' || y.dob) % (x.full_name || ' ' || x.dob) AND x.id <> y.id WHERE x.id % 20 = 0$$, 'some_same');
SELECT data, method, pairs, precision, recall, f1, b3, cpu FROM results WHERE method LIKE 'pg_trgm%' ORDER BY n;
