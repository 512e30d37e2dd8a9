-- simjoin 0.2.0, for new installations. The scripts that update an older one make the same; test/t/021_updates.pl compares.
\echo Use "CREATE EXTENSION simjoin" to load this file. \quit

CREATE FUNCTION simjoin_version() RETURNS text
AS 'MODULE_PATHNAME', 'simjoin_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simjoin_version() IS 'version of the simjoin library that is loaded';

-- A session that loaded an older library keeps it when another one is installed. PostgreSQL would only say which function that
-- library lacks.
DO $$
BEGIN
  IF simjoin_version() <> '0.2.0' THEN
    RAISE object_not_in_prerequisite_state USING
      MESSAGE = 'this session has loaded the library of simjoin ' || simjoin_version() || ', and the extension to be made is of 0.2.0',
      HINT = 'Install the library of the newer version, connect again, and repeat the statement.';
  END IF;
END $$;

CREATE FUNCTION simjoin_devices(OUT device int, OUT name text, OUT compute_capability text, OUT memory_total bigint,
                                OUT memory_free bigint) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_devices' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION simjoin_devices() IS 'GPUs that joins can use, with their memory in bytes; no rows without a GPU';

-- Tell the planner about the join operator, and how many rows the functions over queries return. They cannot be called from SQL.
CREATE FUNCTION simjoin_measure_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_measure_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION simjoin_query_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_query_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simjoin_measure_support(internal) IS 'planner support function of the similarity measures';
COMMENT ON FUNCTION simjoin_query_support(internal) IS 'planner support function of the functions over queries';

-- How a text becomes a set. The type keeps a tokenizer from being taken for any other text.

CREATE TYPE tokenizer;
CREATE FUNCTION tokenizer_in(cstring) RETURNS tokenizer
AS 'MODULE_PATHNAME', 'simjoin_tokenizer_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tokenizer_in(cstring) IS 'I/O';
CREATE FUNCTION tokenizer_out(tokenizer) RETURNS cstring
AS 'MODULE_PATHNAME', 'simjoin_tokenizer_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tokenizer_out(tokenizer) IS 'I/O';
CREATE FUNCTION tokenizer_recv(internal) RETURNS tokenizer
AS 'MODULE_PATHNAME', 'simjoin_tokenizer_recv' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tokenizer_recv(internal) IS 'I/O';
CREATE FUNCTION tokenizer_send(tokenizer) RETURNS bytea
AS 'MODULE_PATHNAME', 'simjoin_tokenizer_send' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tokenizer_send(tokenizer) IS 'I/O';
CREATE TYPE tokenizer (INPUT = tokenizer_in, OUTPUT = tokenizer_out, RECEIVE = tokenizer_recv, SEND = tokenizer_send,
                       INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended);
COMMENT ON TYPE tokenizer IS 'how a text becomes a set, as in shingles(5) or words(english)';

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

