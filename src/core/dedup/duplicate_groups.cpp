#include "core/dedup/duplicate_groups.hpp"

#include <algorithm>

namespace simjoin {
namespace {

constexpr double no_similarity = -1;

}  // namespace

DuplicateGrouper::DuplicateGrouper(Grouping grouping, const uint32_t *places, uint32_t rows,
                                   MemoryCounter &memory, const SetFamilies &families)
    : grouping_(grouping),
      places_(places),
      memory_(memory),
      sets_(memory),
      links_(memory, rows, Link{no_similarity, 0}),
      pairs_(memory),
      families_(memory),
      family_at_(memory) {
  sets_.grow(rows);
  if (families.count > 0) read_families(families);
}

// Notes the family of each place, and the first place of each family.
void DuplicateGrouper::read_families(const SetFamilies &families) {
  const auto rows = static_cast<uint32_t>(links_.size());
  families_.resize(families.count);
  for (uint32_t i = 0; i < families.count; ++i)
    families_[i] = {SetFamilies::none, families.similarities[i], {no_similarity, 0}};
  family_at_.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t place = places_[row], number = families.of_row[row];
    family_at_[place] = number;
    if (number == SetFamilies::none) continue;
    families_[number].first = std::min(families_[number].first, place);
  }
}

// Makes `other` the partner if it is the most similar one so far, or as similar and earlier.
void DuplicateGrouper::offer(Link &link, uint32_t other, double similarity) {
  if (similarity > link.similarity || (similarity == link.similarity && other < link.place))
    link = {similarity, other};
}

void DuplicateGrouper::add_pair(uint32_t a, uint32_t b, double similarity) {
  const uint32_t one = first_like(places_[a]), other = first_like(places_[b]);
  const uint32_t earlier = std::min(one, other), later = std::max(one, other);
  if (earlier == later) return;
  if (grouping_ == Grouping::star) {
    pairs_.push_back({earlier, later, similarity});
    return;
  }
  offer(links_[earlier], later, similarity);
  offer(links_[later], earlier, similarity);
  if (grouping_ == Grouping::components) sets_.unite(earlier, later);
}

bool DuplicateGrouper::represents_itself(uint32_t place) const {
  return links_[place].similarity == no_similarity;
}

// Returns the earlier partners of all places, those of one place side by side. ends[p] becomes the end of the
// partners of p. Releases the pairs.
Buffer<DuplicateGrouper::Link> DuplicateGrouper::earlier_partners(Buffer<uint64_t> &ends,
                                                                  const StopFlag &stop) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    stop.check_at(i);
    ++ends[pairs_[i].later + 1];
  }
  for (size_t place = 0; place + 1 < ends.size(); ++place) {
    stop.check_at(place);
    ends[place + 1] += ends[place];
  }
  Buffer<Link> earlier(memory_, pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    stop.check_at(i);
    earlier[ends[pairs_[i].later]++] = {pairs_[i].similarity, pairs_[i].earlier};
  }
  pairs_.release();
  return earlier;
}

// Decides place by place, from the pairs with earlier places, which are decided by then.
void DuplicateGrouper::link_stars(const StopFlag &stop) {
  const auto rows = static_cast<uint32_t>(links_.size());
  Buffer<uint64_t> ends(memory_, size_t{rows} + 1, 0);
  const Buffer<Link> earlier = earlier_partners(ends, stop);
  const Link *begin = earlier.begin();
  for (uint32_t place = 0; place < rows; ++place) {
    stop.check_at(place);
    const Link *end = earlier.begin() + ends[place];
    link_star(place, begin, end, stop);
    begin = end;
    if (!represents_itself(place)) sets_.unite(place, links_[place].place);
  }
}

// Links a place to the best representative among its earlier partners. A later place of a family is linked to
// the family's best representative so far.
void DuplicateGrouper::link_star(uint32_t place, const Link *begin, const Link *end, const StopFlag &stop) {
  Family *family = family_of(place);
  if (family != nullptr && family->first != place) {
    links_[place] = family->best;
    return;
  }
  for (const Link *partner = begin; partner < end; ++partner) {
    stop.check_at(partner - begin);
    if (represents_itself(partner->place)) offer(links_[place], partner->place, partner->similarity);
  }
  const bool represents = represents_itself(place);
  if (family != nullptr) family->best = represents ? Link{family->similarity, place} : links_[place];
  if (!represents) return;
  for (const Link *partner = begin; partner < end; ++partner) {
    stop.check_at(partner - begin);
    Family *partners = family_of(partner->place);
    if (partners != nullptr) offer(partners->best, place, partner->similarity);
  }
}

// Links the rows of families. Their first places have the best partners of the whole family outside.
void DuplicateGrouper::link_families(const StopFlag &stop) {
  for (uint32_t place = 0; place < family_at_.size(); ++place) {
    stop.check_at(place);
    Family *family = family_of(place);
    if (family == nullptr) continue;
    if (family->first == place) {
      family->best = links_[place];
      continue;
    }
    links_[place] = family->best;
    offer(links_[place], family->first, family->similarity);
    offer(links_[family->first], place, family->similarity);
    if (grouping_ == Grouping::components) sets_.unite(family->first, place);
  }
}

void DuplicateGrouper::unite_best_links(const StopFlag &stop) {
  for (uint32_t place = 0; place < links_.size(); ++place) {
    stop.check_at(place);
    if (links_[place].similarity != no_similarity) sets_.unite(place, links_[place].place);
  }
}

DuplicateGroups DuplicateGrouper::groups(WorkerPool &pool) {
  const StopFlag &stop = pool.stop();
  if (grouping_ == Grouping::star) link_stars(stop);
  if (grouping_ != Grouping::star) link_families(stop);
  if (grouping_ == Grouping::best_link) unite_best_links(stop);
  const auto rows = static_cast<uint32_t>(links_.size());
  Buffer<uint32_t> row_at(memory_, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    row_at[places_[row]] = row;
  }
  DuplicateGroups result(memory_);
  result.representatives.resize(rows);
  result.similarities.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    stop.check_at(row);
    const uint32_t place = places_[row], first = sets_.find(place);
    result.representatives[row] = row_at[first];
    result.similarities[row] = first == place ? no_similarity : links_[place].similarity;
  }
  return result;
}

}  // namespace simjoin
