#include "core/minhash/weighted_minhash.hpp"

#include <algorithm>
#include <limits>

#include "core/minhash/minhash.hpp"
#include "core/minhash/weighted_minhash_kernels.hpp"

namespace simjoin {

size_t combine_equal(WeightedToken *tokens, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const WeightedToken token = tokens[i];
    if (!(token.weight > 0)) continue;
    if (kept > 0 && tokens[kept - 1].identity == token.identity)
      tokens[kept - 1].weight += token.weight;
    else
      tokens[kept++] = token;
  }
  return kept;
}

std::span<const WeightedToken> in_order(std::span<const WeightedToken> tokens,
                                        std::vector<WeightedToken> &scratch, const StopFlag &stop) {
  bool ordered = true;
  for (size_t i = 0; i < tokens.size(); ++i)
    ordered &= tokens[i].weight > 0 && (i == 0 || tokens[i - 1].identity < tokens[i].identity);
  if (ordered) return tokens;
  scratch.assign(tokens.begin(), tokens.end());
  std::sort(scratch.begin(), scratch.end(), [&](const WeightedToken &a, const WeightedToken &b) {
    stop.check();
    return a < b;
  });
  return {scratch.data(), combine_equal(scratch.data(), scratch.size())};
}

void WeightedSamples::start(uint32_t samples) {
  least.assign(samples, std::numeric_limits<float>::infinity());
  token.assign(samples, 0);
  t.assign(samples, 0);
}

void WeightedSamples::write_values(uint32_t *values) const {
  for (size_t i = 0; i < token.size(); ++i)
    values[i] = sample_value(static_cast<uint32_t>(i), token[i], t[i]);
}

void add_weighted(const WeightedToken *tokens, size_t count, uint64_t seed, WeightedSamples &samples) {
  for (size_t i = 0; i < count; ++i)
    lower_samples(tokens[i].identity, log_of_weight(tokens[i].weight), seed, samples.least.size(),
                  samples.least.data(), samples.token.data(), samples.t.data());
}

void WeightedMinHasher::sign(std::span<const WeightedToken> tokens, const StopFlag &stop, uint32_t *values) {
  const auto ordered = in_order(tokens, scratch_, stop);
  samples_.start(count_);
  const size_t at_once = std::max<size_t>(1, evaluations_per_look / evaluations_per_sample / count_);
  for (size_t i = 0; i < ordered.size(); i += at_once) {
    stop.check();
    add_weighted(ordered.data() + i, std::min(at_once, ordered.size() - i), seed_, samples_);
  }
  samples_.write_values(values);
}

void add_weighted_by_definition(const WeightedToken *tokens, size_t count, uint64_t seed,
                                WeightedSamples &samples) {
  for (size_t i = 0; i < count; ++i)
    lower_samples_by_definition(tokens[i].identity, log_of_weight(tokens[i].weight), seed,
                                samples.least.size(), samples.least.data(), samples.token.data(),
                                samples.t.data());
}

}  // namespace simjoin
