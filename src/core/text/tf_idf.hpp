// Weights of a document's terms, by the number of documents that have them, and by their count in the
// document.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.hpp"
#include "core/text/terms.hpp"

namespace simjoin {

// A term of a document with its weight.
struct TermScore {
  uint32_t term;
  double score;
};

// What a term weighs in a document that has it `count` times, where `df` of `n` documents have it.
enum class TermWeight : uint8_t {
  tf_idf,  // count * (ln((1 + n) / (1 + df)) + 1), as in scikit-learn
  idf,     // the same without the count; an empty document is none of the n
};

// All documents of a collection, as bags of terms. Functions throw Error and std::bad_alloc.
class TfIdf {
 public:
  // `memory_limit` is in bytes, for the documents and their terms. Beyond it functions throw
  // memory_limit_exceeded.
  explicit TfIdf(TermWeight weight = TermWeight::tf_idf, size_t memory_limit = MemoryCounter::no_limit);

  TermTable &terms() { return terms_; }
  const TermTable &terms() const { return terms_; }
  // Adds a term to the open document; end_document() ends it.
  void add_term(uint32_t term);
  void end_document();

  size_t documents() const { return ends_.size(); }
  size_t memory_peak() const { return memory_.peak(); }
  // Returns the number of different terms of a document.
  size_t size(size_t document) const { return ends_[document] - begin(document); }
  // Writes the document's terms with their scores, in the order in which they first occur.
  void score(size_t document, TermScore *to) const;
  // Returns whether a is heavier than b, or equally heavy and before it.
  bool heavier(const TermScore &a, const TermScore &b) const {
    return a.score > b.score || (a.score == b.score && terms_.before(a.term, b.term));
  }
  // Divides the scores by the length of their vector.
  static void normalise(TermScore *scores, size_t count);

 private:
  struct Count {
    uint32_t term;
    uint32_t count;
  };
  struct TermUse {
    uint32_t documents;
    uint64_t last;  // one more than the term's place in counts_ in the last document that has it
  };

  size_t begin(size_t document) const { return document == 0 ? 0 : ends_[document - 1]; }

  TermWeight weight_;
  MemoryCounter memory_;
  TermTable terms_;
  Buffer<Count> counts_;
  Buffer<size_t> ends_;   // the end of each document's counts
  Buffer<TermUse> uses_;  // of each term
  size_t filled_ = 0;     // documents with a term
};

}  // namespace simjoin
