#include "core/candidates/prefix/parity_signature.hpp"

#include <algorithm>

namespace simjoin {

ParityTable::ParityTable(const SetCollection &sets, WorkerPool &pool, MemoryCounter &memory)
    : signatures_(memory, size_t{sets.sets()} * words) {
  constexpr size_t sets_per_block = 1024;
  const size_t n = sets.sets();
  pool.parallel((n + sets_per_block - 1) / sets_per_block, [&](int, size_t block) {
    const auto begin = static_cast<uint32_t>(block * sets_per_block);
    const auto end = static_cast<uint32_t>(std::min(n, (block + 1) * sets_per_block));
    uint32_t size_class = sets.class_of(begin);
    for (uint32_t set = begin; set < end; ++set) {
      while (set >= sets.classes[size_class].end) ++size_class;
      parity_signature<words>(sets, set, sets.classes[size_class].size,
                              signatures_.data() + size_t{set} * words);
    }
  });
}

}  // namespace simjoin
