#include "core/weighted/weighted_input.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "core/base/error.hpp"
#include "core/sort/long_sort.hpp"
#include "core/weighted/weighted_index.hpp"

namespace simjoin {
namespace {

constexpr uint32_t check_interval = 1u << 12;  // sets between looks at the stop flag

bool is_float(double weight) {
  return weight <= std::numeric_limits<float>::max() &&
         static_cast<double>(static_cast<float>(weight)) == weight;
}

}  // namespace

WeightedInput::WeightedInput(Measure measure, bool self_join, size_t block_bytes, int threads,
                             size_t memory_limit, MemoryCounter &memory, bool by_rarity)
    : measure_(measure),
      by_rarity_(by_rarity),
      threads_(threads),
      memory_limit_(memory_limit),
      memory_(memory),
      tokens_(self_join, memory, by_rarity),
      sides_{RawSets(block_bytes, memory), RawSets(block_bytes, memory)},
      copies_(memory),
      waiting_{WaitingWeights(memory), WaitingWeights(memory)} {}

template <class Set>
void WeightedInput::add(Side side, const Set &set, std::span<const double> weights) {
  if (tokens_.takes_as_texts(set)) return add_texts(side, texts_of(set), weights);
  place(side, integers_of(set), weights);
}

template void WeightedInput::add(Side, const std::span<const int32_t> &, std::span<const double>);
template void WeightedInput::add(Side, const std::span<const int64_t> &, std::span<const double>);
template void WeightedInput::add(Side, const PackedTexts &, std::span<const double>);

template <class Set>
void WeightedInput::add(Side side, const Set &set) {
  if (tokens_.takes_as_texts(set)) return tokens_.add_texts(side, texts_of(set), text_input());
  tokens_.add_row(side, integers_of(set), sides_, file_, vocabulary_bytes_);
}

template void WeightedInput::add(Side, const std::span<const int32_t> &);
template void WeightedInput::add(Side, const std::span<const int64_t> &);
template void WeightedInput::add(Side, const PackedTexts &);

void WeightedInput::add_copies(uint32_t row, uint32_t copies) {
  while (copies_.size() <= row) copies_.push_back(0);
  copies_[row] += copies;
}

template <class Token>
void WeightedInput::place(Side side, std::span<const Token> tokens, std::span<const double> weights) {
  if (tokens_.add_row(side, tokens, sides_, file_, vocabulary_bytes_, true) != weights.size())
    throw Error(ErrorKind::internal, "a weighted set has other tokens than weights");
  add_weights(static_cast<int>(side), weights);
}

void WeightedInput::add_texts(Side side, const PackedTexts &set, std::span<const double> weights) {
  Buffer<double> &waiting = waiting_[static_cast<int>(side)].weights;
  std::copy(weights.begin(), weights.end(), waiting.extend(weights.size()));
  tokens_.add_texts(side, set, text_input());
}

TextInput WeightedInput::text_input() {
  TextInput input = {sides_[0], sides_[1], threads_, memory_limit_, file_, vocabulary_bytes_};
  if (by_rarity_) return input;
  input.form = NumberedForm{true};
  input.add_rows = [this](NumberedSets &&rows) { take_rows(std::move(rows)); };
  return input;
}

// Adds rows of texts that are numbered, with their weights.
void WeightedInput::take_rows(NumberedSets &&rows) {
  const int side = static_cast<int>(rows.side);
  RawSets &sets = sides_[side];
  WaitingWeights &waiting = waiting_[side];
  std::span<const double> weights(waiting.weights.data() + waiting.taken, rows.numbers.size());
  waiting.taken += weights.size();
  if (file_ == nullptr) {
    sets.add_rows(std::move(rows.numbers), rows.sizes);
    add_weights(side, weights);
  } else {
    // Blocks of the file's size, which are read at once.
    const uint32_t *number = rows.numbers.data();
    for (const uint32_t size : rows.sizes) {
      std::copy_n(number, size, sets.room(size));
      add_weights(side, weights.first(size));
      sets.add_row(size);
      number += size;
      weights = weights.subspan(size);
    }
  }
  if (waiting.taken * 2 < waiting.weights.size()) return;
  std::copy(waiting.weights.begin() + waiting.taken, waiting.weights.end(), waiting.weights.begin());
  waiting.weights.resize(waiting.weights.size() - waiting.taken);
  waiting.taken = 0;
}

// Adds the weights of the last rows of a side, to the block that has their tokens.
void WeightedInput::add_weights(int side, std::span<const double> weights) {
  WeightRange range;
  bool wide = false;
  for (const double weight : weights) {
    range.add(weight);
    wide |= !is_float(weight);
  }
  range_.join(range);
  std::vector<WeightBlock> &blocks = weights_[side];
  while (blocks.size() < sides_[side].blocks.size()) {
    if (file_ != nullptr && !blocks.empty()) spill(blocks.back());
    blocks.emplace_back(memory_);
  }
  WeightBlock &block = blocks.back();
  if (wide && !block.wide) {
    for (const float weight : block.floats) block.doubles.push_back(weight);
    block.floats.release();
    block.wide = wide_ = true;
  }
  if (block.wide) {
    std::copy(weights.begin(), weights.end(), block.doubles.extend(weights.size()));
  } else {
    float *to = block.floats.extend(weights.size());
    for (const double weight : weights) *to++ = static_cast<float>(weight);
  }
  block.count += weights.size();
}

void WeightedInput::spill(WeightBlock &block) {
  if (block.in_file) return;
  const size_t bytes =
      block.wide ? block.doubles.size() * sizeof(double) : block.floats.size() * sizeof(float);
  block.place = file_->reserve(bytes);
  file_->write(block.place,
               block.wide ? static_cast<const void *>(block.doubles.data()) : block.floats.data(), bytes);
  block.doubles.release();
  block.floats.release();
  block.in_file = true;
}

void WeightedInput::load(WeightBlock &block) const {
  if (!block.in_file) return;
  if (block.wide) {
    block.doubles.resize(block.count);
    file_->read(block.place, block.doubles.data(), block.count * sizeof(double));
  } else {
    block.floats.resize(block.count);
    file_->read(block.place, block.floats.data(), block.count * sizeof(float));
  }
}

void WeightedInput::spill_to(SpillFile &file, size_t vocabulary_bytes) {
  file_ = &file;
  vocabulary_bytes_ = vocabulary_bytes;
  if (tokens_.ids_per_token() > 1) return end_waiting();
  for (int side = 0; side < 2; ++side) {
    sides_[side].spill_to(file);
    for (size_t i = 0; i + 1 < weights_[side].size(); ++i) spill(weights_[side][i]);
  }
}

// Adds sets whose tokens wait once more, since there is a file now.
void WeightedInput::end_waiting() {
  // The weights of the next set of a side.
  struct Next {
    std::vector<WeightBlock> blocks;
    size_t block = 0;
    uint64_t taken = 0;  // of the block
  };
  Next next[] = {{std::exchange(weights_[0], {})}, {std::exchange(weights_[1], {})}};
  std::vector<double> weights;
  tokens_.end_waiting(sides_, *file_, [&](Side side, std::span<const int64_t> tokens) {
    if (by_rarity_) return add(side, tokens);
    Next &of_side = next[static_cast<int>(side)];
    while (!tokens.empty() && of_side.taken == of_side.blocks[of_side.block].count) {
      of_side.blocks[of_side.block++] = WeightBlock(memory_);
      of_side.taken = 0;
    }
    weights.resize(tokens.size());
    for (double &weight : weights) weight = of_side.blocks[of_side.block][of_side.taken++];
    place(side, tokens, weights);
  });
}

Ranking WeightedInput::take_ranking(size_t extra_bytes, WorkerPool &pool) {
  Ranking ranking = tokens_.take_ranking(sides_[0], sides_[1], file_, extra_bytes, pool);
  if (by_rarity_) {
    rarity_.emplace(RankedBlocks{sides_[0], sides_[1], copies_, file_}, ranking, pool, memory_);
    copies_.release();
    range_ = rarity_->range(largest_set());
    for (int side = 0; side < 2; ++side)
      while (weights_[side].size() < sides_[side].blocks.size()) weights_[side].emplace_back(memory_);
  }
  return ranking;
}

// Returns the sets of a block whose ids and weights are in memory.
WeightedSets WeightedInput::ranked_sets(const RawSets &raw, const RawBlock &block, const WeightBlock &weights,
                                        const Ranking &ranking, const WeightedBounds &bounds,
                                        const StopFlag &stop) const {
  WeightedSets sets(format(), memory_);
  sets.reserve(block.rows, block.tokens);
  std::vector<uint64_t> stored;  // the ranks of a set's tokens, each above the place of its weight
  const ShortSort sort;
  const uint32_t *ids = block.ids.data();
  size_t first = 0;
  for (uint32_t row = block.first_row; row < block.first_row + block.rows; ++row) {
    if (row % check_interval == 0) stop.check();
    const uint32_t size = raw.sizes[row];
    double total = 0, stored_mass = 0;
    ExactSum exact;
    ExactProducts squares;
    stored.clear();
    for (uint32_t i = 0; i < size; ++i) {
      stop.check_at(i);
      const uint32_t rank = ranking.rank(ids[first + i]);
      const double weight = rarity_ ? rarity_->weight(rank) : weights[first + i];
      const double mass = bounds.mass(weight);
      total += mass;
      if (sets.format.exact) exact.add(weight);
      if (bounds.of_cosine()) squares.add(weight, weight);
      if (rank == Ranking::none || weight == 0) continue;
      stored.push_back(uint64_t{rank} << 32 | i);
      stored_mass += mass;
    }
    if (bounds.of_cosine()) total = squares.rounded();
    sort_long(stored.data(), stored.size(), sort, [&] { stop.check(); });
    if (total > 0 || bounds.every_pair()) {
      for (size_t i = 0; i < stored.size(); ++i) {
        stop.check_at(i);
        const auto rank = static_cast<uint32_t>(stored[i] >> 32);
        sets.push_token(rank,
                        rarity_ ? rarity_->weight(rank) : weights[first + static_cast<uint32_t>(stored[i])]);
      }
      sets.push_set(row, total, stored_mass);
      if (sets.format.exact) sets.exact.push_back(exact);
    }
    first += size;
  }
  if (sets.starts.empty()) sets.starts.push_back(0);
  return sets;
}

std::vector<WeightedBlock> WeightedInput::take_sets(int side, const Ranking &ranking,
                                                    const WeightedBounds &bounds, WorkerPool &pool) {
  RawSets &raw = sides_[side];
  raw.sizes.shrink();
  std::vector<WeightedBlock> blocks;
  for (size_t i = 0; i < raw.blocks.size(); ++i) blocks.push_back({WeightedSets(format(), memory_)});
  std::mutex place_mutex;  // places in the file are given to one thread at a time
  pool.parallel(raw.blocks.size(), [&](int, size_t number) {
    RawBlock &ids = raw.blocks[number];
    WeightBlock &weights = weights_[side][number];
    if (file_ != nullptr) raw.load(ids, *file_);
    load(weights);
    WeightedSets sets = ranked_sets(raw, ids, weights, ranking, bounds, pool.stop());
    ids.ids.release();
    weights.floats.release();
    weights.doubles.release();
    WeightedBlock &block = blocks[number];
    block.count = sets.sets();
    block.tokens = sets.tokens();
    if (file_ != nullptr) {
      block.postings = WeightedIndex::postings_of(sets, bounds, pool.stop());
      {
        const std::lock_guard lock(place_mutex);
        block.place = file_->reserve(sets.file_bytes());
      }
      sets.write(*file_, block.place);
      block.in_file = true;
    } else {
      sets.shrink();
      block.sets = std::move(sets);
    }
  });
  raw.blocks.clear();
  weights_[side].clear();
  return blocks;
}

}  // namespace simjoin
