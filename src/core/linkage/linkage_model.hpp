// The model of Fellegi and Sunter: pairs are matches or non-matches, and the levels of their columns are
// independent within each of these classes. Its probabilities are estimated without labels, by expectation
// maximisation (EM).
#pragma once

#include <optional>
#include <vector>

#include "core/linkage/comparisons.hpp"

namespace simjoin {

// What is known of a level of a column.
struct AgreementLevel {
  uint64_t pairs = 0;  // with this level
  double m = 0;        // its probability among matches; 0 where it has no pairs
  double u = 0;        // its probability among non-matches
  std::optional<double> m_error, u_error,
      weight_error;  // standard errors; none where they are not determined

  bool seen() const { return pairs > 0; }
  double weight() const;  // log2(m / u)
};

struct ComparedColumn {
  std::vector<AgreementLevel> levels;
  uint64_t null_pairs = 0;

  // Returns the number of levels that have pairs.
  size_t seen_levels() const;
  // Returns whether its levels tell pairs apart.
  bool informative() const;
  // Return the highest level that has pairs; 0 where there is none.
  int highest_level() const;
  const AgreementLevel &highest_seen() const { return levels[static_cast<size_t>(highest_level())]; }
};

struct LinkageModel {
  std::vector<ComparedColumn> columns;
  double prior = 0;  // the share of matches among the pairs (lambda)
  std::optional<double> prior_error;
  uint64_t pairs = 0;
  size_t steps = 0;
  bool converged = false;

  // Returns the logarithm of the odds that a pair with these levels is a match.
  double log_odds(const ComparisonVector &vector) const;
};

// The EM algorithm, step by step.
//
// Each step adds one pair to each class, spread evenly over the levels of a column that have pairs, and a
// pair to the prior. So no probability becomes 0. The objective, which no step lowers, is the logarithm of
// the likelihood with the logarithm of that Dirichlet prior.
class LinkageFit {
 public:
  // Starts with pairs that agree in much as matches. `levels` has the number of levels of each column.
  // Throws Error invalid_argument where less than three columns have two levels with pairs: the model is then
  // not determined.
  LinkageFit(const Buffer<ComparisonVector> &vectors, const std::vector<size_t> &levels,
             const StopFlag &stop);

  // Makes a step. Returns the objective before it.
  double step();
  // Returns the largest change of a probability by the last step.
  double change() const { return change_; }
  // Makes steps until they change no probability by more than 1e-7, or 10,000 are made.
  void run();

  // Returns the model with standard errors.
  LinkageModel model();

 private:
  void start();
  double expect(const ComparisonVector &vector, double *log_likelihood) const;
  void count(const ComparisonVector &vector, double matches);
  void set_probabilities(ComparedColumn *column, const double *matches, const double *others);
  void change(double *probability, double value);
  void maximise();
  void take_logarithms();
  double log_prior() const;

  const Buffer<ComparisonVector> &vectors_;
  const StopFlag &stop_;
  LinkageModel model_;
  double change_ = 1;
  // By the number of a column's first level and the level.
  std::vector<size_t> first_;
  std::vector<double> log_m_, log_u_, m_pairs_, u_pairs_;
  double log_prior_odds_ = 0, match_pairs_ = 0;
};

// Fits the model to the pairs.
LinkageModel fit_linkage(const Buffer<ComparisonVector> &vectors, const std::vector<size_t> &levels,
                         const StopFlag &stop);

}  // namespace simjoin
