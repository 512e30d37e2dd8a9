#include "core/text/tf_idf.hpp"

#include <cmath>

#include "core/base/weight.hpp"

namespace simjoin {

TfIdf::TfIdf(TermWeight weight, size_t memory_limit)
    : weight_(weight), terms_(memory_), counts_(memory_), ends_(memory_), uses_(memory_) {
  const char *needs = weight == TermWeight::idf ? "the rows of idf need" : "the documents of tf_idf need";
  const char *less = weight == TermWeight::idf ? "give it fewer rows" : "give it fewer documents";
  memory_.set_limit(memory_limit, {needs, less});
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
  filled_ += counts_.size() > (ends_.empty() ? 0 : ends_.back());
  ends_.push_back(counts_.size());
}

void TfIdf::score(size_t document, TermScore *to) const {
  const auto all = static_cast<double>(weight_ == TermWeight::idf ? filled_ : documents());
  for (size_t i = begin(document); i < ends_[document]; ++i) {
    const auto &[term, count] = counts_[i];
    const double weight = rarity(all, uses_[term].documents);
    *to++ = {term, weight_ == TermWeight::idf ? weight : static_cast<double>(count) * weight};
  }
}

void TfIdf::normalise(TermScore *scores, size_t count) {
  double squares = 0;
  for (size_t i = 0; i < count; ++i) squares += scores[i].score * scores[i].score;
  const double length = std::sqrt(squares);
  for (size_t i = 0; i < count; ++i) scores[i].score /= length;
}

}  // namespace simjoin
