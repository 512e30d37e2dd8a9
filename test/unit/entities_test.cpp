// Entities: the ids of groups that change, against rules by definition.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/dedup/entities.hpp"
#include "core/graph/random.hpp"

namespace simjoin::test {
namespace {

struct Case {
  std::vector<uint32_t> groups;
  std::vector<int64_t> ids, former, removed;
};

struct Outcome {
  std::vector<int64_t> of_rows;
  std::vector<EntityChange> changes;
  uint32_t added;
};

Outcome assign(const Case &rows) {
  MemoryCounter memory;
  StopFlag stop;
  const EntityResult result =
      assign_entities({rows.groups, rows.ids, rows.former, rows.removed}, memory, stop);
  return {{result.of_rows.begin(), result.of_rows.end()},
          {result.changes.begin(), result.changes.end()},
          result.added};
}

using Pair = std::pair<int64_t, uint32_t>;  // a former entity and a group

// Returns the rows of every pair: their number and the smallest id.
std::map<Pair, std::pair<uint32_t, int64_t>> shared_rows(const Case &rows) {
  std::map<Pair, std::pair<uint32_t, int64_t>> shared;
  for (size_t row = 0; row < rows.ids.size(); ++row) {
    if (rows.former[row] == no_entity) continue;
    auto [place, added] = shared.try_emplace({rows.former[row], rows.groups[row]}, 0, rows.ids[row]);
    ++place->second.first;
    place->second.second = std::min(place->second.second, rows.ids[row]);
  }
  return shared;
}

Case any_case(uint64_t seed) {
  WalkRandom random(seed, 0);
  const auto count = static_cast<uint32_t>(random.below(12));
  const uint64_t groups = 1 + random.below(6), entities = 1 + random.below(6);
  Case rows;
  std::map<uint64_t, uint32_t> first;
  for (uint32_t row = 0; row < count; ++row) {
    rows.groups.push_back(first.try_emplace(random.below(groups), row).first->second);
    rows.ids.push_back(static_cast<int64_t>(row * 7 % 13) - 5);
    rows.former.push_back(random.below(5) == 0 ? no_entity
                                               : static_cast<int64_t>(1 + random.below(entities)));
  }
  for (uint64_t i = random.below(4); i > 0; --i)
    rows.removed.push_back(static_cast<int64_t>(1 + random.below(entities)));
  return rows;
}

// Returns the most rows that can keep their entity, whichever groups go on with which entities.
uint32_t most_kept(const std::map<Pair, std::pair<uint32_t, int64_t>> &shared, std::set<int64_t> entities,
                   std::set<uint32_t> groups,
                   std::map<Pair, std::pair<uint32_t, int64_t>>::const_iterator at) {
  if (at == shared.end()) return 0;
  const auto next = std::next(at);
  uint32_t most = most_kept(shared, entities, groups, next);
  if (entities.insert(at->first.first).second && groups.insert(at->first.second).second)
    most = std::max(most, at->second.first + most_kept(shared, entities, groups, next));
  return most;
}

// Returns whether groups have merged or been split, but not both in one place.
bool is_simple(const std::map<Pair, std::pair<uint32_t, int64_t>> &shared) {
  std::map<int64_t, int> of_entity;
  std::map<uint32_t, int> of_group;
  for (const auto &[pair, rows] : shared) {
    ++of_entity[pair.first];
    ++of_group[pair.second];
  }
  for (const auto &[pair, rows] : shared)
    if (of_entity[pair.first] > 1 && of_group[pair.second] > 1) return false;
  return true;
}

void check_rules(const Case &rows, const Outcome &outcome) {
  std::map<uint32_t, int64_t> of_group;
  std::map<int64_t, uint32_t> of_entity;
  for (size_t row = 0; row < rows.ids.size(); ++row) {
    ASSERT_EQ(of_group.try_emplace(rows.groups[row], outcome.of_rows[row]).first->second,
              outcome.of_rows[row]);
    ASSERT_EQ(of_entity.try_emplace(outcome.of_rows[row], rows.groups[row]).first->second, rows.groups[row]);
  }
  const auto shared = shared_rows(rows);
  const auto rank = [&](const Pair &pair) {
    const auto &[count, smallest] = shared.at(pair);
    return std::tuple(-int64_t{count}, pair.first, smallest);
  };
  uint32_t kept = 0;
  for (const auto &[pair, common] : shared) {
    const auto [entity, group] = pair;
    if (of_group[group] == entity) {
      kept += common.first;
      continue;
    }
    // The group or the entity has one that comes before.
    const bool group_has = of_group[group] > 0 && rank({of_group[group], group}) < rank(pair);
    const bool entity_has = of_entity.contains(entity) && rank({entity, of_entity[entity]}) < rank(pair);
    ASSERT_TRUE(group_has || entity_has);
  }
  if (is_simple(shared)) {
    ASSERT_EQ(kept, most_kept(shared, {}, {}, shared.begin()));
  }
}

void check_changes(const Case &rows, const Outcome &outcome) {
  std::map<std::pair<int64_t, int64_t>, uint32_t> moved;  // rows by former and present entity
  const std::set<int64_t> former(rows.former.begin(), rows.former.end());
  const std::set<int64_t> present(outcome.of_rows.begin(), outcome.of_rows.end());
  for (size_t row = 0; row < rows.ids.size(); ++row)
    if (rows.former[row] != no_entity && rows.former[row] != outcome.of_rows[row])
      ++moved[{rows.former[row], outcome.of_rows[row]}];
  for (const int64_t entity : rows.removed)
    if (!former.contains(entity)) ++moved[{entity, no_entity}];
  ASSERT_EQ(outcome.changes.size(), moved.size());
  for (const EntityChange &change : outcome.changes) {
    ASSERT_EQ(moved.at({change.from, change.to}), change.rows);
    EntityEvent event = present.contains(change.from) ? EntityEvent::move : EntityEvent::merge;
    if (change.to == no_entity) event = EntityEvent::removal;
    if (change.to < 0) event = EntityEvent::split;
    ASSERT_EQ(change.event, event);
    ASSERT_TRUE(event != EntityEvent::split || present.contains(change.from));
  }
}

TEST(Entities, FollowTheirRules) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    const Case rows = any_case(seed);
    const Outcome outcome = assign(rows);
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(check_rules(rows, outcome));
    ASSERT_NO_FATAL_FAILURE(check_changes(rows, outcome));
    std::set<int64_t> added;
    for (const int64_t entity : outcome.of_rows)
      if (entity < 0) added.insert(entity);
    ASSERT_EQ(added.size(), outcome.added);
    if (!added.empty()) {
      ASSERT_EQ(*added.begin(), -int64_t{outcome.added});
    }
  }
}

TEST(Entities, OfMergedGroupsTheLargerThenOlderStays) {
  EXPECT_EQ(assign({{0, 0, 0}, {1, 2, 3}, {5, 9, 9}, {}}).of_rows, (std::vector<int64_t>{9, 9, 9}));
  EXPECT_EQ(assign({{0, 0}, {1, 2}, {9, 5}, {}}).of_rows, (std::vector<int64_t>{5, 5}));
}

TEST(Entities, OfASplitGroupTheLargerPartThenTheOneOfTheSmallestIdKeepsTheId) {
  EXPECT_EQ(assign({{0, 1, 1}, {1, 2, 3}, {5, 5, 5}, {}}).of_rows, (std::vector<int64_t>{-1, 5, 5}));
  EXPECT_EQ(assign({{0, 1}, {2, 1}, {5, 5}, {}}).of_rows, (std::vector<int64_t>{-1, 5}));
}

TEST(Entities, NewOnesAreNumberedByTheirSmallestIds) {
  EXPECT_EQ(assign({{0, 1, 1, 3}, {8, 9, 1, 4}, {0, 0, 0, 0}, {}}).of_rows,
            (std::vector<int64_t>{-3, -1, -1, -2}));
}

}  // namespace
}  // namespace simjoin::test
