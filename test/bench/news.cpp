#include "bench/news.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "bench/random.hpp"
#include "core/text/tf_idf.hpp"

namespace simjoin::bench {
namespace {

constexpr size_t story_terms = 20;
constexpr double documents_per_story = 12;
constexpr double longest_story = 500;
constexpr double story_spread = 3'000;  // documents of the stream, mean
constexpr size_t document_terms = 20;

// Returns the idf of the term of this rank.
double rarity(uint32_t term) {
  return std::log(static_cast<double>(term) + 10);
}

double exponential(Random &random, double mean) {
  return -mean * std::log(1 - random.fraction());
}

struct Report {
  double time;
  uint32_t story;
};

// Returns the stories of `documents` reports, in the order of the reports' times.
std::vector<Report> schedule(size_t documents, Random &random) {
  std::vector<Report> reports;
  uint32_t story = 0;
  while (reports.size() < documents * 11 / 10) {
    const double start = random.fraction() * static_cast<double>(documents);
    // A truncated Pareto distribution: most stories are short, some are very long.
    const double size =
        std::min(longest_story, documents_per_story / 3 / std::pow(1 - random.fraction(), 1 / 1.5));
    for (double i = 0; i < size; ++i) reports.push_back({start + exponential(random, story_spread), story});
    ++story;
  }
  std::sort(reports.begin(), reports.end(), [](const Report &a, const Report &b) { return a.time < b.time; });
  reports.resize(documents);
  return reports;
}

}  // namespace

NewsStream news_stream(size_t documents, size_t vocabulary, uint64_t seed) {
  Random random(seed);
  const std::vector<Report> reports = schedule(documents, random);
  std::vector<double> frequencies(vocabulary);
  for (size_t i = 0; i < vocabulary; ++i) frequencies[i] = 1 / (static_cast<double>(i) + 30);
  const WeightedIndex words(frequencies);
  NewsStream stream;
  for (const Report &report : reports) {
    // A story's terms are a function of its number.
    Random own(seed * 1'000'003 + report.story + 1);
    size_t count = 0;
    for (size_t i = 0; i < story_terms; ++i) {
      const uint32_t term = words.draw(own);
      const double salience = 1 + 3 * own.fraction();
      if (random.fraction() > 0.85) continue;
      const double uses = std::max(1.0, std::round(salience + random.fraction() - 0.5));
      stream.terms.push_back({term, static_cast<float>(uses * rarity(term))});
      ++count;
    }
    for (; count < document_terms; ++count) {
      const uint32_t term = words.draw(random);
      stream.terms.push_back({term, static_cast<float>(rarity(term))});
    }
    stream.ends.push_back(stream.terms.size());
    stream.stories.push_back(report.story);
  }
  return stream;
}

NewsStream text_stream(const std::string &file) {
  std::ifstream input(file);
  if (!input) throw std::runtime_error("cannot read " + file);
  TfIdf collection;
  std::string line, word;
  while (std::getline(input, line)) {
    line.push_back(' ');
    for (const char c : line) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0) {
        word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
      } else if (!word.empty()) {
        collection.add_term(collection.terms().id_of(std::string_view(word)));
        word.clear();
      }
    }
    collection.end_document();
  }
  NewsStream stream;
  std::vector<TermScore> scores;
  for (size_t i = 0; i < collection.documents(); ++i) {
    scores.resize(collection.size(i));
    collection.score(i, scores.data());
    std::sort(scores.begin(), scores.end(),
              [&](const TermScore &a, const TermScore &b) { return collection.heavier(a, b); });
    scores.resize(std::min(scores.size(), document_terms));
    for (const TermScore &score : scores)
      stream.terms.push_back({score.term, static_cast<float>(score.score)});
    stream.ends.push_back(stream.terms.size());
  }
  return stream;
}

}  // namespace simjoin::bench
