// Candidates for the densest subgraph: nodes of the highest scores, and their improvement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/parallel_ranges.hpp"
#include "core/graph/graph.hpp"

namespace simjoin {

struct Scored {
  double score;
  uint32_t node;
};

// Orders by score, highest first, then by node.
inline bool better(const Scored &a, const Scored &b) {
  return a.score != b.score ? a.score > b.score : a.node < b.node;
}

// A set of nodes, ascending, and the weight of the edges between them.
struct Candidate {
  std::vector<uint32_t> nodes;
  double weight = -1;
};

inline bool denser(const Candidate &a, const Candidate &b) {
  return a.weight != b.weight ? a.weight > b.weight : a.nodes < b.nodes;
}

// The arrays with which one worker finds candidates.
class Finder {
 public:
  Finder(const Graph &graph, size_t k, const StopFlag &stop, MemoryCounter &memory)
      : graph_(graph),
        k_(k),
        stop_(stop),
        degrees_(memory, graph.node_count(), 0.0),
        scored_(memory, std::min<size_t>(graph.node_count(), 2 * k)) {}

  // Returns the k nodes of highest score, improved while a truncated power step makes them denser.
  template <typename Score>
  Candidate best(Score &&score) {
    Candidate candidate = highest(score);
    find_degrees(candidate);
    for (int i = 0; i < most_improvements; ++i) {
      Candidate next = highest([&](size_t node) { return degrees_[node]; });
      clear_degrees(candidate);
      find_degrees(next);
      const bool improved = next.weight > candidate.weight;
      std::swap(candidate, next);  // the degrees are those of the candidate
      if (improved) continue;
      clear_degrees(candidate);
      return next;
    }
    clear_degrees(candidate);
    return candidate;
  }

  // Sets the candidate's weight and returns the degrees of its nodes within it.
  std::vector<double> weigh(Candidate &candidate) {
    find_degrees(candidate);
    std::vector<double> degrees;
    for (const uint32_t node : candidate.nodes) degrees.push_back(degrees_[node]);
    clear_degrees(candidate);
    return degrees;
  }

 private:
  static constexpr int most_improvements = 16;  // truncated power steps from one candidate

  // Up to 2k nodes wait until the better half of them is kept. Later nodes lose a tie.
  template <typename Score>
  Candidate highest(Score &&score) {
    size_t waiting = 0;
    double least = -std::numeric_limits<double>::infinity();
    for (uint32_t node = 0; node < graph_.node_count(); ++node) {
      stop_.check_at(node);
      const double value = score(node);
      if (waiting >= k_ && value <= least) continue;
      if (waiting == scored_.size()) {
        keep_best(waiting);
        waiting = k_;
        least = scored_[k_ - 1].score;
        if (value <= least) continue;
      }
      scored_[waiting++] = {value, node};
    }
    if (waiting > k_) keep_best(waiting);
    Candidate candidate;
    for (size_t i = 0; i < k_; ++i) candidate.nodes.push_back(scored_[i].node);
    std::sort(candidate.nodes.begin(), candidate.nodes.end());
    return candidate;
  }

  // Moves the k best of the waiting nodes to the front, the least of them to place k - 1.
  void keep_best(size_t waiting) {
    const auto order = [](const Scored &a, const Scored &b) { return better(a, b); };
    std::nth_element(scored_.begin(), scored_.begin() + (k_ - 1), scored_.begin() + waiting,
                     stoppable(stop_, order));
  }

  // Finds every node's weighted degree into the candidate, and the candidate's weight.
  void find_degrees(Candidate &candidate) {
    for (const uint32_t node : candidate.nodes) {
      for (size_t i = graph_.begin(node); i < graph_.end(node); ++i) {
        stop_.check_at(i);
        degrees_[graph_.targets[i]] += graph_.weight(i);
      }
    }
    double twice = 0;
    for (const uint32_t node : candidate.nodes) twice += degrees_[node];
    candidate.weight = twice / 2;
  }
  void clear_degrees(const Candidate &candidate) {
    for (const uint32_t node : candidate.nodes) {
      for (size_t i = graph_.begin(node); i < graph_.end(node); ++i) {
        stop_.check_at(i);
        degrees_[graph_.targets[i]] = 0;
      }
    }
  }

  const Graph &graph_;
  const size_t k_;
  const StopFlag &stop_;
  Buffer<double> degrees_;
  Buffer<Scored> scored_;
};

}  // namespace simjoin