CREATE FUNCTION containment(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION containment(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION containment(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION containment(int4[], int4[]) IS 'share of the elements of a that b has: shared elements / |a|; 0 with an empty set';
COMMENT ON FUNCTION containment(int8[], int8[]) IS 'share of the elements of a that b has: shared elements / |a|; 0 with an empty set';
COMMENT ON FUNCTION containment(text[], text[]) IS 'share of the elements of a that b has: shared elements / |a|; 0 with an empty set';

CREATE FUNCTION overlap_coefficient(a int4[], b int4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_overlap_coefficient' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_coefficient(a int8[], b int8[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_overlap_coefficient' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_coefficient(a text[], b text[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_overlap_coefficient' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION overlap_coefficient(int4[], int4[]) IS 'overlap coefficient of two sets: shared elements / elements of the smaller one; 0 with an empty set';
COMMENT ON FUNCTION overlap_coefficient(int8[], int8[]) IS 'overlap coefficient of two sets: shared elements / elements of the smaller one; 0 with an empty set';
COMMENT ON FUNCTION overlap_coefficient(text[], text[]) IS 'overlap coefficient of two sets: shared elements / elements of the smaller one; 0 with an empty set';

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
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
CREATE FUNCTION weighted_jaccard_similarity(a int8[], a_weights float4[], b int8[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
CREATE FUNCTION weighted_jaccard_similarity(a text[], a_weights float4[], b text[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_jaccard_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION weighted_jaccard_similarity(int4[], float4[], int4[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';
COMMENT ON FUNCTION weighted_jaccard_similarity(int8[], float4[], int8[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';
COMMENT ON FUNCTION weighted_jaccard_similarity(text[], float4[], text[], float4[]) IS 'weighted Jaccard similarity: sum of the smaller / sum of the larger weight of each element; weights of a repeated element add up';

CREATE FUNCTION weighted_cosine_similarity(a int4[], a_weights float4[], b int4[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
CREATE FUNCTION weighted_cosine_similarity(a int8[], a_weights float4[], b int8[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
CREATE FUNCTION weighted_cosine_similarity(a text[], a_weights float4[], b text[], b_weights float4[])
RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_weighted_cosine_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION weighted_cosine_similarity(int4[], float4[], int4[], float4[]) IS 'cosine of two sets with weights: sum of the products of the weights of each element / (norm of a * norm of b); weights of a repeated element add up';
COMMENT ON FUNCTION weighted_cosine_similarity(int8[], float4[], int8[], float4[]) IS 'cosine of two sets with weights: sum of the products of the weights of each element / (norm of a * norm of b); weights of a repeated element add up';
COMMENT ON FUNCTION weighted_cosine_similarity(text[], float4[], text[], float4[]) IS 'cosine of two sets with weights: sum of the products of the weights of each element / (norm of a * norm of b); weights of a repeated element add up';

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
CREATE FUNCTION weighted_cosine_similarity(a int2[], a_weights float4[], b int2[], b_weights float4[])
RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 200
RETURN weighted_cosine_similarity(a::int4[], a_weights, b::int4[], b_weights);
CREATE FUNCTION containment(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN containment(a::int4[], b::int4[]);
CREATE FUNCTION overlap_coefficient(a int2[], b int2[]) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN overlap_coefficient(a::int4[], b::int4[]);
COMMENT ON FUNCTION jaccard_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION cosine_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION dice_similarity(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION overlap_count(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION jaccard_distance(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION sets_similar(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION weighted_jaccard_similarity(int2[], float4[], int2[], float4[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION weighted_cosine_similarity(int2[], float4[], int2[], float4[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION containment(int2[], int2[]) IS 'as for two sets of int4';
COMMENT ON FUNCTION overlap_coefficient(int2[], int2[]) IS 'as for two sets of int4';

-- A tsvector is the set of its lexemes. The planner sees the measure of text[].
CREATE FUNCTION jaccard_similarity(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN jaccard_similarity(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION cosine_similarity(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN cosine_similarity(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION dice_similarity(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN dice_similarity(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION overlap_count(a tsvector, b tsvector) RETURNS int4 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN overlap_count(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION containment(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN containment(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION overlap_coefficient(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN overlap_coefficient(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
CREATE FUNCTION jaccard_distance(a tsvector, b tsvector) RETURNS float8 LANGUAGE SQL IMMUTABLE PARALLEL SAFE COST 100
RETURN jaccard_distance(pg_catalog.tsvector_to_array(a), pg_catalog.tsvector_to_array(b));
COMMENT ON FUNCTION jaccard_similarity(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION cosine_similarity(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION dice_similarity(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION overlap_count(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION containment(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION overlap_coefficient(tsvector, tsvector) IS 'as for the two sets of their lexemes';
COMMENT ON FUNCTION jaccard_distance(tsvector, tsvector) IS 'as for the two sets of their lexemes';

-- Two texts with a tokenizer are compared as their sets. With a constant tokenizer, the planner sees the measure of the sets.
-- The name of a text search configuration depends on search_path.
CREATE FUNCTION jaccard_similarity(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_similarity' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION cosine_similarity(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_cosine_similarity' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION dice_similarity(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_dice_similarity' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_count(a text, b text, tokens tokenizer) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_overlap_count' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION containment(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_containment' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION overlap_coefficient(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_overlap_coefficient' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
CREATE FUNCTION jaccard_distance(a text, b text, tokens tokenizer) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaccard_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 2000
SUPPORT simjoin_measure_support;
COMMENT ON FUNCTION jaccard_similarity(text, text, tokenizer) IS 'as for the sets of two texts, as in jaccard_similarity(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION cosine_similarity(text, text, tokenizer) IS 'as for the sets of two texts, as in cosine_similarity(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION dice_similarity(text, text, tokenizer) IS 'as for the sets of two texts, as in dice_similarity(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION overlap_count(text, text, tokenizer) IS 'as for the sets of two texts, as in overlap_count(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION containment(text, text, tokenizer) IS 'as for the sets of two texts, as in containment(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION overlap_coefficient(text, text, tokenizer) IS 'as for the sets of two texts, as in overlap_coefficient(a, b, ''shingles(5)'')';
COMMENT ON FUNCTION jaccard_distance(text, text, tokenizer) IS 'as for the sets of two texts, as in jaccard_distance(a, b, ''shingles(5)'')';

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
CREATE FUNCTION weighted_cosine_similarity(a text, a_weights float4[], b text, b_weights float4[]) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION containment(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION overlap_coefficient(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_set' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION jaccard_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION cosine_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION dice_similarity(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION overlap_count(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION jaccard_distance(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION sets_similar(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION weighted_jaccard_similarity(text, float4[], text, float4[]) IS 'an error: a text is not a set';
COMMENT ON FUNCTION weighted_cosine_similarity(text, float4[], text, float4[]) IS 'an error: a text is not a set';
COMMENT ON FUNCTION containment(text, text) IS 'an error: a text is not a set';
COMMENT ON FUNCTION overlap_coefficient(text, text) IS 'an error: a text is not a set';

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
CREATE FUNCTION token_set(input text, tokens tokenizer) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_token_set' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION token_set(text, tokenizer) IS 'set of a text by a tokenizer, as 32-bit hashes';
CREATE FUNCTION token_set64(input text, tokens tokenizer) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_token_set64' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION token_set64(text, tokenizer) IS 'set of a text by a tokenizer, as 64-bit hashes';
CREATE FUNCTION word_set(input text, configuration regconfig, tokens tokenizer) RETURNS text[]
AS 'MODULE_PATHNAME', 'simjoin_word_set' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION word_set(text, regconfig, tokenizer) IS 'set of the words of a text by a text search configuration and a tokenizer like words(multi)';

-- The trigrams of pg_trgm as a set that joins fast.
CREATE FUNCTION trigram_set(trigrams text[]) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_trigram_set' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
CREATE FUNCTION pg_trgm_joins(OUT taken bool, OUT reason text)
AS 'MODULE_PATHNAME', 'simjoin_pg_trgm_joins' LANGUAGE C STABLE STRICT;
COMMENT ON FUNCTION trigram_set(text[]) IS 'the trigrams of show_trgm, of the extension pg_trgm, as integers';
COMMENT ON FUNCTION pg_trgm_joins() IS 'whether this session runs joins by functions and operators of pg_trgm with the join operator, and if not, why';

-- The edit distance of texts, and keys that texts within a distance share.

CREATE FUNCTION simjoin_edit_distance_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_edit_distance_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simjoin_edit_distance_support(internal) IS 'planner support';

CREATE FUNCTION edit_distance(a text, b text) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_edit_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION edit_distance(text, text) IS 'the least number of characters to insert, delete or replace that makes one text the other';
CREATE FUNCTION edit_distance(a text, b text, k int4) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_edit_distance_up_to' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION edit_distance(text, text, int4) IS 'the edit distance if it is at most k, else k + 1; faster for large distances';

CREATE FUNCTION damerau_distance(a text, b text) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_damerau_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION damerau_distance(text, text) IS 'as edit_distance, with an exchange of two neighbours as one edit; no character is edited twice';
CREATE FUNCTION damerau_distance(a text, b text, k int4) RETURNS int4
AS 'MODULE_PATHNAME', 'simjoin_damerau_distance_up_to' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 40
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION damerau_distance(text, text, int4) IS 'damerau_distance if it is at most k, else k + 1; faster for large distances';

CREATE FUNCTION edit_keys(body text, k int4) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_edit_keys' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION edit_keys(text, int4) IS 'keys of a text: any two texts within an edit_distance or a damerau_distance of k share one';
CREATE FUNCTION levenshtein_keys(body text, k int4) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_levenshtein_keys' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION levenshtein_keys(text, int4) IS 'edit_keys for joins by fuzzystrmatch; an array with NULL for a text that is too long for levenshtein';
CREATE FUNCTION edit_similarity_keys(body text, similarity float8) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_edit_similarity_keys' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION edit_similarity_keys(text, float8) IS 'keys of a text: any two texts share one where 1 - edit_distance / greatest(length, length) is at least the similarity';
CREATE FUNCTION levenshtein_similarity_keys(body text, similarity float8) RETURNS int4[]
AS 'MODULE_PATHNAME', 'simjoin_levenshtein_similarity_keys' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION levenshtein_similarity_keys(text, float8) IS 'edit_similarity_keys for joins by fuzzystrmatch; an array with NULL for a text that is too long for levenshtein';

-- Similarities of texts by Jaro and Winkler, and sets that similar texts share.

CREATE FUNCTION jaro_similarity(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaro_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION jaro_similarity(text, text) IS 'Jaro similarity of two texts, from 0 to 1';
CREATE FUNCTION jaro_winkler_similarity(a text, b text) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_jaro_winkler_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
SUPPORT simjoin_edit_distance_support;
COMMENT ON FUNCTION jaro_winkler_similarity(text, text) IS 'Jaro-Winkler similarity of two texts, from 0 to 1: 0.1 for each of up to 4 first characters in common, above 0.7';
CREATE FUNCTION jaro_keys(body text) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_jaro_keys' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION jaro_keys(text) IS 'one integer for each character of a text: two texts share as many as they have characters in common';

CREATE FUNCTION fuzzystrmatch_joins(OUT taken bool, OUT reason text)
AS 'MODULE_PATHNAME', 'simjoin_fuzzystrmatch_joins' LANGUAGE C STABLE STRICT;
COMMENT ON FUNCTION fuzzystrmatch_joins() IS 'whether this session runs joins by levenshtein of fuzzystrmatch with the join operator, and if not, why';

-- Joins as functions. A query is run as the caller, with the caller's snapshot, and may not write. A key gives only the type of
-- ids. It takes the place of the first optional text of the function for integers, which goes to the end: so a call whose arguments
-- have no types is one of that function.

CREATE FUNCTION similarity_self_join(query text, threshold float8, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_self_join(query text, threshold float8, key anyelement, measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anyelement, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_self_join(query text, threshold float8, tokens tokenizer, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_self_join(query text, threshold float8, key anyelement, tokens tokenizer, measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anyelement, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_self_join(text, float8, text) IS
'all pairs of rows of a query (id bigint, tokens set) with similarity >= threshold, each once, a < b; ids are distinct';
COMMENT ON FUNCTION similarity_self_join(text, float8, anyelement, text) IS
'similarity_self_join for ids of the type of key, as in key => NULL::uuid';
COMMENT ON FUNCTION similarity_self_join(text, float8, tokenizer, text) IS
'similarity_self_join for a query of texts, as in tokens => ''shingles(5)''';
COMMENT ON FUNCTION similarity_self_join(text, float8, anyelement, tokenizer, text) IS
'similarity_self_join for a query of texts, and for ids of the type of key';

CREATE FUNCTION similarity_join(left_query text, right_query text, threshold float8,
                                measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_join(left_query text, right_query text, threshold float8, left_key anyelement,
                                right_key anycompatible, measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_join(left_query text, right_query text, threshold float8, tokens tokenizer, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_join(left_query text, right_query text, threshold float8, left_key anyelement, right_key anycompatible,
                                tokens tokenizer, measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_join(text, text, float8, text) IS
'all pairs of a row of each of two queries (id bigint, tokens set) with similarity >= threshold';
COMMENT ON FUNCTION similarity_join(text, text, float8, anyelement, anycompatible, text) IS
'similarity_join for ids of the types of left_key and right_key, as in left_key => NULL::uuid';
COMMENT ON FUNCTION similarity_join(text, text, float8, tokenizer, text) IS
'similarity_join for queries of texts, as in tokens => ''shingles(5)''';
COMMENT ON FUNCTION similarity_join(text, text, float8, anyelement, anycompatible, tokenizer, text) IS
'similarity_join for queries of texts, and for ids of the types of left_key and right_key';

CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int,
                                     min_similarity float8 DEFAULT 0, measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int, min_similarity float8,
                                     left_key anyelement, right_key anycompatible, measure text DEFAULT 'jaccard',
                                     ties bool DEFAULT false)
RETURNS TABLE (a anyelement, b anycompatible, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int, min_similarity float8, measure text, ties bool)
RETURNS TABLE (a bigint, b bigint, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int, min_similarity float8, tokens tokenizer,
                                     measure text DEFAULT 'jaccard', ties bool DEFAULT false)
RETURNS TABLE (a bigint, b bigint, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION similarity_neighbors(left_query text, right_query text, k int, min_similarity float8, left_key anyelement,
                                     right_key anycompatible, tokens tokenizer, measure text DEFAULT 'jaccard',
                                     ties bool DEFAULT false)
RETURNS TABLE (a anyelement, b anycompatible, similarity float8, rank int)
AS 'MODULE_PATHNAME', 'simjoin_similarity_neighbors' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, text) IS
'for each row of the left query the k most similar rows of the right one that share an element with it, ties by b';
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, anyelement, anycompatible, text, bool) IS
'similarity_neighbors for ids of the types of left_key and right_key, as in left_key => NULL::uuid';
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, text, bool) IS
'similarity_neighbors that, with ties, returns all rows that are as similar as the k-th';
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, tokenizer, text, bool) IS
'similarity_neighbors for queries of texts, as in tokens => ''shingles(5)''';
COMMENT ON FUNCTION similarity_neighbors(text, text, int, float8, anyelement, anycompatible, tokenizer, text, bool) IS
'similarity_neighbors for queries of texts, and for ids of the types of left_key and right_key';

-- What each of several thresholds would find.
CREATE FUNCTION similarity_profile(query text, thresholds float8[] DEFAULT '{0.9,0.8,0.7,0.6,0.5}', measure text DEFAULT 'jaccard',
                                   sample int DEFAULT 10000, seed int8 DEFAULT 1, key anyelement DEFAULT NULL::bigint,
                                   tokens tokenizer DEFAULT NULL, pairs_shown int DEFAULT 3)
RETURNS TABLE (threshold float8, pairs bigint, pairs_error bigint, equal_pairs bigint, rows_with_partner bigint, rows_error bigint,
               groups bigint, examples jsonb, equal_groups jsonb, drawn jsonb)
AS 'MODULE_PATHNAME', 'simjoin_similarity_profile' LANGUAGE C STABLE COST 100000 ROWS 5;
COMMENT ON FUNCTION similarity_profile(text, float8[], text, int, int8, anyelement, tokenizer, int) IS
'the pairs, the rows with a partner and example pairs that each threshold finds among the rows of a query, estimated from a sample of them';
CREATE FUNCTION similarity_report(query text, thresholds float8[] DEFAULT '{1,0.9,0.8,0.7,0.6,0.5}', measure text DEFAULT 'jaccard',
                                  sample int DEFAULT 10000, seed int8 DEFAULT 1, key anyelement DEFAULT NULL::bigint,
                                  tokens tokenizer DEFAULT NULL, pairs_shown int DEFAULT 5, group_threshold float8 DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'simjoin_similarity_report' LANGUAGE C STABLE COST 100000;
COMMENT ON FUNCTION similarity_report(text, float8[], text, int, int8, anyelement, tokenizer, int, float8) IS
'an HTML page about what each threshold finds among the rows of a query, with pairs to judge';

-- Matches of the rows of two sides.

CREATE FUNCTION best_matches(pairs text, method text DEFAULT 'best')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_best_matches' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION best_matches(text, text) IS
'matches among pairs (a, b, similarity) of a query; methods: best, of each a, mutual, one_to_one, greedily, and assignment, with the greatest sum';
CREATE FUNCTION best_matches(pairs text, left_key anyelement, right_key anycompatible, method text DEFAULT 'best')
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_best_matches' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION best_matches(text, anyelement, anycompatible, text) IS
'best_matches for ids of the types of left_key and right_key, as in left_key => NULL::uuid';

CREATE FUNCTION similarity_match(left_query text, right_query text, threshold float8, measure text DEFAULT 'jaccard',
                                 method text DEFAULT 'best')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_match' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_match(text, text, float8, text, text) IS
'matches among the pairs of similarity_join, by one of the methods of best_matches';
CREATE FUNCTION similarity_match(left_query text, right_query text, threshold float8, left_key anyelement,
                                 right_key anycompatible, method text DEFAULT 'best', measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_match' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_match(text, text, float8, anyelement, anycompatible, text, text) IS
'similarity_match for ids of the types of left_key and right_key, as in left_key => NULL::uuid';
CREATE FUNCTION similarity_match(left_query text, right_query text, threshold float8, tokens tokenizer,
                                 method text DEFAULT 'best', measure text DEFAULT 'jaccard')
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_match' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_match(text, text, float8, tokenizer, text, text) IS
'similarity_match for queries of texts, as in tokens => ''shingles(5)''';
CREATE FUNCTION similarity_match(left_query text, right_query text, threshold float8, left_key anyelement,
                                 right_key anycompatible, tokens tokenizer, method text DEFAULT 'best',
                                 measure text DEFAULT 'jaccard')
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_match' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION similarity_match(text, text, float8, anyelement, anycompatible, tokenizer, text, text) IS
'similarity_match for queries of texts, and for ids of the types of left_key and right_key';

-- Weights of columns, without labels.

CREATE FUNCTION linkage_weights(query text, levels jsonb DEFAULT NULL)
RETURNS TABLE (place int, comparison text, level int, at_least float8, pairs bigint, m float8, u float8, weight float8,
               probability float8, m_error float8, u_error float8, weight_error float8, prior float8, prior_error float8)
AS 'MODULE_PATHNAME', 'simjoin_linkage_weights' LANGUAGE C STABLE COST 100000 ROWS 20;
COMMENT ON FUNCTION linkage_weights(text, jsonb) IS
'the weight of each level of agreement of the columns of a query of pairs, fitted without labels by the model of Fellegi and Sunter';
CREATE FUNCTION match_probability(weights jsonb, VARIADIC similarities "any") RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_match_probability' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION match_probability(jsonb, "any") IS
'how probable it is that a pair with these similarities is a match, by the rows of linkage_weights as jsonb';

-- The similarity graph. A query for edges returns (a bigint, b bigint) or (a bigint, b bigint, weight float8).

CREATE FUNCTION connected_components(edges text, nodes text DEFAULT NULL)
RETURNS TABLE (component bigint, node bigint)
AS 'MODULE_PATHNAME', 'simjoin_connected_components' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION connected_components(edges text, key anyelement, nodes text DEFAULT NULL)
RETURNS TABLE (component anyelement, node anyelement)
AS 'MODULE_PATHNAME', 'simjoin_connected_components' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION connected_components(text, text) IS
'each node of a graph with the smallest node that it is connected with; nodes: a query for nodes that may have no edge';
COMMENT ON FUNCTION connected_components(text, anyelement, text) IS
'connected_components for nodes of the type of key, as in key => NULL::uuid';

CREATE FUNCTION group_path(pairs text, from_id anycompatible, to_id anycompatible)
RETURNS TABLE (step int, a anycompatible, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_group_path' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION group_path(text, anycompatible, anycompatible) IS
'the pairs of a query that connect two ids by the path whose weakest pair is the strongest, the weakest pair first';

CREATE FUNCTION weakest_links(pairs text)
RETURNS TABLE (group_id bigint, rows bigint, a bigint, b bigint, similarity float8, rows_at_a bigint)
AS 'MODULE_PATHNAME', 'simjoin_weakest_links' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION weakest_links(pairs text, key anyelement)
RETURNS TABLE (group_id anyelement, rows bigint, a anyelement, b anyelement, similarity float8, rows_at_a bigint)
AS 'MODULE_PATHNAME', 'simjoin_weakest_links' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weakest_links(text) IS
'each group that the pairs of a query form, with the weakest pair that it hangs on';
COMMENT ON FUNCTION weakest_links(text, anyelement) IS 'weakest_links for ids of the type of key, as in key => NULL::uuid';

CREATE FUNCTION pagerank(edges text, damping float8 DEFAULT 0.85, method text DEFAULT 'power',
                         directed bool DEFAULT true, tolerance float8 DEFAULT 1e-9, coupons int DEFAULT 100,
                         seed int8 DEFAULT 1, nodes text DEFAULT NULL)
RETURNS TABLE (node bigint, rank float8)
AS 'MODULE_PATHNAME', 'simjoin_pagerank' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION pagerank(edges text, damping float8, key anyelement, directed bool DEFAULT true,
                         tolerance float8 DEFAULT 1e-9, coupons int DEFAULT 100, seed int8 DEFAULT 1,
                         nodes text DEFAULT NULL, method text DEFAULT 'power')
RETURNS TABLE (node anyelement, rank float8)
AS 'MODULE_PATHNAME', 'simjoin_pagerank' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION pagerank(text, float8, text, bool, float8, int, int8, text) IS
'the PageRank of each node of a graph; methods: power, to a tolerance, and random_walk, from coupons that start at each node';
COMMENT ON FUNCTION pagerank(text, float8, anyelement, bool, float8, int, int8, text, text) IS
'pagerank for nodes of the type of key, as in key => NULL::uuid';

CREATE FUNCTION densest_subgraph(edges text, k int, method text DEFAULT 'auto')
RETURNS TABLE (node bigint, degree float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION densest_subgraph(edges text, k int, key anyelement, method text DEFAULT 'auto')
RETURNS TABLE (node anyelement, degree float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION densest_subgraph(text, int, text) IS
'k nodes of a graph with much weight between them, and the weight of the edges of each to the others; methods: bilinear, greedy and auto, the better of both';
COMMENT ON FUNCTION densest_subgraph(text, int, anyelement, text) IS
'densest_subgraph for nodes of the type of key, as in key => NULL::uuid';

CREATE FUNCTION densest_subgraph_density(edges text, k int, method text DEFAULT 'auto')
RETURNS TABLE (nodes int, weight float8, density float8, upper_bound float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph_density' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION densest_subgraph_density(edges text, k int, key anyelement, method text DEFAULT 'auto')
RETURNS TABLE (nodes int, weight float8, density float8, upper_bound float8)
AS 'MODULE_PATHNAME', 'simjoin_densest_subgraph_density' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION densest_subgraph_density(text, int, text) IS
'the density of the result of densest_subgraph: density is its mean weighted degree, upper_bound a limit for any k nodes';
COMMENT ON FUNCTION densest_subgraph_density(text, int, anyelement, text) IS
'densest_subgraph_density for nodes of the type of key, as in key => NULL::uuid';

-- Deduplication. In duplicate_groups, the order of the last arguments keeps calls of six arguments without types unique.

CREATE FUNCTION duplicate_groups(query text, threshold float8, measure text DEFAULT 'jaccard',
                                 method text DEFAULT 'components', keep text DEFAULT 'smallest_id',
                                 max_group_share float8 DEFAULT 0.1)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_duplicate_groups' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION duplicate_groups(query text, threshold float8, key anyelement, method text DEFAULT 'components',
                                 keep text DEFAULT 'smallest_id', max_group_share float8 DEFAULT 0.1,
                                 measure text DEFAULT 'jaccard', verdicts text DEFAULT NULL)
RETURNS TABLE (id anyelement, group_id anyelement, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_duplicate_groups' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION duplicate_groups(query text, threshold float8, tokens tokenizer, method text DEFAULT 'components',
                                 keep text DEFAULT 'smallest_id', max_group_share float8 DEFAULT 0.1,
                                 measure text DEFAULT 'jaccard')
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_duplicate_groups' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION duplicate_groups(query text, threshold float8, key anyelement, tokens tokenizer, method text DEFAULT 'components',
                                 max_group_share float8 DEFAULT 0.1, keep text DEFAULT 'smallest_id',
                                 measure text DEFAULT 'jaccard', verdicts text DEFAULT NULL)
RETURNS TABLE (id anyelement, group_id anyelement, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_duplicate_groups' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION duplicate_groups(text, float8, text, text, text, float8) IS
'each row of a query (id bigint, tokens set) with its group of duplicates, which is named for its one representative; methods: components, star, best_link';
COMMENT ON FUNCTION duplicate_groups(text, float8, anyelement, text, text, float8, text, text) IS
'duplicate_groups for ids of the type of key, as in key => NULL::uuid, and with verdicts (a, b, same or different) of another query, which bind';
COMMENT ON FUNCTION duplicate_groups(text, float8, tokenizer, text, text, float8, text) IS
'duplicate_groups for a query of texts, as in tokens => ''shingles(5)''';
COMMENT ON FUNCTION duplicate_groups(text, float8, anyelement, tokenizer, text, float8, text, text, text) IS
'duplicate_groups for a query of texts, and for ids of the type of key';

-- The queries of dedup views, which can only be called by these. They update the tables beside the view. Of views whose ids are no
-- integers, the view tells the type of its columns, and the table of rows has the keys.
CREATE FUNCTION dedup_view_groups(source regclass, rows regclass, pairs regclass, threshold float8, measure text,
                                  method text, keep text, max_group_share float8)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
CREATE FUNCTION dedup_view_groups(source regclass, rows regclass, pairs regclass, changes regclass,
                                  token_order regclass, threshold float8, measure text, method text, keep text,
                                  max_group_share float8)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
CREATE FUNCTION dedup_view_groups(source regclass, rows regclass, pairs regclass, changes regclass,
                                  token_order regclass, entities regclass, history regclass, verdicts regclass,
                                  judged regclass, threshold float8, measure text, method text, keep text,
                                  max_group_share float8)
RETURNS TABLE (id bigint, group_id bigint, is_representative bool, similarity float8, entity_id bigint)
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
CREATE FUNCTION dedup_view_groups_of_keys(source regclass, rows regclass, pairs regclass, changes regclass,
                                          token_order regclass, entities regclass, history regclass, verdicts regclass,
                                          judged regclass, threshold float8, measure text, method text, keep text,
                                          max_group_share float8) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_dedup_view_groups' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION dedup_view_groups(regclass, regclass, regclass, float8, text, text, text, float8) IS
'the query of the views that create_dedup_view of 0.1.0 made';
COMMENT ON FUNCTION dedup_view_groups(regclass, regclass, regclass, regclass, regclass, float8, text, text, text,
                                      float8) IS
'the query of the views that create_dedup_view of 0.1.0 made with track_changes';
COMMENT ON FUNCTION dedup_view_groups(regclass, regclass, regclass, regclass, regclass, regclass, regclass, regclass,
                                      regclass, float8, text, text, text, float8) IS
'the query of the views that create_dedup_view makes';
COMMENT ON FUNCTION dedup_view_groups_of_keys(regclass, regclass, regclass, regclass, regclass, regclass, regclass, regclass,
                                              regclass, float8, text, text, text, float8) IS
'the query of the views that create_dedup_view makes of a query whose ids are no integers';

CREATE FUNCTION dedup_view_changes() RETURNS trigger
AS 'MODULE_PATHNAME', 'simjoin_track_changes' LANGUAGE C;
COMMENT ON FUNCTION dedup_view_changes() IS
'the trigger function of tables whose changes dedup views track: records which rows change';

CREATE FUNCTION create_dedup_view(view text, query text, threshold float8, measure text DEFAULT 'jaccard',
                                  method text DEFAULT 'components', keep text DEFAULT 'smallest_id',
                                  max_group_share float8 DEFAULT 0.1, track_changes bool DEFAULT false,
                                  verdicts text DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_create_dedup_view' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_dedup_view(text, text, float8, text, text, text, float8, bool, text) IS
'makes a materialized view of duplicate_groups that is refreshed incrementally; with track_changes, triggers on the table of the query record which rows change; verdicts (a, b, same or different) of another query bind';

CREATE FUNCTION refresh_dedup_view(view regclass, concurrently bool DEFAULT true)
RETURNS TABLE (rows bigint, new_rows bigint, changed_rows bigint, removed_rows bigint, new_pairs bigint,
               read_rows bigint)
AS 'MODULE_PATHNAME', 'simjoin_refresh_dedup_view' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION refresh_dedup_view(regclass, bool) IS
'refreshes a view that create_dedup_view made: joins only new and changed rows with the rest; returns the numbers of rows and pairs';

CREATE FUNCTION drop_dedup_view(view regclass) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_drop_dedup_view' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION drop_dedup_view(regclass) IS
'drops a view that create_dedup_view made, and the tables and the view beside it';

-- Rows of groups become one row each.

CREATE FUNCTION merge_duplicates(groups text, "table" regclass, rules jsonb DEFAULT '{}', newest_by text DEFAULT NULL,
                                 on_conflict text DEFAULT 'error', journal text DEFAULT NULL, id text DEFAULT NULL,
                                 trusted regclass[] DEFAULT '{}')
RETURNS TABLE (relation regclass, deleted bigint, updated bigint, in_journal regclass)
AS 'MODULE_PATHNAME', 'simjoin_merge_duplicates' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION merge_duplicates(text, regclass, jsonb, text, text, text, text, regclass[]) IS
'merges the rows of each group into its survivor, redirects foreign keys, and keeps a journal by which undo_merge undoes it';

CREATE FUNCTION merge_preview(groups text, "row" anyelement, rules jsonb DEFAULT '{}', newest_by text DEFAULT NULL,
                              id text DEFAULT NULL, trusted regclass[] DEFAULT '{}') RETURNS SETOF anyelement
AS 'MODULE_PATHNAME', 'simjoin_merge_preview' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION merge_preview(text, anyelement, jsonb, text, text, regclass[]) IS
'the rows that merge_duplicates would make of each group, for a row type as in NULL::companies';

CREATE FUNCTION merge_counts(groups text, "table" regclass, rules jsonb DEFAULT '{}', newest_by text DEFAULT NULL,
                             on_conflict text DEFAULT 'error', id text DEFAULT NULL, trusted regclass[] DEFAULT '{}')
RETURNS TABLE (relation regclass, deleted bigint, updated bigint)
AS 'MODULE_PATHNAME', 'simjoin_merge_counts' LANGUAGE C STABLE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION merge_counts(text, regclass, jsonb, text, text, text, regclass[]) IS
'how many rows of which tables merge_duplicates would delete and update';

CREATE FUNCTION undo_merge(journal regclass, trusted regclass[] DEFAULT '{}')
RETURNS TABLE (relation regclass, restored bigint, updated bigint)
AS 'MODULE_PATHNAME', 'simjoin_undo_merge' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION undo_merge(regclass, regclass[]) IS 'undoes a merge by its journal';

CREATE FUNCTION drop_merge_journal(journal regclass) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_drop_merge_journal' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION drop_merge_journal(regclass) IS 'drops a journal of merge_duplicates, and its parts';

-- MinHash signatures. Values are random bits, which do not compress.

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
CREATE TYPE minhash (INPUT = minhash_in, OUTPUT = minhash_out, RECEIVE = minhash_recv, SEND = minhash_send,
                     INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external);
COMMENT ON TYPE minhash IS 'MinHash signature of a set, or weighted MinHash signature of a weighted set';

CREATE FUNCTION minhash_from_bytea(bytea) RETURNS minhash
AS 'MODULE_PATHNAME', 'simjoin_minhash_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (minhash AS bytea) WITH FUNCTION minhash_send(minhash);
CREATE CAST (bytea AS minhash) WITH FUNCTION minhash_from_bytea(bytea);
COMMENT ON FUNCTION minhash_from_bytea(bytea) IS 'cast of the bytes of a signature; the manual specifies them';

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

-- Functions over queries whose other optional arguments are no texts. There the key stands behind all arguments of the function for
-- integers, and none of these is optional: so no call of that function is ambiguous, with types or without.

CREATE FUNCTION minhash_signatures(query text, permutations int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_minhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION minhash_signatures(query text, permutations int, seed bigint,
                                   key anyelement, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (id anyelement, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_minhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_signatures(text, int, bigint) IS 'minhash() of every row of a query (id bigint, tokens set), on all threads';
COMMENT ON FUNCTION minhash_signatures(text, int, bigint, anyelement, tokenizer) IS
'minhash() of every row of a query (id, tokens set), on all threads; key gives the type of ids, as in key => NULL::uuid';

CREATE FUNCTION weighted_minhash_signatures(query text, samples int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION weighted_minhash_signatures(query text, samples int, seed bigint,
                                            key anyelement)
RETURNS TABLE (id anyelement, signature minhash)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weighted_minhash_signatures(text, int, bigint) IS 'weighted_minhash() of every row of a query (id bigint, tokens set, weights float4[]), on all threads';
COMMENT ON FUNCTION weighted_minhash_signatures(text, int, bigint, anyelement) IS
'weighted_minhash() of every row of a query (id, tokens set, weights float4[]), on all threads; key gives the type of ids';

CREATE FUNCTION minhash_self_join(query text, threshold float8, permutations int DEFAULT 128,
                                  bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                                  seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION minhash_self_join(query text, threshold float8, permutations int, bands int,
                                  rows int, verify bool, seed bigint,
                                  key anyelement, tokens tokenizer DEFAULT NULL, recall float8 DEFAULT NULL)
RETURNS TABLE (a anyelement, b anyelement, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_self_join(text, float8, int, int, int, bool, bigint) IS
'most pairs of rows of a query (id bigint, tokens set) with Jaccard similarity >= threshold, each once, a < b, found by bands of MinHash signatures';
COMMENT ON FUNCTION minhash_self_join(text, float8, int, int, int, bool, bigint, anyelement, tokenizer, float8) IS
'most pairs of rows of a query (id, tokens set) with Jaccard similarity >= threshold, each once, a < b, found by bands of MinHash signatures; key gives the type of ids';
CREATE FUNCTION minhash_self_join(query text, threshold float8, recall float8, permutations int DEFAULT 128,
                                  verify bool DEFAULT true, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_self_join(text, float8, float8, int, bool, bigint) IS
'minhash_self_join by bands that find the share recall of the pairs on the threshold, as in recall => 0.97';
CREATE FUNCTION minhash_self_join(query text, threshold float8, tokens tokenizer, recall float8 DEFAULT NULL,
                                  permutations int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_self_join(text, float8, tokenizer, float8, int, bigint) IS
'minhash_self_join for a query of texts, as in tokens => ''shingles(5)''';

CREATE FUNCTION minhash_join(left_query text, right_query text, threshold float8, permutations int DEFAULT 128,
                             bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                             seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION minhash_join(left_query text, right_query text, threshold float8, permutations int,
                             bands int, rows int, verify bool, seed bigint,
                             left_key anyelement, right_key anycompatible,
                             tokens tokenizer DEFAULT NULL, recall float8 DEFAULT NULL)
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_join(text, text, float8, int, int, int, bool, bigint) IS
'most pairs of a row of each of two queries (id bigint, tokens set) with Jaccard similarity >= threshold, found by bands of MinHash signatures';
COMMENT ON FUNCTION minhash_join(text, text, float8, int, int, int, bool, bigint, anyelement, anycompatible, tokenizer, float8) IS
'most pairs of a row of each of two queries (id, tokens set) with Jaccard similarity >= threshold, found by bands of MinHash signatures; left_key and right_key give the types of ids';
CREATE FUNCTION minhash_join(left_query text, right_query text, threshold float8, recall float8, permutations int DEFAULT 128,
                             verify bool DEFAULT true, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_join(text, text, float8, float8, int, bool, bigint) IS
'minhash_join by bands that find the share recall of the pairs on the threshold';
CREATE FUNCTION minhash_join(left_query text, right_query text, threshold float8, tokens tokenizer, recall float8 DEFAULT NULL,
                             permutations int DEFAULT 128, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION minhash_join(text, text, float8, tokenizer, float8, int, bigint) IS
'minhash_join for queries of texts';

CREATE FUNCTION weighted_minhash_self_join(query text, threshold float8, samples int DEFAULT 128,
                                           bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                                           seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION weighted_minhash_self_join(query text, threshold float8, samples int, bands int,
                                           rows int, verify bool, seed bigint, key anyelement,
                                           recall float8 DEFAULT NULL)
RETURNS TABLE (a anyelement, b anyelement, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weighted_minhash_self_join(text, float8, int, int, int, bool, bigint) IS
'most pairs of rows of a query (id bigint, tokens set, weights float4[]) with weighted Jaccard similarity >= threshold, each once, a < b, found by bands of weighted MinHash signatures';
COMMENT ON FUNCTION weighted_minhash_self_join(text, float8, int, int, int, bool, bigint, anyelement, float8) IS
'weighted_minhash_self_join for ids of the type of key';
CREATE FUNCTION weighted_minhash_self_join(query text, threshold float8, recall float8, samples int DEFAULT 128,
                                           verify bool DEFAULT true, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_self_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weighted_minhash_self_join(text, float8, float8, int, bool, bigint) IS
'weighted_minhash_self_join by bands that find the share recall of the pairs on the threshold';

CREATE FUNCTION weighted_minhash_join(left_query text, right_query text, threshold float8, samples int DEFAULT 128,
                                      bands int DEFAULT NULL, rows int DEFAULT NULL, verify bool DEFAULT true,
                                      seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION weighted_minhash_join(left_query text, right_query text, threshold float8, samples int,
                                      bands int, rows int, verify bool, seed bigint,
                                      left_key anyelement, right_key anycompatible,
                                      recall float8 DEFAULT NULL)
RETURNS TABLE (a anyelement, b anycompatible, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weighted_minhash_join(text, text, float8, int, int, int, bool, bigint) IS
'most pairs of a row of each of two queries (id bigint, tokens set, weights float4[]) with weighted Jaccard similarity >= threshold, found by bands of weighted MinHash signatures';
COMMENT ON FUNCTION weighted_minhash_join(text, text, float8, int, int, int, bool, bigint, anyelement, anycompatible, float8) IS
'weighted_minhash_join for ids of the types of left_key and right_key';
CREATE FUNCTION weighted_minhash_join(left_query text, right_query text, threshold float8, recall float8, samples int DEFAULT 128,
                                      verify bool DEFAULT true, seed bigint DEFAULT 1)
RETURNS TABLE (a bigint, b bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_weighted_minhash_join' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION weighted_minhash_join(text, text, float8, float8, int, bool, bigint) IS
'weighted_minhash_join by bands that find the share recall of the pairs on the threshold';

-- Hashes of vectors are sets of positions, which are joined like any other sets.
CREATE FUNCTION flyhash(vector float4[], hash_length int, winners int DEFAULT NULL, projection int DEFAULT NULL,
                        seed bigint DEFAULT 1)
RETURNS int[]
AS 'MODULE_PATHNAME', 'simjoin_flyhash' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50000;
COMMENT ON FUNCTION flyhash(float4[], int, int, int, bigint) IS 'FlyHash of a vector: the positions of the largest activations of a sparse random projection';

CREATE FUNCTION flyhash_signatures(query text, hash_length int, winners int DEFAULT NULL, projection int DEFAULT NULL,
                                   seed bigint DEFAULT 1)
RETURNS TABLE (id bigint, tokens int[])
AS 'MODULE_PATHNAME', 'simjoin_flyhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION flyhash_signatures(query text, hash_length int, winners int, projection int,
                                   seed bigint, key anyelement)
RETURNS TABLE (id anyelement, tokens int[])
AS 'MODULE_PATHNAME', 'simjoin_flyhash_signatures' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION flyhash_signatures(text, int, int, int, bigint) IS 'flyhash() of every row of a query (id bigint, vector float4[]), on all threads or a GPU';
COMMENT ON FUNCTION flyhash_signatures(text, int, int, int, bigint, anyelement) IS
'flyhash() of every row of a query (id, vector float4[]), on all threads or a GPU; key gives the type of ids';

-- Clustering of documents. kind gives only the type of the terms. Where it is a text, it is a literal or parameter without a type.

CREATE FUNCTION tf_idf(query text, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION tf_idf(query text, kind anyarray, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms anyarray, weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION tf_idf(query text, kind text, max_terms int DEFAULT NULL)
RETURNS TABLE (id bigint, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_kind' LANGUAGE C STABLE;
CREATE FUNCTION tf_idf(query text, max_terms int, key anyelement)
RETURNS TABLE (id anyelement, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION tf_idf(query text, kind anyarray, max_terms int, key anycompatible)
RETURNS TABLE (id anycompatible, terms anyarray, weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_tf_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION tf_idf(text, int) IS
'each document of a query (id bigint, terms text[]), in which terms may repeat, with the tf-idf weights of its different terms, heaviest first';
COMMENT ON FUNCTION tf_idf(text, anyarray, int) IS
'tf_idf for terms of the type of kind';
COMMENT ON FUNCTION tf_idf(text, text, int) IS 'an error: a text is not an array of terms';
COMMENT ON FUNCTION tf_idf(text, int, anyelement) IS
'each document of a query (id, terms text[]), in which terms may repeat, with the tf-idf weights of its different terms, heaviest first; key gives the type of ids';
COMMENT ON FUNCTION tf_idf(text, anyarray, int, anycompatible) IS 'tf_idf for terms of the type of kind';

CREATE FUNCTION idf(query text, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (id bigint, terms text[], weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION idf(query text, kind anyarray, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (id bigint, terms anyarray, weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION idf(query text, kind anyarray, key anycompatible, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (id anycompatible, terms anyarray, weights float4[])
AS 'MODULE_PATHNAME', 'simjoin_idf' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION idf(text, tokenizer) IS
'each row of a query (id, tokens text[]) with the different tokens of its set and their weights by rarity in all sets, rarest first';
COMMENT ON FUNCTION idf(text, anyarray, tokenizer) IS 'idf for tokens of the type of kind';
COMMENT ON FUNCTION idf(text, anyarray, anycompatible, tokenizer) IS
'idf for tokens of the type of kind; key gives the type of ids';

CREATE FUNCTION token_weights(query text, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (token text, rows bigint, weight float4)
AS 'MODULE_PATHNAME', 'simjoin_token_weights' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION token_weights(query text, kind anyarray, tokens tokenizer DEFAULT NULL)
RETURNS TABLE (token anyelement, rows bigint, weight float4)
AS 'MODULE_PATHNAME', 'simjoin_token_weights' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION token_weights(text, tokenizer) IS
'each token of the sets of a query (id bigint, tokens text[]) with its weight by rarity, and a row without a token for all others';
COMMENT ON FUNCTION token_weights(text, anyarray, tokenizer) IS 'token_weights for tokens of the type of kind';

CREATE FUNCTION idf_weights(tokens int4[], weights regclass) RETURNS float4[]
AS 'MODULE_PATHNAME', 'simjoin_idf_weights' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000;
CREATE FUNCTION idf_weights(tokens int8[], weights regclass) RETURNS float4[]
AS 'MODULE_PATHNAME', 'simjoin_idf_weights' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000;
CREATE FUNCTION idf_weights(tokens text[], weights regclass) RETURNS float4[]
AS 'MODULE_PATHNAME', 'simjoin_idf_weights' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION idf_weights(int4[], regclass) IS 'the weights that a table of token_weights() gives the tokens, in their order';
COMMENT ON FUNCTION idf_weights(int8[], regclass) IS 'the weights that a table of token_weights() gives the tokens, in their order';
COMMENT ON FUNCTION idf_weights(text[], regclass) IS 'the weights that a table of token_weights() gives the tokens, in their order';

CREATE FUNCTION similarity_explain(a text, b text, tokens tokenizer)
RETURNS TABLE (token text, hash bigint, side text, a_places int[], b_places int[], a_weight float8, b_weight float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10000 ROWS 50;
CREATE FUNCTION similarity_explain(a anyarray, b anyarray)
RETURNS TABLE (token text, hash bigint, side text, a_places int[], b_places int[], a_weight float8, b_weight float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 50;
CREATE FUNCTION similarity_explain(a anyarray, a_weights float4[], b anyarray, b_weights float4[])
RETURNS TABLE (token text, hash bigint, side text, a_places int[], b_places int[], a_weight float8, b_weight float8)
AS 'MODULE_PATHNAME', 'simjoin_similarity_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 50;
COMMENT ON FUNCTION similarity_explain(text, text, tokenizer) IS
'the tokens that two texts share, and those that one of them has alone, with their places in the texts';
COMMENT ON FUNCTION similarity_explain(anyarray, anyarray) IS
'the tokens that two sets share, and those that one of them has alone, with their places in the arrays';
COMMENT ON FUNCTION similarity_explain(anyarray, float4[], anyarray, float4[]) IS 'similarity_explain for sets with weights';

-- The arguments before merge have no defaults, so that a call of the functions without it is never one of these. A key that is
-- given by its place is taken for merge; so these functions see NULL, and refuse it.
CREATE FUNCTION cluster_documents(query text, threshold float8, max_terms int DEFAULT 20, batch int DEFAULT 1)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_documents' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_documents(query text, threshold float8, max_terms int, batch int,
                                  key anyelement)
RETURNS TABLE (id anyelement, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_documents' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_documents(query text, threshold float8, max_terms int, batch int, merge float8)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_documents' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_documents(query text, threshold float8, max_terms int, batch int, merge float8, key anyelement)
RETURNS TABLE (id anyelement, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_documents' LANGUAGE C STABLE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION cluster_documents(text, float8, int, int) IS
'single-pass clustering of the documents of a query (id bigint, terms set, weights float4[]), in its order: each joins the most similar centroid at or above the threshold, or begins a cluster';
COMMENT ON FUNCTION cluster_documents(text, float8, int, int, anyelement) IS
'single-pass clustering of the documents of a query (id, terms set, weights float4[]), in its order: each joins the most similar centroid at or above the threshold, or begins a cluster; key gives the type of ids';
COMMENT ON FUNCTION cluster_documents(text, float8, int, int, float8) IS
'cluster_documents that merges, after each batch, clusters whose centroids have become as similar as merge';
COMMENT ON FUNCTION cluster_documents(text, float8, int, int, float8, anyelement) IS
'cluster_documents that merges, after each batch, clusters whose centroids have become as similar as merge; key gives the type of ids';

CREATE FUNCTION cluster_stream_create(name text, kind anyarray DEFAULT NULL::text[]) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream_create' LANGUAGE C VOLATILE;
CREATE FUNCTION cluster_stream_create(name text, kind text) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_text_is_no_kind' LANGUAGE C STABLE;
COMMENT ON FUNCTION cluster_stream_create(text, anyarray) IS
'creates a table that keeps the clusters of a stream of documents; kind gives the type of their terms';
COMMENT ON FUNCTION cluster_stream_create(text, text) IS 'an error: a text is not an array of terms';

CREATE FUNCTION cluster_stream(state regclass, query text, threshold float8, max_terms int DEFAULT 20,
                                          batch int DEFAULT 1)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream' LANGUAGE C VOLATILE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_stream(state regclass, query text, threshold float8, max_terms int, batch int,
                               key anyelement)
RETURNS TABLE (id anyelement, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream' LANGUAGE C VOLATILE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_stream(state regclass, query text, threshold float8, max_terms int, batch int, merge float8)
RETURNS TABLE (id bigint, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream' LANGUAGE C VOLATILE COST 100000
SUPPORT simjoin_query_support;
CREATE FUNCTION cluster_stream(state regclass, query text, threshold float8, max_terms int, batch int, merge float8, key anyelement)
RETURNS TABLE (id anyelement, cluster bigint, similarity float8)
AS 'MODULE_PATHNAME', 'simjoin_cluster_stream' LANGUAGE C VOLATILE COST 100000
SUPPORT simjoin_query_support;
COMMENT ON FUNCTION cluster_stream(regclass, text, float8, int, int) IS
'cluster_documents for documents that arrive in parts: continues from the clusters in a table made by cluster_stream_create, and stores them there';
COMMENT ON FUNCTION cluster_stream(regclass, text, float8, int, int, anyelement) IS
'cluster_documents for documents that arrive in parts: continues from the clusters in a table made by cluster_stream_create, and stores them there';
COMMENT ON FUNCTION cluster_stream(regclass, text, float8, int, int, float8) IS
'cluster_stream that merges, after each batch, clusters whose centroids have become as similar as merge; merged_into in the table tells which';
COMMENT ON FUNCTION cluster_stream(regclass, text, float8, int, int, float8, anyelement) IS
'cluster_stream that merges, after each batch, clusters whose centroids have become as similar as merge; key gives the type of ids';

-- An index on sets: operator classes of GIN, and what queries of it are made of.

CREATE TYPE similarity_query;
CREATE FUNCTION similarity_query_in(cstring) RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query_in(cstring) IS 'I/O';
CREATE FUNCTION similarity_query_out(similarity_query) RETURNS cstring
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query_out(similarity_query) IS 'I/O';
CREATE FUNCTION similarity_query_recv(internal) RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_recv' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query_recv(internal) IS 'I/O';
CREATE FUNCTION similarity_query_send(similarity_query) RETURNS bytea
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_send' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query_send(similarity_query) IS 'I/O';
CREATE TYPE similarity_query (INPUT = similarity_query_in, OUTPUT = similarity_query_out,
                              RECEIVE = similarity_query_recv, SEND = similarity_query_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = double, STORAGE = extended);
COMMENT ON TYPE similarity_query IS 'a set, and how similar to it other sets are to be';

CREATE FUNCTION similarity_query(tokens anyarray, threshold float8, measure text DEFAULT 'jaccard')
RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION similarity_query(tokens anyarray) RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_of_settings' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query(anyarray, float8, text) IS 'query for sets of at least this similarity, or, with the measure jaccard_distance, of at most this distance';
COMMENT ON FUNCTION similarity_query(anyarray) IS 'query for sets that simjoin.measure and simjoin.similarity_threshold call similar';

-- PostgreSQL calls it with thresholds that are NULL, too.
CREATE FUNCTION similarity_query_of_clause(tokens anyarray, threshold float8, measure text)
RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_of_clause' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION similarity_query_of_clause(anyarray, float8, text) IS 'query that an index is asked for a condition of a statement, whatever its threshold';

CREATE FUNCTION similarity_query_nearest(tokens anyarray) RETURNS similarity_query
AS 'MODULE_PATHNAME', 'simjoin_similarity_query_nearest' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION similarity_query_nearest(anyarray) IS 'query for sets within the distance that the plan node NearestSets searches at the moment';

CREATE FUNCTION sets_similar(tokens int4[], query similarity_query) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_set_satisfies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION sets_similar(tokens int8[], query similarity_query) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_set_satisfies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION sets_similar(tokens text[], query similarity_query) RETURNS bool
AS 'MODULE_PATHNAME', 'simjoin_set_satisfies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sets_similar(int4[], similarity_query) IS 'whether a set is as similar as the query wants it; the function of the operator ~=';
COMMENT ON FUNCTION sets_similar(int8[], similarity_query) IS 'whether a set is as similar as the query wants it; the function of the operator ~=';
COMMENT ON FUNCTION sets_similar(text[], similarity_query) IS 'whether a set is as similar as the query wants it; the function of the operator ~=';

CREATE FUNCTION query_similarity(tokens anyarray, query similarity_query) RETURNS float8
AS 'MODULE_PATHNAME', 'simjoin_query_similarity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION query_similarity(anyarray, similarity_query) IS 'similarity of a set and that of a query, by the measure of the query';

CREATE OPERATOR ~= (LEFTARG = int4[], RIGHTARG = similarity_query, FUNCTION = sets_similar,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = int8[], RIGHTARG = similarity_query, FUNCTION = sets_similar,
                    RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR ~= (LEFTARG = text[], RIGHTARG = similarity_query, FUNCTION = sets_similar,
                    RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR ~= (int4[], similarity_query) IS 'the set is as similar as the query wants it';
COMMENT ON OPERATOR ~= (int8[], similarity_query) IS 'the set is as similar as the query wants it';
COMMENT ON OPERATOR ~= (text[], similarity_query) IS 'the set is as similar as the query wants it';

CREATE FUNCTION similarity_index_options(internal) RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_index_options' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION similarity_index_extract_set(anyarray, internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_index_extract_set' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION similarity_index_extract_query(similarity_query, internal, int2, internal, internal, internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_index_extract_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION similarity_index_consistent(internal, int2, similarity_query, int4, internal, internal, internal)
RETURNS "char"
AS 'MODULE_PATHNAME', 'simjoin_index_consistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_index_options(internal) IS 'GIN support: the parameters of an index on sets';
COMMENT ON FUNCTION similarity_index_extract_set(anyarray, internal, internal) IS 'GIN support: the entries of a set';
COMMENT ON FUNCTION similarity_index_extract_query(similarity_query, internal, int2, internal, internal, internal, internal) IS 'GIN support: the entries of a query';
COMMENT ON FUNCTION similarity_index_consistent(internal, int2, similarity_query, int4, internal, internal, internal) IS 'GIN support: whether a set with some entries may satisfy a query';

CREATE OPERATOR CLASS int4_similarity_ops FOR TYPE int4[] USING gin AS
  OPERATOR 1 ~= (int4[], similarity_query),
  FUNCTION 2 similarity_index_extract_set(anyarray, internal, internal),
  FUNCTION 3 similarity_index_extract_query(similarity_query, internal, int2, internal, internal, internal, internal),
  FUNCTION 6 similarity_index_consistent(internal, int2, similarity_query, int4, internal, internal, internal),
  FUNCTION 7 similarity_index_options(internal),
  STORAGE int4;
CREATE OPERATOR CLASS int8_similarity_ops FOR TYPE int8[] USING gin AS
  OPERATOR 1 ~= (int8[], similarity_query),
  FUNCTION 2 similarity_index_extract_set(anyarray, internal, internal),
  FUNCTION 3 similarity_index_extract_query(similarity_query, internal, int2, internal, internal, internal, internal),
  FUNCTION 6 similarity_index_consistent(internal, int2, similarity_query, int4, internal, internal, internal),
  FUNCTION 7 similarity_index_options(internal),
  STORAGE int4;
CREATE OPERATOR CLASS text_similarity_ops FOR TYPE text[] USING gin AS
  OPERATOR 1 ~= (text[], similarity_query),
  FUNCTION 2 similarity_index_extract_set(anyarray, internal, internal),
  FUNCTION 3 similarity_index_extract_query(similarity_query, internal, int2, internal, internal, internal, internal),
  FUNCTION 6 similarity_index_consistent(internal, int2, similarity_query, int4, internal, internal, internal),
  FUNCTION 7 similarity_index_options(internal),
  STORAGE int4;

CREATE FUNCTION similarity_index_tokens(query text) RETURNS text
AS 'MODULE_PATHNAME', 'simjoin_similarity_index_tokens' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION similarity_index_tokens(text) IS 'the most frequent tokens of the sets that a query returns, as the parameter "frequent" of an index on sets has them';
CREATE FUNCTION create_similarity_index(relation regclass, tokens text, threshold float8 DEFAULT 0.7,
                                        measure text DEFAULT 'jaccard') RETURNS regclass
AS 'MODULE_PATHNAME', 'simjoin_create_similarity_index' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_similarity_index(regclass, text, float8, text) IS 'makes an index on the sets of a column or an expression, for searches from this threshold on';
CREATE FUNCTION similarity_index_check(index regclass) RETURNS int8
AS 'MODULE_PATHNAME', 'simjoin_similarity_index_check' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION similarity_index_check(regclass) IS 'checks that an index on sets has each row of its table, and returns the number of rows';

-- Triggers that keep near-duplicates out of a table.

CREATE FUNCTION refuse_similar() RETURNS trigger
AS 'MODULE_PATHNAME', 'simjoin_refuse_similar' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION refuse_similar() IS 'for a constraint trigger after INSERT or UPDATE: refuses rows that are similar to another row; arguments: column, threshold, measure, column of marks';
CREATE FUNCTION skip_similar() RETURNS trigger
AS 'MODULE_PATHNAME', 'simjoin_skip_similar' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION skip_similar() IS 'for a trigger before INSERT or UPDATE: leaves out rows that are similar to another row; arguments: column, threshold, measure';
CREATE FUNCTION mark_similar() RETURNS trigger
AS 'MODULE_PATHNAME', 'simjoin_mark_similar' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION mark_similar() IS 'for a trigger before INSERT or UPDATE: notes in a column whether, or to which one, a row is similar; arguments: column, threshold, column to mark, measure';

-- Joins that several servers share: the parts that each set goes to, so that each pair meets in one part.

CREATE FUNCTION set_size(tokens anyarray) RETURNS int
AS 'MODULE_PATHNAME', 'simjoin_set_size' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION set_size(anyarray) IS 'number of distinct elements';
CREATE FUNCTION similarity_parts(id int8, parts int) RETURNS int[]
AS 'MODULE_PATHNAME', 'simjoin_similarity_parts_by_id' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION similarity_parts(id int8, tokens anyarray, threshold float8, bounds int8[], measure text DEFAULT 'jaccard',
                                 both_sides bool DEFAULT false) RETURNS int[]
AS 'MODULE_PATHNAME', 'simjoin_similarity_parts_by_size' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;
COMMENT ON FUNCTION similarity_parts(int8, int) IS 'the parts of a distributed join that a row goes to by its id, so that any two rows meet';
COMMENT ON FUNCTION similarity_parts(int8, anyarray, float8, int8[], text, bool) IS 'the parts of a distributed join that a row goes to by the size of its set, its home first, so that similar rows meet';
CREATE FUNCTION similarity_part_bounds(sizes int[], counts int8[], parts int) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_similarity_part_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION similarity_part_bounds(int[], int8[], int) IS 'bounds between the parts of a distributed join, of about the same number of tokens, from the number of sets of each size';
CREATE FUNCTION similarity_part_group(id int8, groups int) RETURNS int
AS 'MODULE_PATHNAME', 'simjoin_similarity_part_group' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION similarity_part_group(int8, int) IS 'the group of an id, from 0 to groups - 1, for the rows or columns of a grid of parts';
CREATE FUNCTION create_similarity_route(relation regclass, id text, tokens text, threshold float8, parts int DEFAULT 16,
                                        measure text DEFAULT 'jaccard') RETURNS regclass
AS 'MODULE_PATHNAME', 'simjoin_create_similarity_route' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_similarity_route(regclass, text, text, float8, int, text) IS 'makes and fills a table with the parts of each row, and a view of the pairs of similar rows; returns the view';

CREATE FUNCTION spanning_forest_add(internal, int8, int8) RETURNS internal
AS 'MODULE_PATHNAME', 'simjoin_spanning_forest_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION spanning_forest_edges(internal) RETURNS int8[]
AS 'MODULE_PATHNAME', 'simjoin_spanning_forest_edges' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE spanning_forest(int8, int8) (SFUNC = spanning_forest_add, STYPE = internal,
                                              FINALFUNC = spanning_forest_edges, PARALLEL = SAFE);
COMMENT ON FUNCTION spanning_forest_add(internal, int8, int8) IS 'transition function of spanning_forest';
COMMENT ON FUNCTION spanning_forest_edges(internal) IS 'final function of spanning_forest';
COMMENT ON AGGREGATE spanning_forest(int8, int8) IS 'pairs that connect the same ids as all pairs do, without the others: their ids one after the other';

-- What the sessions of a server do, and have done. Both need simjoin in shared_preload_libraries.

CREATE FUNCTION simjoin_progress(OUT pid int, OUT datid oid, OUT usesysid oid, OUT started timestamptz, OUT computation text,
                                 OUT phase text, OUT part_done float8, OUT rows_read bigint, OUT pairs bigint,
                                 OUT memory_peak bigint, OUT temporary_bytes bigint, OUT device text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_progress' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION simjoin_progress() IS
'the similarity joins and other computations that run in the server, with the part of their phase that is done, rows read, pairs found, and bytes of memory and temporary files so far';

CREATE VIEW simjoin_stat_activity AS
SELECT p.pid, p.datid, d.datname, p.usesysid, pg_catalog.pg_get_userbyid(p.usesysid) AS usename, p.started, p.computation,
       p.phase, p.part_done, p.rows_read, p.pairs, p.memory_peak, p.temporary_bytes, p.device
FROM simjoin_progress() p LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) p.datid;
GRANT SELECT ON simjoin_stat_activity TO PUBLIC;
COMMENT ON VIEW simjoin_stat_activity IS 'the similarity joins and other computations that run in the server; pg_stat_activity has their statements';

CREATE FUNCTION simjoin_stat(OUT computation text, OUT calls bigint, OUT total_time float8, OUT rows_read bigint,
                             OUT gpu_calls bigint, OUT gpu_fallbacks bigint, OUT pairs bigint, OUT spilled_calls bigint,
                             OUT temporary_bytes bigint, OUT stats_reset timestamptz) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_stat' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION simjoin_stat() IS
'what the similarity joins and other computations of the server that ran to their end have done; times in milliseconds';
CREATE FUNCTION simjoin_stat_reset() RETURNS void
AS 'MODULE_PATHNAME', 'simjoin_stat_reset' LANGUAGE C VOLATILE STRICT;
REVOKE EXECUTE ON FUNCTION simjoin_stat_reset() FROM PUBLIC;
COMMENT ON FUNCTION simjoin_stat_reset() IS 'forgets the figures of simjoin_stat()';

-- One process that uses the GPU for all sessions.
CREATE FUNCTION simjoin_gpu_service(OUT pid int, OUT started timestamptz, OUT sessions int, OUT running int, OUT waiting int,
                                    OUT memory_used bigint, OUT memory_total bigint, OUT device_memory bigint, OUT joins bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'simjoin_gpu_service' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION simjoin_gpu_service() IS
'what the process that uses the GPU for all sessions does: sessions and joins now, memory in bytes, and joins since it started; no rows without one';
