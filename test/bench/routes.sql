-- What it costs to share a join among servers: copies a token, and how even the parts are, for each way to deal sets out.
-- psql -f test/bench/routes.sql, in a new database with simjoin. A sample of sets stands for any number of them: copies and
-- shares depend on the sizes of the sets and on the parts, not on how many sets there are. speed_up is that of as many
-- servers as there are parts, with one part each, over one server with all, if a join takes time in proportion to its tokens
-- and the network none: parts / (copies a token * largest part / mean part).
CREATE EXTENSION IF NOT EXISTS simjoin;
\pset footer off
-- Sizes of sets: of short texts, of baskets (a few items in most, hundreds in some), of long texts, of titles in shingles.
CREATE TEMP TABLE sizes AS
SELECT shape, id, greatest(1, CASE shape
         WHEN 'baskets' THEN exp(1.2 + 0.9 * z)
         WHEN 'texts' THEN exp(4.5 + 0.6 * z)
         WHEN 'titles' THEN 56 + 16 * z
         WHEN 'equal' THEN 20 END)::int AS size
FROM unnest('{baskets,texts,titles,equal}'::text[]) shape,
     LATERAL (SELECT id, sqrt(-2 * ln((1 + (hashint8(id) & 1048575)) / 1048577.0)) * cos(2 * pi() * (hashint8(id + 10000000) & 1048575) / 1048576.0) AS z
              FROM generate_series(1, 20000) id) normal;
-- Only the size of a set counts, so that one array of each size will do.
CREATE TEMP TABLE sets AS SELECT size, ARRAY(SELECT generate_series(1, size)) AS tokens FROM (SELECT DISTINCT size FROM sizes) s;
CREATE TEMP TABLE cuts AS
SELECT shape, parts, similarity_part_bounds(array_agg(size), array_agg(count), parts) AS bounds
FROM (SELECT shape, size, count(*) FROM sizes GROUP BY 1, 2) s, unnest('{16,64,256}'::int[]) parts GROUP BY shape, parts;

CREATE TEMP VIEW dealt AS
SELECT shape, 'by size' AS way, parts, threshold, unnest(similarity_parts(id, tokens, threshold, bounds)) AS part, size
FROM sizes JOIN sets USING (size) JOIN cuts USING (shape), unnest('{0.9,0.8,0.7,0.5}'::float8[]) threshold
UNION ALL
SELECT shape, 'by id', parts, NULL, unnest(similarity_parts(id, parts)), size
FROM sizes, unnest('{13,57,273}'::int[]) parts;

SELECT way, parts, threshold, shape, round(sum(tokens) / max(whole), 1) AS copies, round(max(tokens) / avg(tokens), 2) AS largest_part,
       round(parts / (sum(tokens) / max(whole) * max(tokens) / avg(tokens)), 1) AS speed_up
FROM (SELECT shape, way, parts, threshold, part, sum(size) AS tokens FROM dealt GROUP BY 1, 2, 3, 4, 5) p
     JOIN (SELECT shape, sum(size)::numeric AS whole FROM sizes GROUP BY 1) w USING (shape)
GROUP BY way, parts, threshold, shape ORDER BY way, parts, threshold DESC, shape;
