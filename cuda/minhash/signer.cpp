#include "cuda/minhash/signer.hpp"

#include <algorithm>
#include <cfloat>
#include <cstring>

#include "core/minhash/minhash_table.hpp"
#include "core/minhash/weighted_minhash_kernels.hpp"

namespace simjoin::gpu {
namespace {

// Tokens of the sets that one worker stages at a time, about, and bytes that it copies at a time.
constexpr size_t tokens_per_chunk = size_t{1} << 14;
constexpr size_t bytes_per_copy = size_t{1} << 20;
// Smaller rounds would hide no copies behind the kernels. Not tuned.
constexpr size_t least_round_tokens = size_t{1} << 14;

// Writes a weighted set and returns true if its tokens are in order and all weights are normal numbers in
// single precision. Returns false otherwise.
bool write_plain(std::span<const WeightedToken> tokens, uint64_t *identities, float *weights) {
  bool plain = true;
  uint64_t last = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto weight = static_cast<float>(tokens[i].weight);
    plain &= static_cast<double>(weight) == tokens[i].weight && weight >= FLT_MIN;
    plain &= i == 0 || last < tokens[i].identity;
    last = identities[i] = tokens[i].identity;
    weights[i] = weight;
  }
  return plain;
}

// Returns `limits`, halved until two rounds take at most half of `memory`. The table of random numbers may
// take the other half, and is not used if that is too little.
RoundLimits limits_within(size_t memory, const SignatureHeader &header, RoundLimits limits) {
  const bool weighted = header.family == SignatureFamily::weighted;
  const size_t a_token = weighted ? sizeof(uint64_t) + sizeof(float) + sizeof(uint32_t) : sizeof(uint32_t);
  const size_t a_value = sizeof(uint32_t) + (weighted ? 0 : sizeof(uint64_t));  // and the hash of its band
  const size_t a_set = sizeof(SetRange) + sizeof(Piece);
  const auto bytes = [&] {
    const size_t sets = limits.values / std::max<size_t>(header.permutations, 1) + 1;
    return limits.tokens * a_token + limits.values * a_value + sets * a_set;
  };
  while (limits.tokens > least_round_tokens && bytes() * 2 * 9 / 8 > memory / 2) {
    limits.tokens /= 2;
    limits.values /= 2;
  }
  return limits;
}

}  // namespace

struct Signer::Round {
  RoundArray<uint32_t> hashes;
  RoundArray<uint64_t> identities;
  RoundArray<float> weights;
  RoundArray<SetRange> ranges;
  RoundArray<Piece> pieces;
  RoundArray<uint32_t> split_sets;  // by slot
  RoundArray<uint32_t> values;
  RoundArray<uint64_t> bands;
  DeviceBuffer<uint32_t> places;
  DeviceBuffer<unsigned long long> partial;
  Event uploaded, started, computed, downloaded;
  size_t first = 0;  // first set
  size_t sets = 0;
  size_t tokens = 0;
  size_t piece_count = 0;
  size_t slots = 0;
  bool in_flight = false;
};

Signer::Signer(const SignatureHeader &header, size_t memory_limit, const RoundLimits &limits)
    : Signer(header, permutations_of(header.seed, header.permutations), memory_limit, limits) {}

Signer::Signer(const SignatureHeader &header, std::span<const Permutation> permutations, size_t memory_limit,
               const RoundLimits &limits)
    : header_(header),
      device_(memory_limit),
      limits_(limits_within(device_.memory_limit(), header, limits)),
      permutations_(device_, permutations),
      rounds_{std::make_unique<Round>(), std::make_unique<Round>()} {}

// Waits for all copies, because page-locked memory must outlive them.
Signer::~Signer() {
  device_.make_current_or_not();
  cudaStreamSynchronize(in_.get());
  cudaStreamSynchronize(device_.stream());
  cudaStreamSynchronize(out_.get());
}

void Signer::sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values) {
  run(sets, pool, {.values = values});
}

