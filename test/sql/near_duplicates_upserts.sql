-- INSERT ... ON CONFLICT DO UPDATE: the row that it updates does not count as a similar one.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simjoin;
CREATE SCHEMA near_duplicates_upserts_test;
SET search_path = near_duplicates_upserts_test, public;

CREATE TABLE articles (id int PRIMARY KEY, body text, tokens int[] GENERATED ALWAYS AS (shingles(body)) STORED);
CREATE TRIGGER only_new BEFORE INSERT OR UPDATE OF body ON articles FOR EACH ROW EXECUTE FUNCTION skip_similar('tokens', 0.8);
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please.'), (2, 'Waltz, bad nymph, for quick jigs vex.');
-- A row changes a little, or takes the text of another one.
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please!'), (2, 'pack my box with five dozen liquor jugs please'), (3, 'Waltz, bad nymph, for quick jigs vex?'),
  (4, 'Sphinx of black quartz, judge my vow.') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body RETURNING id, body;
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please?') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body WHERE articles.id > 1 RETURNING id;
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please?') ON CONFLICT ON CONSTRAINT articles_pkey DO UPDATE SET body = EXCLUDED.body RETURNING id, body;
-- Other insertions leave such a row out.
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please.');
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please.') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO articles VALUES (1, 'Pack my box with five dozen liquor jugs, please.') ON CONFLICT (id) DO NOTHING RETURNING id;
WITH changed AS (INSERT INTO articles VALUES (4, 'Sphinx of black quartz, judge my vow!') ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body RETURNING id),
  added AS (INSERT INTO articles VALUES (2, 'Waltz, bad nymph, for quick jigs vex!') RETURNING id)
SELECT (SELECT array_agg(id) FROM changed) AS changed, (SELECT array_agg(id) FROM added) AS added;
SELECT id, body FROM articles ORDER BY id;

-- Keys of several columns, of expressions, with a condition, generated, and without a value.
CREATE TABLE keyed (a int, b text, c text, h text GENERATED ALWAYS AS (c || '!') STORED, note text, s int[], UNIQUE (a, b));
CREATE UNIQUE INDEX ON keyed (lower(c));
CREATE UNIQUE INDEX ON keyed (b) WHERE a < 0;
CREATE UNIQUE INDEX ON keyed (h);
CREATE TRIGGER skip BEFORE INSERT ON keyed FOR EACH ROW EXECUTE FUNCTION skip_similar('s', 0.6);
INSERT INTO keyed (a, b, c, s) VALUES (1, 'x', 'One', '{1,2,3}'), (-1, 'y', 'Two', '{11,12,13}');
INSERT INTO keyed (a, b, s) VALUES (1, 'x', '{1,2,3,4}') ON CONFLICT (a, b) DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, b, s) VALUES (2, 'x', '{1,2,3,4}'), (1, 'X', '{1,2,3,4}'), (1, NULL, '{1,2,3,4}') ON CONFLICT (a, b) DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, c, s) VALUES (5, 'oNE', '{1,2,3,5}') ON CONFLICT (lower(c)) DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, c, s) VALUES (5, 'oNE', '{1,2,3,6}') ON CONFLICT (a, b) DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, b, s) VALUES (-5, 'y', '{11,12,13,14}') ON CONFLICT (b) WHERE a < 0 DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, b, s) VALUES (5, 'y', '{11,12,13,15}'), (-5, 'x', '{1,2,3}') ON CONFLICT (b) WHERE a < 0 DO UPDATE SET s = EXCLUDED.s RETURNING s;
INSERT INTO keyed (a, c, s) VALUES (5, 'Two', '{11,12,13,16}') ON CONFLICT (h) DO UPDATE SET s = EXCLUDED.s RETURNING s;
-- Partitions have indexes of their own.
CREATE TABLE parted (id int, part int, s int[], PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (s int[], part int NOT NULL, id int NOT NULL);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TRIGGER skip BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION skip_similar('s', 0.6);
INSERT INTO parted VALUES (1, 1, '{1,2,3}'), (2, 2, '{11,12,13}');
INSERT INTO parted VALUES (1, 1, '{1,2,3,4}'), (2, 2, '{11,12,13,14}'), (1, 2, '{1,2,3}'), (3, 2, '{11,12,13}') ON CONFLICT (id, part) DO UPDATE SET s = EXCLUDED.s RETURNING *;

-- A row is not marked as a duplicate of itself.
CREATE TABLE marked (id int PRIMARY KEY, s int[], duplicate_of int);
CREATE INDEX ON marked USING gin (s int4_similarity_ops (threshold = 0.6));
CREATE TRIGGER mark BEFORE INSERT ON marked FOR EACH ROW EXECUTE FUNCTION mark_similar('s', 0.6, 'duplicate_of');
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON marked FOR EACH ROW EXECUTE FUNCTION refuse_similar('s', 0.6, 'jaccard', 'duplicate_of');
INSERT INTO marked VALUES (1, '{1,2,3}'), (2, '{1,2,3,4}'), (3, '{7}');
INSERT INTO marked VALUES (1, '{1,2,3,5}'), (3, '{8}'), (4, '{8}') ON CONFLICT (id) DO UPDATE SET s = EXCLUDED.s, duplicate_of = EXCLUDED.duplicate_of;
SELECT * FROM marked ORDER BY id;
DELETE FROM marked WHERE id = 2;
INSERT INTO marked VALUES (1, '{1,2,3,6}'), (3, '{1,2,3}') ON CONFLICT (id) DO UPDATE SET s = EXCLUDED.s, duplicate_of = EXCLUDED.duplicate_of;
SELECT * FROM marked ORDER BY id;

-- The statement that loads simjoin.
\c -
INSERT INTO near_duplicates_upserts_test.keyed (a, b, s) VALUES (1, 'x', '{1,2,3,7}') ON CONFLICT (a, b) DO UPDATE SET s = EXCLUDED.s RETURNING s;
SELECT a, b, s FROM near_duplicates_upserts_test.keyed ORDER BY a;

SET client_min_messages = warning;
DROP SCHEMA near_duplicates_upserts_test CASCADE;
