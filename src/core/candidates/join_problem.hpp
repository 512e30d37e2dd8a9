// A join whose sets are in order: which sets are probed against which, and which sizes can be partners.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/check.hpp"
#include "core/measure.hpp"
#include "core/sets/set_collection.hpp"

namespace simjoin {

// The bounds of the probes of one size.
struct ProbeClass {
  uint32_t class_begin;  // partners are the sets of the index side's classes [class_begin, class_end); in a
  uint32_t class_end;    // self-join, of the own class only the sets before the probe
  uint32_t prefix;       // tokens of the probe to look up; 0 if there is no partner
};

// A join of the probe side with the index side. In a self-join both are the same collection, and each pair
// belongs to the probe with the larger number.
struct JoinProblem {
  // The first set of the bounds is the probe. With `larger_probes`, no probe is smaller than any set of the
  // index side, so shorter prefixes suffice there.
  JoinProblem(const Bounds &bounds, const SetCollection &probe, const SetCollection &index,
              bool larger_probes = false);

  bool self_join() const { return &probe == &index; }
  // Returns the first partner of the probes of a class, and the one after the last.
  uint32_t first_partner(uint32_t probe_class) const;
  uint32_t end_partner(uint32_t probe_class, uint32_t probe_set) const;
  // Returns the number of pairs of compatible sizes.
  uint64_t compatible_pairs() const;

  // Returns an upper bound of the number of tokens that only one of two sets has, for all qualifying pairs of
  // the class's probes.
  uint32_t most_differences(uint32_t probe_class) const;

  const Bounds bounds;
  const SetCollection &probe;
  const SetCollection &index;
  std::vector<ProbeClass> probe_classes;  // parallel to probe.classes
  std::vector<uint32_t> index_prefix;     // parallel to index.classes: tokens to index
};

// The least overlaps that the probes of one class need, by the partner's class. They are computed on first
// use.
class RequiredOverlaps {
 public:
  explicit RequiredOverlaps(const JoinProblem &problem)
      : problem_(problem), required_(problem.index.classes.size(), 0) {}

  void set_probe_class(uint32_t probe_class) {
    if (probe_class == probe_class_) return;
    probe_class_ = probe_class;
    std::fill(required_.begin(), required_.end(), 0);
  }
  uint32_t operator[](uint32_t index_class) {
    const uint32_t required = required_[index_class];
    return required != 0 ? required : compute(index_class);
  }

 private:
  uint32_t compute(uint32_t index_class) {
    const int64_t overlap = problem_.bounds.min_overlap(problem_.probe.classes[probe_class_].size,
                                                        problem_.index.classes[index_class].size);
    SIMJOIN_CHECK(overlap > 0 && overlap <= UINT32_MAX);
    return required_[index_class] = static_cast<uint32_t>(overlap);
  }

  const JoinProblem &problem_;
  uint32_t probe_class_ = UINT32_MAX;
  std::vector<uint32_t> required_;
};

}  // namespace simjoin