void Signer::sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values) {
  run(sets, pool, {.values = values});
}

void Signer::hash_bands(const SetArrays<uint32_t> &sets, const BandPlan &plan, WorkerPool &pool,
                        uint64_t *hashes) {
  run(sets, pool, {.bands = hashes, .plan = plan});
}

template <class Token>
void Signer::run(const SetArrays<Token> &sets, WorkerPool &pool, const Output &output) {
  device_.make_current();
  size_t turn = 0;
  for (size_t first = 0; first < sets.ends.size(); ++turn) {
    Round &round = *rounds_[turn % 2];
    finish(round, pool, output);
    first = cut(round, sets, first);
    reserve(round, std::is_same_v<Token, WeightedToken>, output);
    stage(round, sets, pool);
    submit(round, sets, pool, output);
  }
  finish(*rounds_[turn % 2], pool, output);
  finish(*rounds_[(turn + 1) % 2], pool, output);
}

// Makes a round of the sets from `first` on. Returns the first set after it.
template <class Token>
size_t Signer::cut(Round &round, const SetArrays<Token> &sets, size_t first) const {
  const size_t begin = sets.begin(first);
  size_t end = first;
  while (end < sets.ends.size() &&
         (end == first || (sets.ends[end] - begin <= limits_.tokens &&
                           (end + 1 - first) * header_.permutations <= limits_.values)))
    ++end;
  round.first = first;
  round.sets = end - first;
  round.tokens = sets.ends[end - 1] - begin;
  if (round.tokens > most_round_tokens)
    throw Error(ErrorKind::limit_exceeded, "a set has too many tokens for a GPU");
  return end;
}

void Signer::reserve(Round &round, bool weighted, const Output &output) {
  bool grown = round.ranges.reserve(device_, round.sets);
  grown |= weighted ? round.identities.reserve(device_, round.tokens)
                    : round.hashes.reserve(device_, round.tokens);
  if (weighted) {
    grown |= round.weights.reserve(device_, round.tokens);
    if (round.places.size() < round.weights.host.size())
      round.places = DeviceBuffer<uint32_t>(device_, round.weights.host.size());
  }
  // A piece holds a set or `piece_tokens` tokens, so this is the most pieces.
  grown |= round.pieces.reserve(device_, round.sets + round.tokens / piece_tokens + 1);
  grown |= round.split_sets.reserve(device_, round.tokens / (2 * piece_tokens) + 1);
  grown |= round.values.reserve(device_, round.sets * header_.permutations);
  if (output.bands != nullptr) grown |= round.bands.reserve(device_, round.sets * output.plan.bands);
  if (!grown) return;
  // Memory is allocated in the order of the device's own stream, so the copies have to wait for it.
  allocated_.record(device_.stream());
  in_.wait_for(allocated_);
}

namespace {

// Cuts the sets of a round into pieces, in order.
class PieceCutter {
 public:
  PieceCutter(Piece *pieces, uint32_t *split_sets) : pieces_(pieces), split_sets_(split_sets) {}

  void add(uint32_t set, uint32_t begin, uint32_t size) {
    if (size > 2 * piece_tokens) {
      split_sets_[slots_] = set;
      for (uint32_t done = 0; done < size; done += piece_tokens)
        pieces_[count_++] = {set, 1, begin + done, begin + std::min(size, done + piece_tokens), slots_};
      ++slots_;
      filled_ = UINT32_MAX;
      return;
    }
    if (filled_ > piece_tokens || filled_ + size > piece_tokens) {
      pieces_[count_++] = {set, 0, 0, UINT32_MAX, no_slot};
      filled_ = 0;
    }
    ++pieces_[count_ - 1].sets;
    filled_ += size + 1;  // an empty set costs some work, too
  }

  size_t count() const { return count_; }
  size_t slots() const { return slots_; }

