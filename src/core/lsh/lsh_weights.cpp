#include "core/lsh/lsh_weights.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/minhash/minhash.hpp"
#include "core/set_slices.hpp"
#include "core/weighted/weighted_pair.hpp"

namespace simjoin {
namespace {

uint64_t identity_of(std::string_view token) {
  return token_identity(token);
}

uint64_t identity_of(int64_t token) {
  return token_identity(token);
}

}  // namespace

LshWeights::LshWeights(const LshSpec &spec, MemoryCounter &memory)
    : spec_(spec),
      memory_(memory),
      waiting_{WaitingTokens<WeightedToken>(spec, memory), WaitingTokens<WeightedToken>(spec, memory)},
      input_(spec.measure, spec.self_join, lsh_memory::block_bytes(spec), thread_count(spec.threads),
             spec.memory_limit, memory),
      places_(memory) {}

template <class Set>
uint32_t LshWeights::add(Side side, const Set &set, std::span<const double> weights) {
  const int number = static_cast<int>(side);
  if (spec_.verify) input_.add(side, set, weights);
  const auto size = static_cast<uint32_t>(
      std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; }));
  WeightedToken *to = waiting_[number].add_row(size);
  const double *weight = weights.data();
  for_each_token(set, [&](auto token) {
    if (*weight > 0) *to++ = {identity_of(token), *weight};
    ++weight;
  });
  ++rows_[number];
  signed_tokens_ += size;
  return size;
}

template uint32_t LshWeights::add(Side, const std::span<const int32_t> &, std::span<const double>);
template uint32_t LshWeights::add(Side, const std::span<const int64_t> &, std::span<const double>);
template uint32_t LshWeights::add(Side, const PackedTexts &, std::span<const double>);

size_t LshWeights::peak_in_memory(size_t beside) const {
  if (file_ != nullptr) return estimate(beside, input_.ranked_bytes());
  return peak_.update(signed_tokens_ + rows_[0] + rows_[1], [&] {
    const size_t waiting = waiting_[0].bytes(size_t{rows_[0]} + rows_[1], signed_tokens_);
    const size_t held = memory_.current() - std::min(memory_.current(), waiting);
    return estimate(beside, spec_.verify ? held + input_.ranking_bytes() : beside);
  });
}

// Returns the same, where the sets take `held` bytes while their tokens are ranked.
size_t LshWeights::estimate(size_t beside, size_t held) const {
  const size_t rows = size_t{rows_[0]} + rows_[1];
  const size_t signing = waiting_[0].signing_bytes(rows, signed_tokens_) + held;
  if (!spec_.verify) return std::max(signing, beside + rows * lsh_memory::joining_bytes(spec_));
  const uint64_t distinct = file_ != nullptr ? input_.ranked().distinct : input_.distinct_tokens();
  const size_t sets = WeightedSets::bytes(input_.format(), rows, input_.tokens(0) + input_.tokens(1));
  const size_t ranking = held + sets + distinct * sizeof(uint32_t) + rows * lsh_memory::signed_bytes(spec_);
  return std::max({signing, ranking, beside + sets + rows * lsh_memory::joining_bytes(spec_)});
}

void LshWeights::spill_to(SpillFile &file) {
  file_ = &file;
  for (WaitingTokens<WeightedToken> &side : waiting_) side.spill_to(file);
  input_.spill_to(file, lsh_memory::vocabulary_bytes(spec_));
}

void LshWeights::rank(WorkerPool &pool) {
  bounds_.emplace(spec_.measure, spec_.threshold, spec_.self_join, input_.largest_set());
  Ranking ranking = input_.take_ranking(spec_.memory_limit / 4, pool);
  std::vector<uint32_t> first_rows;  // by block: of its side
  for (int side = 0; side < 2; ++side) {
    for (WeightedBlock &block : input_.take_sets(side, ranking, *bounds_, pool)) {
      blocks_.push_back(std::move(block));
      first_rows.push_back(side == 0 ? 0 : rows_[0]);
    }
  }
  ranking.rank_of.release();
  places_.resize(size_t{rows_[0]} + rows_[1]);
  pool.parallel(blocks_.size(), [&](int, size_t number) {
    blocks_[number].visit(file_, memory_, [&](const WeightedSets &sets) {
      for (uint32_t set = 0; set < sets.sets(); ++set)
        places_[first_rows[number] + sets.rows[set]] = {static_cast<uint32_t>(number), set};
    });
  });
}

// Returns the set of a row, which has weights. Where sets are in the file, it is read to a place of the two.
WeightedSet LshWeights::load(uint32_t row, int number, Loaded &loaded) const {
  const Place place = places_[row];
  const WeightedBlock &block = blocks_[place.block];
  if (!block.in_file) return block.sets[place.set];
  const auto at = static_cast<size_t>(number);
  if (loaded.rows[at] != row) {
    loaded.rows[at] = no_row;
    loaded.sets[at].format = input_.format();
    loaded.sets[at].read_set(*file_, block.place, block.count, block.tokens, place.set);
    loaded.rows[at] = row;
  }
  return loaded.sets[at][0];
}

double LshWeights::similarity(uint32_t l, uint32_t r, Loaded &loaded, const StopFlag &stop) const {
  return weighted_similarity(load(l, 0, loaded), load(r, 1, loaded), input_.format(), *bounds_, stop);
}

}  // namespace simjoin
