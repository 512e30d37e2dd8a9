#include "core/linkage/linkage_errors.hpp"

#include <algorithm>
#include <cmath>

namespace simjoin {
namespace {

constexpr size_t none = SIZE_MAX;
// A parameter whose information, given the parameters before it, is less than this share of its own
// information is not determined.
constexpr double least_share = 1e-9;

// The free parameters: the prior, and for each class the probabilities of a column's levels but the
// likeliest, which is what the others leave.
struct Parameters {
  struct Class {
    std::vector<std::vector<size_t>> numbers;  // by column and level; none for the likeliest one
    std::vector<size_t> likeliest;             // by column
  };
  Class m, u;
  size_t count = 1;  // parameter 0 is the prior
};

// Numbers the parameters of a class, whose probabilities are in `probability`.
Parameters::Class number_class(const LinkageModel &model, double AgreementLevel::*probability,
                               size_t *count) {
  Parameters::Class numbered;
  for (const ComparedColumn &column : model.columns) {
    const auto likeliest = std::max_element(
        column.levels.begin(), column.levels.end(),
        [=](const AgreementLevel &a, const AgreementLevel &b) { return a.*probability < b.*probability; });
    numbered.likeliest.push_back(static_cast<size_t>(likeliest - column.levels.begin()));
    auto &numbers = numbered.numbers.emplace_back(column.levels.size(), none);
    for (size_t level = 0; level < numbers.size(); ++level)
      if (column.levels[level].seen() && level != numbered.likeliest.back()) numbers[level] = (*count)++;
  }
  return numbered;
}

Parameters number_parameters(const LinkageModel &model) {
  Parameters parameters;
  parameters.m = number_class(model, &AgreementLevel::m, &parameters.count);
  parameters.u = number_class(model, &AgreementLevel::u, &parameters.count);
  return parameters;
}

// A symmetric matrix.
class Matrix {
 public:
  explicit Matrix(size_t size) : size_(size), values_(size * size) {}
  size_t size() const { return size_; }
  double &at(size_t row, size_t column) { return values_[row * size_ + column]; }
  double at(size_t row, size_t column) const { return values_[row * size_ + column]; }