 private:
  Piece *pieces_;
  uint32_t *split_sets_;
  size_t count_ = 0;
  uint32_t slots_ = 0;
  uint32_t filled_ = UINT32_MAX;  // tokens of the last piece if sets can be added to it
};

// Fills in the ranges and pieces of a round. Sets keep their order. Returns where each worker's chunk of sets
// ends.
template <class Token>
std::vector<size_t> lay_out(const SetArrays<Token> &sets, size_t first, size_t count, SetRange *ranges,
                            PieceCutter &cutter) {
  std::vector<size_t> chunks;
  const size_t base = sets.begin(first);
  size_t chunk_begin = base;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<uint32_t>(sets.begin(first + i) - base);
    const auto end = static_cast<uint32_t>(sets.ends[first + i] - base);
    ranges[i] = {begin, end, 0};
    cutter.add(static_cast<uint32_t>(i), begin, end - begin);
    if (sets.ends[first + i] - chunk_begin < tokens_per_chunk && i + 1 < count) continue;
    chunks.push_back(i + 1);
    chunk_begin = sets.ends[first + i];
  }
  return chunks;
}

}  // namespace

void Signer::stage(Round &round, const SetArrays<uint32_t> &sets, WorkerPool &pool) {
  PieceCutter cutter(round.pieces.host.data(), round.split_sets.host.data());
  lay_out(sets, round.first, round.sets, round.ranges.host.data(), cutter);
  round.piece_count = cutter.count();
  round.slots = cutter.slots();
  const uint32_t *from = sets.tokens.data() + sets.begin(round.first);
  constexpr size_t a_copy = bytes_per_copy / sizeof(uint32_t);
  pool.parallel((round.tokens + a_copy - 1) / a_copy, [&](int, size_t i) {
    const size_t count = std::min(a_copy, round.tokens - i * a_copy);
    std::memcpy(round.hashes.host.data() + i * a_copy, from + i * a_copy, count * sizeof(uint32_t));
  });
}

void Signer::stage(Round &round, const SetArrays<WeightedToken> &sets, WorkerPool &pool) {
  PieceCutter cutter(round.pieces.host.data(), round.split_sets.host.data());
  SetRange *ranges = round.ranges.host.data();
  const std::vector<size_t> chunks = lay_out(sets, round.first, round.sets, ranges, cutter);
  round.piece_count = cutter.count();
  round.slots = cutter.slots();
  pool.parallel(chunks.size(), [&](int, size_t chunk) {
    std::vector<WeightedToken> scratch;
    for (size_t i = chunk == 0 ? 0 : chunks[chunk - 1]; i < chunks[chunk]; ++i) {
      const size_t begin = sets.begin(round.first + i);
      const auto tokens = sets.tokens.subspan(begin, sets.ends[round.first + i] - begin);
      uint64_t *identities = round.identities.host.data() + ranges[i].begin;
      float *weights = round.weights.host.data() + ranges[i].begin;
      if (write_plain(tokens, identities, weights)) continue;
      const auto ordered = in_order(tokens, scratch, pool.stop());
      for (size_t j = 0; j < ordered.size(); ++j) {
        identities[j] = ordered[j].identity;
        weights[j] = log_of_weight(ordered[j].weight);
      }
      // Dropped tokens are looked up with the others.
      for (size_t j = ordered.size(); j < tokens.size(); ++j) identities[j] = tokens[j].identity;
      ranges[i] = {ranges[i].begin, ranges[i].begin + static_cast<uint32_t>(ordered.size()), 1};
    }
  });
}

// Uploads the arrays that both families have.
void Signer::upload(Round &round) {
  in_.copy_to_device(round.ranges.device.data(), round.ranges.host.data(), round.sets);
  in_.copy_to_device(round.pieces.device.data(), round.pieces.host.data(), round.piece_count);
  in_.copy_to_device(round.split_sets.device.data(), round.split_sets.host.data(), round.slots);
  SIMJOIN_DEVICE_CALL(cudaEventRecord(round.uploaded.get(), in_.get()));
  SideStream::wait(device_.stream(), round.uploaded);
}

