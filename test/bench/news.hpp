// Streams of documents like news: stories that come up, are reported for a while, and go.
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
  std::vector<uint32_t> stories;  // of each document; empty where nobody knows

  size_t size() const { return ends.size(); }
};

// Returns a stream of `documents`, the same for a seed on every machine. A document has about 20 terms: three
// 17 are of its story's 20, the others any of a vocabulary with Zipf's frequencies; weights are those of
// tf-idf. A story has ten documents on average, sizes are skewed, half of it comes within two thousand
// documents.
NewsStream news_stream(size_t documents, size_t vocabulary, uint64_t seed);

// Returns the lines of a file as documents: their words' 20 heaviest by tf-idf.
NewsStream text_stream(const std::string &file);

}  // namespace simjoin::bench
