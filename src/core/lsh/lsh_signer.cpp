#include "core/lsh/lsh_signer.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/device/gpu.hpp"
#include "core/minhash/minhash_signature.hpp"

namespace simjoin {
namespace {

// Rows that one worker takes at a time, at most. Fewer rows are cut into several parts for each worker.
constexpr size_t rows_per_piece = 256, pieces_per_worker = 4;

// Calls body(begin, end) for pieces of `rows` rows.
void for_pieces(size_t rows, WorkerPool &pool, const std::function<void(size_t begin, size_t end)> &body) {
  const size_t piece =
      std::clamp(rows / (pieces_per_worker * static_cast<size_t>(pool.workers())), size_t{1}, rows_per_piece);
  pool.parallel((rows + piece - 1) / piece,
                [&](int, size_t number) { body(number * piece, std::min(rows, (number + 1) * piece)); });
}

}  // namespace

void LshSigner::sign(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values, uint64_t *hashes) {
  device_.run([&](GpuBackend &gpu) { sign_on_gpu(gpu, sets, pool, values, hashes); },
              [&] {
                gpu_signer_.reset();
                device_.note_cpu();
                sign_on_cpu(sets, pool, values, hashes);
              });
}

void LshSigner::sign_on_gpu(GpuBackend &gpu, const SetArrays<uint32_t> &sets, WorkerPool &pool,
                            uint32_t *values, uint64_t *hashes) {
  if (!gpu_signer_) {
    const SignatureHeader header{SignatureFamily::minhash, false, full_bits,
                                 static_cast<uint16_t>(spec_.permutations), spec_.seed};
    gpu_signer_ = gpu.signatures()->make_signer(header, spec_.gpu_memory_limit);
  }
  if (spec_.verify)
    gpu_signer_->hash_bands(sets, spec_.plan, pool, hashes);
  else
    gpu_signer_->sign(sets, pool, values);
  device_.note_use(gpu_signer_->device(), gpu_signer_->memory_peak());
  if (spec_.verify) return;
  for_pieces(sets.ends.size(), pool, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row)
      hash_bands(values + row * spec_.permutations, hashes + row * spec_.plan.bands);
  });
}

void LshSigner::sign_on_cpu(const SetArrays<uint32_t> &sets, WorkerPool &pool, uint32_t *values,
                            uint64_t *hashes) const {
  for_pieces(sets.ends.size(), pool, [&](size_t begin, size_t end) {
    sign_rows(sets, begin, end, hasher_, pool.stop(), values, hashes);
  });
}

void LshSigner::sign(const SetArrays<WeightedToken> &sets, WorkerPool &pool, uint32_t *values,
                     uint64_t *hashes) const {
  for_pieces(sets.ends.size(), pool, [&](size_t begin, size_t end) {
    WeightedMinHasher hasher(spec_.permutations, spec_.seed);
    sign_rows(sets, begin, end, hasher, pool.stop(), values, hashes);
  });
}

// Signs the sets [begin, end).
template <class Token, class Hasher>
void LshSigner::sign_rows(const SetArrays<Token> &sets, size_t begin, size_t end, Hasher &hasher,
                          const StopFlag &stop, uint32_t *values, uint64_t *hashes) const {
  std::vector<uint32_t> scratch(spec_.permutations);
  for (size_t row = begin; row < end; ++row) {
    uint32_t *const to = spec_.verify ? scratch.data() : values + row * spec_.permutations;
    const size_t first = sets.begin(row);
    hasher.sign(sets.tokens.subspan(first, sets.ends[row] - first), stop, to);
    hash_bands(to, hashes + row * spec_.plan.bands);
  }
}

// Writes the hashes of the bands of a signature with these values.
void LshSigner::hash_bands(const uint32_t *values, uint64_t *hashes) const {
  SignatureHeader header;
  header.family = spec_.weighted ? SignatureFamily::weighted : SignatureFamily::minhash;
  header.seed = spec_.seed;
  for (uint32_t band = 0; band < spec_.plan.bands; ++band)
    hashes[band] = band_hash(header, band, values + size_t{band} * spec_.plan.rows, spec_.plan.rows);
}

}  // namespace simjoin