RoundView Signer::view(const Round &round) const {
  return {round.ranges.device.data(),
          round.pieces.device.data(),
          static_cast<uint32_t>(round.sets),
          static_cast<uint32_t>(round.piece_count),
          header_.permutations,
          round.values.device.data()};
}

void Signer::submit(Round &round, const SetArrays<uint32_t> &, WorkerPool &pool, const Output &output) {
  in_.copy_to_device(round.hashes.device.data(), round.hashes.host.data(), round.tokens);
  upload(round);
  round.started.record(device_.stream());
  if (round.slots > 0) round.values.device.fill(0xFF);
  sign_hashed(device_, permutations_, view(round), round.hashes.device.data(), [&] {
    device_.synchronize();
    pool.stop().check();
  });
  if (output.bands != nullptr)
    simjoin::gpu::hash_bands(device_, header_, output.plan, view(round), round.bands.device.data());
  end_kernels(round, output);
}

void Signer::submit(Round &round, const SetArrays<WeightedToken> &, WorkerPool &pool, const Output &output) {
  in_.copy_to_device(round.identities.device.data(), round.identities.host.data(), round.tokens);
  in_.copy_to_device(round.weights.device.data(), round.weights.host.data(), round.tokens);
  upload(round);
  if (!draws_) draws_.emplace(device_, header_.permutations, header_.seed, device_.memory_left() / 2);
  round.started.record(device_.stream());
  const bool add = draws_->prepare(round.tokens);
  draws_->find(round.identities.device.data(), round.tokens, add, round.places.data());
  draws_->fill();
  pool.stop().check();
  const size_t partial = round.slots * header_.permutations;
  if (round.partial.size() < partial) {
    round.partial.reset();
    round.partial = DeviceBuffer<unsigned long long>(device_, partial);
  }
  round.partial.fill(0xFF);
  sign_weighted(device_, header_.seed, draws_->view(), view(round),
                {round.identities.device.data(), round.weights.device.data(), round.places.data()},
                {round.partial.data(), round.split_sets.device.data(), static_cast<uint32_t>(round.slots)},
                [&] {
                  device_.synchronize();
                  pool.stop().check();
                });
  end_kernels(round, output);
}

// Downloads the results after the kernels.
void Signer::end_kernels(Round &round, const Output &output) {
  round.computed.record(device_.stream());
  out_.wait_for(round.computed);
  if (output.bands != nullptr)
    out_.copy_to_host(round.bands.host.data(), round.bands.device.data(), round.sets * output.plan.bands);
  else
    out_.copy_to_host(round.values.host.data(), round.values.device.data(),
                      round.sets * header_.permutations);
  SIMJOIN_DEVICE_CALL(cudaEventRecord(round.downloaded.get(), out_.get()));
  round.in_flight = true;
}

// Waits for the results of a round and writes them to `output`.
void Signer::finish(Round &round, WorkerPool &pool, const Output &output) {
  if (!round.in_flight) return;
  round.downloaded.wait();
  round.in_flight = false;
  kernel_ms_ += round.computed.since(round.started);
  pool.stop().check();
  const bool bands = output.bands != nullptr;
  const size_t row = bands ? output.plan.bands * sizeof(uint64_t) : header_.permutations * sizeof(uint32_t);
  const char *from = bands ? reinterpret_cast<const char *>(round.bands.host.data())
                           : reinterpret_cast<const char *>(round.values.host.data());
  char *to = (bands ? reinterpret_cast<char *>(output.bands) : reinterpret_cast<char *>(output.values)) +
             round.first * row;
  const size_t bytes = round.sets * row;
  pool.parallel((bytes + bytes_per_copy - 1) / bytes_per_copy, [&](int, size_t i) {
    std::memcpy(to + i * bytes_per_copy, from + i * bytes_per_copy,
                std::min(bytes_per_copy, bytes - i * bytes_per_copy));
  });
}

}  // namespace simjoin::gpu
