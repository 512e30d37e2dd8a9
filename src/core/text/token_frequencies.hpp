// In how many sets of a collection each token is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/base/weight.hpp"
#include "core/text/terms.hpp"

namespace simjoin {

// Functions throw Error and std::bad_alloc.
class TokenFrequencies {
 public:
  explicit TokenFrequencies(size_t memory_limit) : terms_(memory_), uses_(memory_) {
    memory_.set_limit(memory_limit, {"the tokens need", "give them fewer rows"});
  }

  TermTable &terms() { return terms_; }
  // Counts a token of the open set, however often it comes.
  void add(uint32_t term) {
    while (uses_.size() <= term) uses_.push_back({0, 0});
    if (!open_) ++sets_;
    open_ = true;
    Use &use = uses_[term];
    use.sets += use.last != sets_;
    use.last = sets_;
  }
  // Ends the set. An empty one does not count.
  void end_set() { open_ = false; }

  uint32_t sets_with(uint32_t term) const { return uses_[term].sets; }
  // Returns the weight of a token that so many sets have.
  float weight(uint32_t with) const { return stored_rarity(sets_, with); }
  size_t memory_peak() const { return memory_.peak(); }

 private:
  struct Use {
    uint32_t sets;
    uint64_t last;  // the number of the last set with the token
  };

  MemoryCounter memory_;
  TermTable terms_;
  Buffer<Use> uses_;  // by id
  uint64_t sets_ = 0;
  bool open_ = false;
};

}  // namespace simjoin
