-- simjoin 0.1.0: similarity joins.
\echo Use "CREATE EXTENSION simjoin" to load this file. \quit

CREATE FUNCTION simjoin_version() RETURNS text
AS 'MODULE_PATHNAME', 'simjoin_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simjoin_version() IS 'version of the simjoin library that is loaded';

CREATE FUNCTION simjoin_devices(OUT device int, OUT name text, OUT compute_capability text, OUT memory_total bigint,
                                OUT memory_free bigint) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_devices' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION simjoin_devices() IS 'GPUs that joins can use, with their memory in bytes; no rows without a GPU';

-- Tells the planner about the join operator. It cannot be called from SQL.
CREATE FUNCTION simjoin_measure_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_measure_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simjoin_measure_support(internal) IS 'planner support function of the similarity measures';

-- Measures. An array is the set of its elements: their order does not matter, and repeated elements count once.

CREATE FUNCTION jaccard_similarity(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION jaccard_similarity(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION jaccard_similarity(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION jaccard_similarity(int4[], int4[]) IS 'Jaccard similarity of two sets: shared elements / elements of either; 0 with an empty set';
COMMENT ON FUNCTION jaccard_similarity(int8[], int8[]) IS 'Jaccard similarity of two sets: shared elements / elements of either; 0 with an empty set';
COMMENT ON FUNCTION jaccard_similarity(text[], text[]) IS 'Jaccard similarity of two sets: shared elements / elements of either; 0 with an empty set';

CREATE FUNCTION cosine_similarity(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION cosine_similarity(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION cosine_similarity(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION cosine_similarity(int4[], int4[]) IS 'cosine similarity of two sets: shared elements / sqrt(|a| * |b|); 0 with an empty set';
COMMENT ON FUNCTION cosine_similarity(int8[], int8[]) IS 'cosine similarity of two sets: shared elements / sqrt(|a| * |b|); 0 with an empty set';
COMMENT ON FUNCTION cosine_similarity(text[], text[]) IS 'cosine similarity of two sets: shared elements / sqrt(|a| * |b|); 0 with an empty set';

CREATE FUNCTION dice_similarity(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_dice_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION dice_similarity(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_dice_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION dice_similarity(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_dice_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION dice_similarity(int4[], int4[]) IS 'Dice similarity of two sets: 2 * shared elements / (|a| + |b|); 0 with an empty set';
COMMENT ON FUNCTION dice_similarity(int8[], int8[]) IS 'Dice similarity of two sets: 2 * shared elements / (|a| + |b|); 0 with an empty set';
COMMENT ON FUNCTION dice_similarity(text[], text[]) IS 'Dice similarity of two sets: 2 * shared elements / (|a| + |b|); 0 with an empty set';

CREATE FUNCTION overlap_count(a int4[], b int4[]) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_overlap_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_count(a int8[], b int8[]) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_overlap_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_count(a text[], b text[]) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_overlap_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION overlap_count(int4[], int4[]) IS 'number of elements that two sets share';
COMMENT ON FUNCTION overlap_count(int8[], int8[]) IS 'number of elements that two sets share';
COMMENT ON FUNCTION overlap_count(text[], text[]) IS 'number of elements that two sets share';

CREATE FUNCTION jaccard_distance(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION jaccard_distance(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION jaccard_distance(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION jaccard_distance(int4[], int4[]) IS 'Jaccard distance of two sets: 1 - jaccard_similarity; the function of the operator <%>';
COMMENT ON FUNCTION jaccard_distance(int8[], int8[]) IS 'Jaccard distance of two sets: 1 - jaccard_similarity; the function of the operator <%>';
COMMENT ON FUNCTION jaccard_distance(text[], text[]) IS 'Jaccard distance of two sets: 1 - jaccard_similarity; the function of the operator <%>';

CREATE FUNCTION sets_similar(a int4[], b int4[]) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_similar' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION sets_similar(a int8[], b int8[]) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_similar' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION sets_similar(a text[], b text[]) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_similar' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION sets_similar(int4[], int4[]) IS 'whether simjoin.measure of two sets is at least simjoin.similarity_threshold; the function of the operator ~=';
COMMENT ON FUNCTION sets_similar(int8[], int8[]) IS 'whether simjoin.measure of two sets is at least simjoin.similarity_threshold; the function of the operator ~=';
COMMENT ON FUNCTION sets_similar(text[], text[]) IS 'whether simjoin.measure of two sets is at least simjoin.similarity_threshold; the function of the operator ~=';

CREATE FUNCTION weighted_jaccard_similarity(a int4[], a_weights float4[], b int4[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
CREATE FUNCTION weighted_jaccard_similarity(a int8[], a_weights float4[], b int8[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
CREATE FUNCTION weighted_jaccard_similarity(a text[], a_weights float4[], b text[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION weighted_jaccard_similarity(int4[], float4[], int4[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';
COMMENT ON FUNCTION weighted_jaccard_similarity(int8[], float4[], int8[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';
COMMENT ON FUNCTION weighted_jaccard_similarity(text[], float4[], text[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';

-- Sets of smallint are cast to int, and the planner sees the measure of int.

CREATE FUNCTION jaccard_similarity(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN jaccard_similarity(a::int4[], b::int4[]);
CREATE FUNCTION cosine_similarity(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN cosine_similarity(a::int4[], b::int4[]);
CREATE FUNCTION dice_similarity(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN dice_similarity(a::int4[], b::int4[]);
CREATE FUNCTION overlap_count(a int2[], b int2[]) RETURNS int4 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN overlap_count(a::int4[], b::int4[]);
CREATE FUNCTION jaccard_distance(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN jaccard_distance(a::int4[], b::int4[]);
CREATE FUNCTION sets_similar(a int2[], b int2[]) RETURNS bool LANGUAGE SQL STABLE PARALLEL SAFE COST 100
RETURN sets_similar(a::int4[], b::int4[]);
CREATE FUNCTION weighted_jaccard_similarity(a int2[], a_weights float4[], b int2[], b_weights float4[])
RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 200
RETURN weighted_jaccard_similarity(a::int4[], a_weights, b::int4[], b_weights);
COMMENT ON FUNCTION jaccard_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION cosine_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION dice_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION overlap_count(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION jaccard_distance(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION sets_similar(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION weighted_jaccard_similarity(int2[], float4[], int2[], float4[]) IS 'as for two sets of int4';

-- A text is not a set. A literal or parameter without a type counts as a text. The errors of these functions say what a set is.

CREATE FUNCTION jaccard_similarity(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION cosine_similarity(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION dice_similarity(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION overlap_count(a text, b text) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION jaccard_distance(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sets_similar(a text, b text) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION weighted_jaccard_similarity(a text, a_weights float4[], b text, b_weights float4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION jaccard_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION cosine_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION dice_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION overlap_count(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION jaccard_distance(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION sets_similar(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION weighted_jaccard_similarity(text, float4[], text, float4[]) IS 'an error: a text is not a set';

-- Operators.

CREATE OPERATOR ~= (LEFTARG = int4[], RIGHTARG = int4[], FUNCTION = sets_similar, COMMUTATOR = ~=,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = int8[], RIGHTARG = int8[], FUNCTION = sets_similar, COMMUTATOR = ~=,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = text[], RIGHTARG = text[], FUNCTION = sets_similar, COMMUTATOR = ~=,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = int2[], RIGHTARG = int2[], FUNCTION = sets_similar, COMMUTATOR = ~=,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = text, RIGHTARG = text, FUNCTION = sets_similar, COMMUTATOR = ~=,
                    RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR ~= (int4[], int4[]) IS 'similar: simjoin.measure is at least simjoin.similarity_threshold';
COMMENT ON OPERATOR ~= (int8[], int8[]) IS 'similar: simjoin.measure is at least simjoin.similarity_threshold';
COMMENT ON OPERATOR ~= (text[], text[]) IS 'similar: simjoin.measure is at least simjoin.similarity_threshold';
COMMENT ON OPERATOR ~= (int2[], int2[]) IS 'similar: simjoin.measure is at least simjoin.similarity_threshold';
COMMENT ON OPERATOR ~= (text, text) IS 'an error: a text is not a set';

CREATE OPERATOR <%> (LEFTARG = int4[], RIGHTARG = int4[], FUNCTION = jaccard_distance, COMMUTATOR = <%>);
CREATE OPERATOR <%> (LEFTARG = int8[], RIGHTARG = int8[], FUNCTION = jaccard_distance, COMMUTATOR = <%>);
CREATE OPERATOR <%> (LEFTARG = text[], RIGHTARG = text[], FUNCTION = jaccard_distance, COMMUTATOR = <%>);
CREATE OPERATOR <%> (LEFTARG = int2[], RIGHTARG = int2[], FUNCTION = jaccard_distance, COMMUTATOR = <%>);
CREATE OPERATOR <%> (LEFTARG = text, RIGHTARG = text, FUNCTION = jaccard_distance, COMMUTATOR = <%>);
COMMENT ON OPERATOR <%> (int4[], int4[]) IS 'Jaccard distance';
COMMENT ON OPERATOR <%> (int8[], int8[]) IS 'Jaccard distance';
COMMENT ON OPERATOR <%> (text[], text[]) IS 'Jaccard distance';
COMMENT ON OPERATOR <%> (int2[], int2[]) IS 'Jaccard distance';
COMMENT ON OPERATOR <%> (text, text) IS 'an error: a text is not a set';

-- Sets from text.

CREATE FUNCTION shingles(input text, size int DEFAULT 5) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION shingles(text, int) IS 'set of all runs of size characters of a text, in lower case and with white space folded, as 32-bit hashes';
CREATE FUNCTION word_shingles(input text, size int DEFAULT 3) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_word_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION word_shingles(text, int) IS 'set of all runs of size words of a text, in lower case and with white space folded, as 32-bit hashes';
CREATE FUNCTION shingles64(input text, size int DEFAULT 5) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_shingles64' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION shingles64(text, int) IS 'set of all runs of size characters of a text, in lower case and with white space folded, as 64-bit hashes';
CREATE FUNCTION word_shingles64(input text, size int DEFAULT 3) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_word_shingles64' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION word_shingles64(text, int) IS 'set of all runs of size words of a text, in lower case and with white space folded, as 64-bit hashes';

-- Joins as functions. A query is run as the caller, with the caller's snapshot, and may not write.

CREATE FUNCTION similarity_self_join(query text, threshold float8, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_self_join' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION similarity_self_join(text, float8, text) IS
'all pairs of rows of a query (id bigint, tokens set) with similarity >= threshold, each once, a < b; ids are distinct';

CREATE FUNCTION similarity_join(left_query text, right_query text, threshold float8,
                                measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_join' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION similarity_join(text, text, float8, text) IS
'all pairs of a row of each of two queries (id bigint, tokens set) with similarity >= threshold';

CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int,
                                     min_similarity float8 DEFAULT 0, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, text) IS
'for each row of the left query the k most similar rows of the right one that share an element with it, ties by b';

-- The similarity graph. A query for edges returns (a bigint, b bigint) or (a bigint, b bigint, weight float8).

CREATE FUNCTION connected_components(edges text, nodes text DEFAULT NULL)
RETURNS TABLE (component bigint, node bigint)
AS 'MODULE_PATHNAME', 'simjoin_connected_components' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION connected_components(text, text) IS
'each node of a graph with the smallest node that it is connected with; nodes: a query for nodes that may have no edge';

CREATE FUNCTION pagerank(edges text, damping float8 DEFAULT 0.85, method text DEFAULT 'power',
                         directed bool DEFAULT true, tolerance float8 DEFAULT 1e-9, coupons int DEFAULT 100,
                         seed int8 DEFAULT 1, nodes text DEFAULT NULL)
RETURNS TABLE (node bigint, rank float8)
AS 'MODULE_PATHNAME', 'simjoin_pagerank' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION pagerank(text, float8, text, bool, float8, int, int8, text) IS
'the PageRank of each node of a graph; methods: power, to a tolerance, and random_walk, from coupons that start at each node';

CREATE FUNCTION densest_subgraph(edges text, k int, method text DEFAULT 'auto')
RETURNS TABLE (node bigint, degree float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION densest_subgraph(text, int, text) IS
'k nodes of a graph with much weight between them, and the weight of the edges of each to the others; methods: bilinear, greedy and auto, the better of both';

CREATE FUNCTION densest_subgraph_density(edges text, k int, method text DEFAULT 'auto')
RETURNS TABLE (nodes int, weight float8, density float8, upper_bound float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph_density' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION densest_subgraph_density(text, int, text) IS
'the density of the result of densest_subgraph: density is its mean weighted degree, upper_bound a limit for any k nodes';

-- Deduplication.

CREATE FUNCTION duplicate_groups(query text, threshold float8, measure text DEFAULT 'jaccard',
                                 method text DEFAULT 'components', keep text DEFAULT 'smallest_id',
                                 max_group_share float8 DEFAULT 0.1)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_duplicate_groups' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION duplicate_groups(text, float8, text, text, text, float8) IS
'each row of a query (id bigint, tokens set) with its group of duplicates, which is named for its one representative; methods: components, star, best_link';

-- The queries of dedup views, which can only be called by these. They update the tables beside the view.
CREATE FUNCTION dedup_view_groups(source regclass, rows regclass, pairs regclass, threshold float8, measure text,
                                  method text, keep text, max_group_share float8)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION dedup_view_groups(regclass, regclass, regclass, float8, text, text, text, float8) IS
'the query of the views that create_dedup_view makes';

CREATE FUNCTION dedup_view_groups(source regclass, rows regclass, pairs regclass, changes regclass,
                                  token_order regclass, threshold float8, measure text, method text, keep text,
                                  max_group_share float8)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION dedup_view_groups(regclass, regclass, regclass, regclass, regclass, float8, text, text, text,
                                      float8) IS
'the query of the views that create_dedup_view makes with track_changes';

CREATE FUNCTION dedup_view_changes() RETURNS trigger
AS 'MODULE_PATHNAME', 'simjoin_track_changes' LANGUAGE C;
COMMENT ON FUNCTION dedup_view_changes() IS
'the trigger function of tables whose changes dedup views track: records which rows change';

CREATE FUNCTION create_dedup_view(view text, query text, threshold float8, measure text DEFAULT 'jaccard',
                                  method text DEFAULT 'components', keep text DEFAULT 'smallest_id',
                                  max_group_share float8 DEFAULT 0.1, track_changes bool DEFAULT false) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_create_dedup_view' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION create_dedup_view(text, text, float8, text, text, text, float8, bool) IS
'makes a materialized view of duplicate_groups that is refreshed incrementally; with track_changes, triggers on the table of the query record which rows change';

CREATE FUNCTION refresh_dedup_view(view regclass, concurrently bool DEFAULT true)
RETURNS TABLE (rows bigint, new_rows bigint, changed_rows bigint, removed_rows bigint, new_pairs bigint,
               read_rows bigint)
AS 'MODULE_PATHNAME', 'simjoin_refresh_dedup_view' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION refresh_dedup_view(regclass, bool) IS
'refreshes a view that create_dedup_view made: joins only new and changed rows with the rest; returns the numbers of rows and pairs';

CREATE FUNCTION drop_dedup_view(view regclass) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_drop_dedup_view' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION drop_dedup_view(regclass) IS
'drops a view that create_dedup_view made, and the tables and the view beside it';

-- MinHash signatures.

CREATE TYPE minhash;

CREATE FUNCTION minhash_in(cstring) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_in(cstring) IS 'I/O';
CREATE FUNCTION minhash_out(minhash) RETURNS cstring
AS 'MODULE_PATHNAME', 'simjoin_minhash_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_out(minhash) IS 'I/O';
CREATE FUNCTION minhash_recv(internal) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_recv(internal) IS 'I/O';
CREATE FUNCTION minhash_send(minhash) RETURNS bytea
AS 'MODULE_PATHNAME', 'simjoin_minhash_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_send(minhash) IS 'I/O';

-- Values are random bits, which do not compress.
CREATE TYPE minhash (INPUT = minhash_in, OUTPUT = minhash_out, RECEIVE = minhash_recv, SEND = minhash_send,
                     INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external);
COMMENT ON TYPE minhash IS 'MinHash signature of a set, or weighted MinHash signature of a weighted set';

CREATE FUNCTION minhash_from_bytea(bytea) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_from_bytea(bytea) IS 'cast of the bytes of a signature; the manual specifies them';
CREATE CAST (minhash AS bytea) WITH FUNCTION minhash_send(minhash);
CREATE CAST (bytea AS minhash) WITH FUNCTION minhash_from_bytea(bytea);
CREATE FUNCTION minhash_eq(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_eq' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_eq(minhash, minhash) IS 'the function of the operator =';
CREATE FUNCTION minhash_ne(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_ne' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_ne(minhash, minhash) IS 'the function of the operator <>';
CREATE FUNCTION minhash_lt(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_lt' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_lt(minhash, minhash) IS 'the function of the operator <';
CREATE FUNCTION minhash_le(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_le' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_le(minhash, minhash) IS 'the function of the operator <=';
CREATE FUNCTION minhash_gt(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_gt' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_gt(minhash, minhash) IS 'the function of the operator >';
CREATE FUNCTION minhash_ge(minhash, minhash) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_minhash_ge' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_ge(minhash, minhash) IS 'the function of the operator >=';
CREATE FUNCTION minhash_cmp(minhash, minhash) RETURNS int
AS 'MODULE_PATHNAME', 'simjoin_minhash_cmp' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_cmp(minhash, minhash) IS 'less-equal-greater, in the order of the bytes';
CREATE FUNCTION minhash_hash(minhash) RETURNS int
AS 'MODULE_PATHNAME', 'simjoin_minhash_hash' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_hash(minhash) IS 'hash';
CREATE FUNCTION minhash_hash_extended(minhash, bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'simjoin_minhash_hash_extended' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minhash_hash_extended(minhash, bigint) IS 'hash';

CREATE OPERATOR = (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_eq, COMMUTATOR = =, NEGATOR = <>,
                   RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_ne, COMMUTATOR = <>, NEGATOR = =,
                    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_lt, COMMUTATOR = >, NEGATOR = >=,
                   RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_le, COMMUTATOR = >=, NEGATOR = >,
                    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_gt, COMMUTATOR = <, NEGATOR = <=,
                   RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = minhash, RIGHTARG = minhash, FUNCTION = minhash_ge, COMMUTATOR = <=, NEGATOR = <,
                    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR = (minhash, minhash) IS 'equal: the same kind of signature with the same values';
COMMENT ON OPERATOR <> (minhash, minhash) IS 'not equal';
COMMENT ON OPERATOR < (minhash, minhash) IS 'less than, in the order of the bytes';
COMMENT ON OPERATOR <= (minhash, minhash) IS 'at most, in the order of the bytes';
COMMENT ON OPERATOR > (minhash, minhash) IS 'greater than, in the order of the bytes';
COMMENT ON OPERATOR >= (minhash, minhash) IS 'at least, in the order of the bytes';

CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 minhash_cmp(minhash, minhash);
CREATE OPERATOR CLASS minhash_ops DEFAULT FOR TYPE minhash USING hash AS
  OPERATOR 1 =, FUNCTION 1 minhash_hash(minhash), FUNCTION 2 minhash_hash_extended(minhash, bigint);

CREATE FUNCTION minhash(tokens int4[], permutations int DEFAULT 128, seed bigint DEFAULT 1) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION minhash(tokens int8[], permutations int DEFAULT 128, seed bigint DEFAULT 1) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
CREATE FUNCTION minhash(tokens text[], permutations int DEFAULT 128, seed bigint DEFAULT 1) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION minhash(int4[], int, bigint) IS 'MinHash signature of a set: the least value of its elements under each of many hash functions';
COMMENT ON FUNCTION minhash(int8[], int, bigint) IS 'MinHash signature of a set: the least value of its elements under each of many hash functions';
COMMENT ON FUNCTION minhash(text[], int, bigint) IS 'MinHash signature of a set: the least value of its elements under each of many hash functions';
CREATE FUNCTION weighted_minhash(tokens int4[], weights float4[], samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION weighted_minhash(tokens int8[], weights float4[], samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION weighted_minhash(tokens text[], weights float4[], samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION weighted_minhash(int4[], float4[], int, bigint) IS 'weighted MinHash signature of a set with weights, by consistent weighted sampling';
COMMENT ON FUNCTION weighted_minhash(int8[], float4[], int, bigint) IS 'weighted MinHash signature of a set with weights, by consistent weighted sampling';
COMMENT ON FUNCTION weighted_minhash(text[], float4[], int, bigint) IS 'weighted MinHash signature of a set with weights, by consistent weighted sampling';

-- As for the measures: sets of smallint are cast to int, and a text is not a set.
CREATE FUNCTION minhash(tokens int2[], permutations int DEFAULT 128, seed bigint DEFAULT 1) RETURNS minhash
LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE COST 1000
RETURN minhash(tokens::int4[], permutations, seed);
CREATE FUNCTION minhash(tokens text, permutations int DEFAULT 128, seed bigint DEFAULT 1) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weighted_minhash(tokens int2[], weights float4[], samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS minhash LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN weighted_minhash(tokens::int4[], weights, samples, seed);
CREATE FUNCTION weighted_minhash(tokens text, weights float4[], samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION minhash(int2[], int, bigint) IS 'as for a set of int4';
COMMENT ON FUNCTION minhash(text, int, bigint) IS 'an error: a text is not a set';
COMMENT ON FUNCTION weighted_minhash(int2[], float4[], int, bigint) IS 'as for a set of int4';
COMMENT ON FUNCTION weighted_minhash(text, float4[], int, bigint) IS 'an error: a text is not a set';

CREATE FUNCTION minhash_similarity(a minhash, b minhash) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_minhash_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_similarity(minhash, minhash) IS 'estimate of the (weighted) Jaccard similarity of two sets from their signatures; 0 with an empty set';
CREATE FUNCTION minhash_truncate(signature minhash, bits int) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_truncate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_truncate(minhash, int) IS 'the signature with only the lowest bits of each value';
CREATE FUNCTION minhash_bands(signature minhash, bands int, rows int) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'simjoin_minhash_bands' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_bands(minhash, int, int) IS 'one hash per band, each of `rows` values, to join or index on; none for the signature of an empty set';
CREATE FUNCTION minhash_band_plan(threshold float8, permutations int DEFAULT 128, OUT bands int, OUT rows int,
                                  OUT recall float8, OUT false_positive_rate float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_band_plan' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION minhash_band_plan(float8, int) IS 'the bands and rows with the fewest errors for a threshold, the share of pairs at the threshold that become candidates, and the share of pairs below it';
CREATE FUNCTION minhash_merge(a minhash, b minhash) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_merge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_merge(minhash, minhash) IS 'signature of the union of two sets';
CREATE AGGREGATE minhash_union(minhash) (SFUNC = minhash_merge, STYPE = minhash, COMBINEFUNC = minhash_merge,
                                         PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_union(minhash) IS 'signature of the union of sets';

CREATE FUNCTION minhash_signatures(query text, permutations int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_minhash_signatures' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION minhash_signatures(text, int, bigint) IS 'minhash() of every row of a query (id bigint, tokens set), on all threads';
CREATE FUNCTION weighted_minhash_signatures(query text, samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_signatures' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION weighted_minhash_signatures(text, int, bigint) IS 'weighted_minhash() of every row of a query (id bigint, tokens set, weights float4[]), on all threads';

CREATE FUNCTION minhash_self_join(query text, threshold float8, permutations int DEFAULT 128,
                                  bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                                  seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_self_join' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION minhash_self_join(text, float8, int, int, int, bool, bigint) IS
'most pairs of rows of a query (id bigint, tokens set) with Jaccard similarity >= threshold, each once, a < b, found by bands of MinHash signatures';
CREATE FUNCTION minhash_join(left_query text, right_query text, threshold float8, permutations int DEFAULT 128,
                             bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                             seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_join' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION minhash_join(text, text, float8, int, int, int, bool, bigint) IS
'most pairs of a row of each of two queries (id bigint, tokens set) with Jaccard similarity >= threshold, found by bands of MinHash signatures';

-- Hashes of vectors are sets of positions, which are joined like any other sets.
CREATE FUNCTION flyhash(vector float4[], hash_length int, winners int DEFAULT NULL, projection int DEFAULT NULL,
                        seed bigint DEFAULT 1)
RETURNS int[]
AS 'MODULE_PATHNAME', 'simjoin_flyhash' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION flyhash(float4[], int, int, int, bigint) IS 'FlyHash of a vector: the positions of the largest activations of a sparse random projection';
CREATE FUNCTION flyhash_signatures(query text, hash_length int, winners int DEFAULT NULL, projection int DEFAULT NULL,
                                   seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, tokens int[])
AS 'MODULE_PATHNAME', 'simjoin_flyhash_signatures' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION flyhash_signatures(text, int, int, int, bigint) IS 'flyhash() of every row of a query (id bigint, vector float4[]), on all threads or a GPU';

-- Clustering of documents.
CREATE FUNCTION tf_idf(query text, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION tf_idf(text, int) IS
'each document of a query (id bigint, terms text[]), in which terms may repeat, with the tf-idf weights of its different terms, heaviest first';
-- kind gives only the type of the terms.
CREATE FUNCTION tf_idf(query text, kind anyarray, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms anyarray, weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf_of_kind' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION tf_idf(text, anyarray, int) IS
'tf_idf for terms of the type of kind';
-- For literals and parameters without a type, which count as texts.
CREATE FUNCTION tf_idf(query text, kind text, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_kind' LANGUAGE C STABLE;
COMMENT ON FUNCTION tf_idf(text, text, int) IS 'an error: a text is not an array of terms';

CREATE FUNCTION cluster_documents(query text, threshold float8, max_terms int DEFAULT 20, batch int DEFAULT 1024)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_documents' LANGUAGE C STABLE STRICT COST 100000;
COMMENT ON FUNCTION cluster_documents(text, float8, int, int) IS
'single-pass clustering of the documents of a query (id bigint, terms set, weights float4[]), in its order: each joins the most similar centroid at or above the threshold, or begins a cluster';

CREATE FUNCTION cluster_stream_create(name text, kind anyarray DEFAULT NULL::text[]) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream_create' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION cluster_stream_create(text, anyarray) IS
'creates a table that keeps the clusters of a stream of documents; kind gives the type of their terms';
CREATE FUNCTION cluster_stream_create(name text, kind text) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_kind' LANGUAGE C STABLE;
COMMENT ON FUNCTION cluster_stream_create(text, text) IS 'an error: a text is not an array of terms';

CREATE FUNCTION cluster_stream(state regclass, query text, threshold float8, max_terms int DEFAULT 20,
                               batch int DEFAULT 1024)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream' LANGUAGE C VOLATILE STRICT COST 100000;
COMMENT ON FUNCTION cluster_stream(regclass, text, float8, int, int) IS
'cluster_documents for documents that arrive in parts: continues from the clusters in a table made by cluster_stream_create, and stores them there';
