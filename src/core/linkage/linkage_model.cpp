#include "core/linkage/linkage_model.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/linkage/linkage_errors.hpp"

namespace simjoin {
namespace {

constexpr size_t least_columns = 3;  // that determine the model
constexpr size_t most_steps = 10000;
constexpr double least_change = 1e-7;

// Returns log(1 + e^x).
double log1p_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

void count_levels(const Buffer<ComparisonVector> &vectors, LinkageModel *model) {
  for (const ComparisonVector &vector : vectors) {
    model->pairs += vector.pairs;
    for (size_t c = 0; c < model->columns.size(); ++c) {
      ComparedColumn &column = model->columns[c];
      const uint8_t level = vector.level(c);
      (level == null_level ? column.null_pairs : column.levels[level].pairs) += vector.pairs;
    }
  }
}

void check_determined(const LinkageModel &model) {
  if (model.pairs == 0)
    throw Error(ErrorKind::invalid_argument, "there are no pairs",
                "Lower the thresholds of the conditions that make the pairs.");
  const auto informative = std::count_if(model.columns.begin(), model.columns.end(),
                                         [](const ComparedColumn &column) { return column.informative(); });
  if (static_cast<size_t>(informative) < least_columns)
    throw Error(ErrorKind::invalid_argument,
                "weights need 3 columns with different levels of agreement, and the pairs have " +
                    std::to_string(informative),
                "Compare more columns, or make more pairs: a column whose pairs are all equal, all "
                "different or all NULL tells nothing.");
}

}  // namespace

double AgreementLevel::weight() const {
  return std::log2(m / u);
}

size_t ComparedColumn::seen_levels() const {
  return static_cast<size_t>(
      std::count_if(levels.begin(), levels.end(), [](const AgreementLevel &level) { return level.seen(); }));
}

bool ComparedColumn::informative() const {
  return seen_levels() > 1;
}

int ComparedColumn::highest_level() const {
  size_t level = levels.size() - 1;
  while (level > 0 && !levels[level].seen()) --level;
  return static_cast<int>(level);
}

double LinkageModel::log_odds(const ComparisonVector &vector) const {
  double odds = std::log(prior / (1 - prior));
  for (size_t c = 0; c < columns.size(); ++c) {
    const uint8_t level = vector.level(c);
    if (level == null_level || !columns[c].levels[level].seen()) continue;
    odds += std::log(columns[c].levels[level].m / columns[c].levels[level].u);
  }
  return odds;
}

LinkageFit::LinkageFit(const Buffer<ComparisonVector> &vectors, const std::vector<size_t> &levels,
                       const StopFlag &stop)
    : vectors_(vectors), stop_(stop) {
  size_t all = 0;
  for (const size_t count : levels) {
    first_.push_back(all);
    model_.columns.emplace_back().levels.resize(count);
    all += count;
  }
  for (auto *numbers : {&log_m_, &log_u_, &m_pairs_, &u_pairs_}) numbers->resize(all);
  count_levels(vectors, &model_);
  check_determined(model_);
  start();
}

// The first step takes a pair for a match by a power of its mean level, as most pairs are none.
void LinkageFit::start() {
  for (size_t v = 0; v < vectors_.size(); ++v) {
    stop_.check_at(v);
    double sum = 0;
    int compared = 0;
    for (size_t c = 0; c < first_.size(); ++c) {
      const ComparedColumn &column = model_.columns[c];
      const uint8_t level = vectors_[v].level(c);
      if (level == null_level || !column.informative()) continue;
      sum += static_cast<double>(level) / static_cast<double>(column.levels.size() - 1);
      ++compared;
    }
    const double mean = compared == 0 ? 0 : sum / compared;
    count(vectors_[v], std::clamp(std::pow(mean, 4), 0.001, 0.999));
  }
  maximise();
}

// Returns the probability that a pair with these levels is a match, and adds to the logarithm of the
// likelihood.
double LinkageFit::expect(const ComparisonVector &vector, double *log_likelihood) const {
  double odds = log_prior_odds_, log_u = std::log1p(-model_.prior);
  for (size_t c = 0; c < first_.size(); ++c) {
    const uint8_t level = vector.level(c);
    if (level == null_level) continue;
    odds += log_m_[first_[c] + level] - log_u_[first_[c] + level];
    log_u += log_u_[first_[c] + level];
  }
  *log_likelihood += static_cast<double>(vector.pairs) * (log_u + log1p_exp(odds));
  return 1 / (1 + std::exp(-odds));
}

// Counts pairs with these levels, of which a share are matches.
void LinkageFit::count(const ComparisonVector &vector, double matches) {
  const auto pairs = static_cast<double>(vector.pairs);
  match_pairs_ += matches * pairs;
  for (size_t c = 0; c < first_.size(); ++c) {
    const uint8_t level = vector.level(c);
    if (level == null_level) continue;
    m_pairs_[first_[c] + level] += matches * pairs;
    u_pairs_[first_[c] + level] += (1 - matches) * pairs;
  }
}

// Gives the levels of a column the likeliest probabilities, given the pairs of both classes with each level,
// whose ratios m / u do not fall from level to level. Neighbouring levels that would fall have a ratio in
// common (pool adjacent violators; Dykstra, Kochar and Robertson 1995).
void LinkageFit::set_probabilities(ComparedColumn *column, const double *matches, const double *others) {
  struct Block {
    double matches, others;
    size_t end;  // the level behind its last one
  };
  std::vector<Block> blocks;
  double all_matches = 0, all_others = 0;
  for (size_t level = 0; level < column->levels.size(); ++level) {
    if (!column->levels[level].seen()) continue;
    blocks.push_back({matches[level], others[level], level + 1});
    all_matches += matches[level];
    all_others += others[level];
    for (size_t last = blocks.size() - 1; last > 0; --last) {
      Block &before = blocks[last - 1];
      if (before.matches * blocks[last].others <= blocks[last].matches * before.others) break;
      before = {before.matches + blocks[last].matches, before.others + blocks[last].others, blocks[last].end};
      blocks.pop_back();
    }
  }
  size_t level = 0;
  for (const Block &block : blocks)
    for (; level < block.end; ++level) {
      AgreementLevel &of = column->levels[level];
      if (!of.seen()) continue;
      const double pairs = matches[level] + others[level], all = block.matches + block.others;
      change(&of.m, pairs * (block.matches / all) / all_matches);
      change(&of.u, pairs * (block.others / all) / all_others);
    }
}

void LinkageFit::change(double *probability, double value) {
  change_ = std::max(change_, std::abs(*probability - value));
  *probability = value;
}

// Sets the probabilities by what was counted, and forgets that.
void LinkageFit::maximise() {
  change_ = 0;
  change(&model_.prior, (match_pairs_ + 0.5) / (static_cast<double>(model_.pairs) + 1));
  for (size_t c = 0; c < first_.size(); ++c) {
    ComparedColumn &column = model_.columns[c];
    double *matches = &m_pairs_[first_[c]], *others = &u_pairs_[first_[c]];
    const double added = 1 / static_cast<double>(column.seen_levels());
    for (size_t level = 0; level < column.levels.size(); ++level) {
      matches[level] += added;
      others[level] += added;
    }
    set_probabilities(&column, matches, others);
  }
  take_logarithms();
  match_pairs_ = 0;
  std::fill(m_pairs_.begin(), m_pairs_.end(), 0);
  std::fill(u_pairs_.begin(), u_pairs_.end(), 0);
}

void LinkageFit::take_logarithms() {
  log_prior_odds_ = std::log(model_.prior / (1 - model_.prior));
  for (size_t c = 0; c < first_.size(); ++c)
    for (size_t level = 0; level < model_.columns[c].levels.size(); ++level) {
      const AgreementLevel &of = model_.columns[c].levels[level];
      if (!of.seen()) continue;
      log_m_[first_[c] + level] = std::log(of.m);
      log_u_[first_[c] + level] = std::log(of.u);
    }
}

// Returns the logarithm of the prior density of the probabilities, without its constant.
double LinkageFit::log_prior() const {
  double sum = 0.5 * std::log(model_.prior) + 0.5 * std::log1p(-model_.prior);
  for (size_t c = 0; c < first_.size(); ++c) {
    const ComparedColumn &column = model_.columns[c];
    const double added = 1 / static_cast<double>(column.seen_levels());
    for (size_t level = 0; level < column.levels.size(); ++level)
      if (column.levels[level].seen()) sum += added * (log_m_[first_[c] + level] + log_u_[first_[c] + level]);
  }
  return sum;
}

double LinkageFit::step() {
  double objective = log_prior();
  for (size_t v = 0; v < vectors_.size(); ++v) {
    stop_.check_at(v);
    count(vectors_[v], expect(vectors_[v], &objective));
  }
  maximise();
  ++model_.steps;
  return objective;
}

void LinkageFit::run() {
  while (change_ > least_change && model_.steps < most_steps) {
    stop_.check();
    step();
  }
  model_.converged = change_ <= least_change;
}

LinkageModel LinkageFit::model() {
  LinkageModel model = model_;
  set_standard_errors(&model, vectors_, stop_);
  return model;
}

LinkageModel fit_linkage(const Buffer<ComparisonVector> &vectors, const std::vector<size_t> &levels,
                         const StopFlag &stop) {
  LinkageFit fit(vectors, levels, stop);
  fit.run();
  return fit.model();
}

}  // namespace simjoin
