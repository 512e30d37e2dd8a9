#include "core/graph_duplicates.hpp"

#include <algorithm>

namespace simjoin {
namespace {

constexpr size_t check_interval = size_t{1} << 16;  // rows or pairs between looks at the stop flag
constexpr double no_similarity = -1;

}  // namespace

DuplicateGrouper::DuplicateGrouper(Grouping grouping, const uint32_t *places, uint32_t rows,
                                   MemoryCounter &memory)
    : grouping_(grouping),
      places_(places),
      memory_(memory),
      sets_(memory),
      links_(memory, rows, Link{no_similarity, 0}),
      pairs_(memory) {
  sets_.grow(rows);
}

// Makes `other` the partner of `place` where it is the most similar one so far; of equal ones the earliest.
void DuplicateGrouper::offer(uint32_t place, uint32_t other, double similarity) {
  Link &link = links_[place];
  if (similarity > link.similarity || (similarity == link.similarity && other < link.place))
    link = {similarity, other};
}

void DuplicateGrouper::add_pair(uint32_t a, uint32_t b, double similarity) {
  const uint32_t earlier = std::min(places_[a], places_[b]), later = std::max(places_[a], places_[b]);
  if (earlier == later) return;
  if (grouping_ == Grouping::star) {
    pairs_.push_back({earlier, later, similarity});
    return;
  }
  offer(earlier, later, similarity);
  offer(later, earlier, similarity);
  if (grouping_ == Grouping::components) sets_.unite(earlier, later);
}

// Decides place by place, from the pairs with earlier ones, which are then decided.
void DuplicateGrouper::link_stars(const StopFlag &stop) {
  const size_t rows = links_.size();
  Buffer<uint64_t> ends(memory_, rows + 1, 0);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (i % check_interval == 0) stop.check();
    ++ends[pairs_[i].later + 1];
  }
  for (size_t place = 0; place < rows; ++place) {
    if (place % check_interval == 0) stop.check();
    ends[place + 1] += ends[place];
  }
  Buffer<Link> earlier(memory_, pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {  // ends[p] becomes the end of p's pairs
    if (i % check_interval == 0) stop.check();
    earlier[ends[pairs_[i].later]++] = {pairs_[i].similarity, pairs_[i].earlier};
  }
  pairs_.release();
  size_t i = 0;
  for (uint32_t place = 0; place < rows; ++place) {
    if (place % check_interval == 0) stop.check();
    for (; i < ends[place]; ++i) {
      if (i % check_interval == 0) stop.check();
      const bool represents = links_[earlier[i].place].similarity == no_similarity;
      if (represents) offer(place, earlier[i].place, earlier[i].similarity);
    }
    if (links_[place].similarity != no_similarity) sets_.unite(place, links_[place].place);
  }
}

void DuplicateGrouper::unite_best_links(const StopFlag &stop) {
  for (uint32_t place = 0; place < links_.size(); ++place) {
    if (place % check_interval == 0) stop.check();
    if (links_[place].similarity != no_similarity) sets_.unite(place, links_[place].place);
  }
}

DuplicateGroups DuplicateGrouper::groups(WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  if (grouping_ == Grouping::star) link_stars(stop);
  if (grouping_ == Grouping::best_link) unite_best_links(stop);
  const auto rows = static_cast<uint32_t>(links_.size());
  Buffer<uint32_t> row_at(memory_, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (row % check_interval == 0) stop.check();
    row_at[places_[row]] = row;
  }
  DuplicateGroups result(memory_);
  result.representatives.resize(rows);
  result.similarities.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (row % check_interval == 0) stop.check();
    const uint32_t place = places_[row], first = sets_.find(place);
    result.representatives[row] = row_at[first];
    result.similarities[row] = first == place ? no_similarity : links_[place].similarity;
  }
  return result;
}

}  // namespace simjoin
