// Streams of documents like news: stories that begin, are reported for a while, and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simjoin::bench {

struct WeightedTermOf {
  uint32_t term;
  float weight;
};

struct NewsStream {
  std::vector<WeightedTermOf> terms;
  std::vector<size_t> ends;       // of each document's terms
  std::vector<uint32_t> stories;  // of each document; empty if unknown

  size_t size() const { return ends.size(); }
};

// Returns a stream of `documents`, which is the same for a seed on every machine. A document has about 20
// terms: 17 are of its story's 20, the others are drawn from a vocabulary with Zipf's frequencies. Weights
// are those of tf-idf. A story has ten documents on average, with skewed sizes, and half of it comes within
// two thousand documents.
NewsStream news_stream(size_t documents, size_t vocabulary, uint64_t seed);

// Returns the lines of a file as documents of their 20 heaviest words by tf-idf.
NewsStream text_stream(const std::string &file);

}  // namespace simjoin::bench