 private:
  size_t size_;
  std::vector<double> values_;
};

struct Score {
  size_t parameter;
  double value;
};

// Adds the scores of a class, to which a pair belongs with this probability.
void add_scores(const LinkageModel &model, double AgreementLevel::*probability, const Parameters::Class &of,
                const ComparisonVector &vector, double belongs, std::vector<Score> *scores) {
  for (size_t c = 0; c < model.columns.size(); ++c) {
    const uint8_t level = vector.level(c);
    if (level == null_level) continue;
    const double score = belongs / (model.columns[c].levels[level].*probability);
    if (level != of.likeliest[c]) {
      scores->push_back({of.numbers[c][level], score});
      continue;
    }
    for (const size_t number : of.numbers[c])
      if (number != none) scores->push_back({number, -score});
  }
}

// Adds the information of the pair that the fit adds to each class, spread evenly over a column's levels that
// have pairs. Without it, probabilities that the pairs put at 0 or 1 would have no errors, or any.
void add_information(const LinkageModel &model, double AgreementLevel::*probability,
                     const Parameters::Class &of, Matrix *sum) {
  for (size_t c = 0; c < model.columns.size(); ++c) {
    const std::vector<AgreementLevel> &levels = model.columns[c].levels;
    const auto seen = static_cast<double>(model.columns[c].seen_levels());
    const auto of_level = [&](size_t level) {
      const double p = levels[level].*probability;
      return 1 / (seen * p * p);
    };
    for (size_t level = 0; level < levels.size(); ++level) {
      const size_t number = of.numbers[c][level];
      if (number == none) continue;
      sum->at(number, number) += of_level(level);
      for (const size_t other : of.numbers[c])
        if (other != none && other <= number) sum->at(number, other) += of_level(of.likeliest[c]);
    }
  }
}

Matrix information(const LinkageModel &model, const Parameters &parameters,
                   const Buffer<ComparisonVector> &vectors, const StopFlag &stop) {
  Matrix sum(parameters.count);
  std::vector<Score> scores;
  for (const ComparisonVector &vector : vectors) {
    stop.check();
    const double match = 1 / (1 + std::exp(-model.log_odds(vector)));
    scores.clear();
    scores.push_back({0, match / model.prior - (1 - match) / (1 - model.prior)});
    add_scores(model, &AgreementLevel::m, parameters.m, vector, match, &scores);
    add_scores(model, &AgreementLevel::u, parameters.u, vector, 1 - match, &scores);
    for (size_t i = 0; i < scores.size(); ++i)
      for (size_t j = 0; j <= i; ++j)
        sum.at(scores[i].parameter, scores[j].parameter) +=
            static_cast<double>(vector.pairs) * scores[i].value * scores[j].value;
  }
  sum.at(0, 0) += 0.5 / (model.prior * model.prior) + 0.5 / ((1 - model.prior) * (1 - model.prior));
  add_information(model, &AgreementLevel::m, parameters.m, &sum);
  add_information(model, &AgreementLevel::u, parameters.u, &sum);
  return sum;
}

// Replaces the lower half of the matrix by its factor of Cholesky, scaled to a diagonal of ones before. A
// parameter that is not determined gets a row and a column of zeros. Returns the scales.
std::vector<double> factorise(Matrix *matrix, const StopFlag &stop) {
  const size_t size = matrix->size();
  std::vector<double> scales(size);
  for (size_t i = 0; i < size; ++i) scales[i] = matrix->at(i, i) > 0 ? 1 / std::sqrt(matrix->at(i, i)) : 0;
  for (size_t i = 0; i < size; ++i) {
    stop.check();
    for (size_t j = 0; j <= i; ++j) {
      double sum = matrix->at(i, j) * scales[i] * scales[j];
      for (size_t k = 0; k < j; ++k) sum -= matrix->at(i, k) * matrix->at(j, k);
      if (i == j)
        matrix->at(i, i) = sum > least_share ? std::sqrt(sum) : 0;
      else
        matrix->at(i, j) = matrix->at(j, j) > 0 ? sum / matrix->at(j, j) : 0;
    }
    if (matrix->at(i, i) > 0) continue;
    for (size_t j = 0; j < i; ++j) matrix->at(i, j) = 0;
  }
  return scales;
}

// Returns the inverse of the information: the covariances of the parameters. Those of a parameter that is not
// determined are 0.
Matrix invert(Matrix factor, const StopFlag &stop) {
  const std::vector<double> scales = factorise(&factor, stop);
  const size_t size = factor.size();
  Matrix root(size);  // the inverse of the factor
  for (size_t column = 0; column < size; ++column) {
    stop.check();
    for (size_t row = column; row < size; ++row) {
      if (factor.at(row, row) == 0) continue;
      double sum = row == column ? 1 : 0;
      for (size_t k = column; k < row; ++k) sum -= factor.at(row, k) * root.at(k, column);
      root.at(row, column) = sum / factor.at(row, row);
    }
  }
  Matrix covariances(size);
  for (size_t i = 0; i < size; ++i) {
    stop.check();
    for (size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (size_t k = i; k < size; ++k) sum += root.at(k, i) * root.at(k, j);
      covariances.at(i, j) = covariances.at(j, i) = sum * scales[i] * scales[j];
    }
  }
  return covariances;
}

using Terms = std::vector<Score>;  // a linear function of the parameters

// Returns the probability of a level as a linear function of the parameters, without its constant.
Terms terms_of(const Parameters::Class &of, size_t column, size_t level, double factor) {
  Terms terms;
  if (level != of.likeliest[column]) return {{of.numbers[column][level], factor}};
  for (const size_t number : of.numbers[column])
    if (number != none) terms.push_back({number, -factor});
  return terms;
}

// Returns the standard error of a linear function, none where a parameter of it is not determined.
std::optional<double> error_of(const Terms &terms, const Matrix &covariances) {
  double variance = 0;
  for (const Score &a : terms) {
    if (covariances.at(a.parameter, a.parameter) <= 0) return std::nullopt;
    for (const Score &b : terms) variance += a.value * b.value * covariances.at(a.parameter, b.parameter);
  }
  return std::sqrt(std::max(variance, 0.0));
}

}  // namespace

void set_standard_errors(LinkageModel *model, const Buffer<ComparisonVector> &vectors, const StopFlag &stop) {
  const Parameters parameters = number_parameters(*model);
  const Matrix covariances = invert(information(*model, parameters, vectors, stop), stop);
  model->prior_error = error_of({{0, 1}}, covariances);
  for (size_t c = 0; c < model->columns.size(); ++c) {
    if (!model->columns[c].informative()) continue;
    for (size_t l = 0; l < model->columns[c].levels.size(); ++l) {
      AgreementLevel &level = model->columns[c].levels[l];
      if (!level.seen()) continue;
      level.m_error = error_of(terms_of(parameters.m, c, l, 1), covariances);
      level.u_error = error_of(terms_of(parameters.u, c, l, 1), covariances);
      Terms weight = terms_of(parameters.m, c, l, 1 / (level.m * std::log(2)));
      for (const Score &term : terms_of(parameters.u, c, l, -1 / (level.u * std::log(2))))
        weight.push_back(term);
      level.weight_error = error_of(weight, covariances);
    }
  }
}

}  // namespace simjoin
