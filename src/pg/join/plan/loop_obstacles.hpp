// Why a plan computes a similarity for each pair of rows, and what to write instead.
#pragma once

#include "pg/base/obstacle.hpp"

namespace simjoin::pg {

constexpr Obstacle no_bound = {"no condition of the join bounds the similarity",
                               "Add a condition to the join, such as jaccard_similarity(l, r) >= 0.5."};
constexpr Obstacle per_row = {
    "the similarity is computed in a subquery for each row",
    "Write a join with a condition such as jaccard_similarity(l, r) >= 0.5, EXISTS, or LATERAL (SELECT … "
    "ORDER BY jaccard_similarity(l, r) DESC NULLS LAST LIMIT 1) for the most similar rows."};
constexpr Obstacle of_query = {
    "each query has a measure of its own",
    "Add WHERE tokens ~= query, and make an index on the sets by create_similarity_index()."};
constexpr Obstacle one_arm = {
    "another condition stands beside the similarity in an OR",
    "Make the pairs first, in WITH pairs AS MATERIALIZED (SELECT … UNION SELECT …), and join or update with "
    "them."};
constexpr Obstacle changing_bound = {
    "the similarity is compared with columns",
    "Add a condition with the least bound that occurs, such as jaccard_similarity(l, r) "
    ">= 0.5."};
constexpr Obstacle changing_edits = {
    changing_bound.why,
    "Write 1 - levenshtein(l, r)::float8 / nullif(greatest(length(l), length(r)), 0) >= 0.8, or add the "
    "greatest bound, as in levenshtein(l, r) <= 3."};
constexpr Obstacle upper_bound = {"the condition holds for pairs that are not similar",
                                  "Add a condition that bounds the similarity from below."};
constexpr Obstacle cheaper = {
    "the planner estimates a nested loop to be cheaper, or has no other way here",
    "If the estimate is wrong, ANALYZE the tables; the manual's page on the join operator lists "
    "where it cannot be used."};
constexpr Obstacle other_form = {
    "the condition implies no similarity clause",
    "Write jaccard_similarity(l, r) >= t, with a set of one side of the join as l, one of the "
    "other side as r, and the same t for all rows."};

constexpr Obstacle other_edits = {
    "the condition allows no constant number of edits, or too many",
    "Write edit_distance(l, r) <= k or levenshtein(l, r) <= k, with a text of one side of the join as l, one "
    "of the other side as r, and a constant k of up to 16."};

constexpr Obstacle low_bound = {"the bound on the similarity of the texts is too low to rule out pairs",
                                "Add another condition, such as an equality, or a greater bound: from 0.85 "
                                "on for jaro_winkler_similarity, 0.75 for jaro_similarity, and 0.7 for 1 - "
                                "edit_distance(l, r)::float8 / nullif(greatest(length(l), length(r)), 0)."};

}  // namespace simjoin::pg
