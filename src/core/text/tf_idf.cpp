#include "core/text/tf_idf.hpp"

#include <cmath>

namespace simjoin {

TfIdf::TfIdf(size_t memory_limit) : terms_(memory_), counts_(memory_), ends_(memory_), uses_(memory_) {
  memory_.set_limit(memory_limit, {"the documents of tf_idf need", "give it fewer documents"});
}

void TfIdf::add_term(uint32_t term) {
  while (uses_.size() <= term) uses_.push_back({0, 0});
  TermUse &use = uses_[term];
  if (use.last > begin(documents())) {
    ++counts_[use.last - 1].count;
    return;
  }
  ++use.documents;
  counts_.push_back({term, 1});
  use.last = counts_.size();
}

void TfIdf::end_document() {
  ends_.push_back(counts_.size());
}

void TfIdf::score(size_t document, TermScore *to) const {
  const auto all = static_cast<double>(documents());
  for (size_t i = begin(document); i < ends_[document]; ++i) {
    const auto &[term, count] = counts_[i];
    const double rarity = std::log((1 + all) / (1 + static_cast<double>(uses_[term].documents))) + 1;
    *to++ = {term, static_cast<double>(count) * rarity};
  }
}

void TfIdf::normalise(TermScore *scores, size_t count) {
  double squares = 0;
  for (size_t i = 0; i < count; ++i) squares += scores[i].score * scores[i].score;
  const double length = std::sqrt(squares);
  for (size_t i = 0; i < count; ++i) scores[i].score /= length;
}

}  // namespace simjoin
