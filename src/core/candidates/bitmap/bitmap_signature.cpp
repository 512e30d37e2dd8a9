#include "core/candidates/bitmap/bitmap_signature.hpp"

#include <algorithm>

namespace simjoin {

SignatureTable::SignatureTable(const SetCollection &sets, uint32_t first, uint32_t end,
                               const SignatureLayout &layout, WorkerPool &pool, MemoryCounter &memory)
    : layout_(layout), first_(first), words_(memory), excess_(memory) {
  constexpr size_t blocks_per_task = 256;
  constexpr size_t vector_words = 8;  // the words of the widest vectors
  const size_t blocks = (end - first + signature_block - 1) / signature_block;
  words_.resize(blocks * signature_block * layout.words + vector_words);
  const auto address = reinterpret_cast<uintptr_t>(words_.data()) / sizeof(uint64_t);
  align_ = (vector_words - address % vector_words) % vector_words;
  excess_.resize(end - first);
  pool.parallel((blocks + blocks_per_task - 1) / blocks_per_task, [&](int, size_t task) {
    uint64_t signature[max_signature_words];
    for (size_t block = task * blocks_per_task; block < std::min(blocks, (task + 1) * blocks_per_task);
         ++block) {
      pool.stop().check();
      uint64_t *words = words_.data() + align_ + block * signature_block * layout.words;
      std::fill_n(words, signature_block * layout.words, 0);
      for (size_t lane = 0; lane < signature_block; ++lane) {
        const size_t set = first + block * signature_block + lane;
        if (set >= end) break;
        const auto number = static_cast<uint32_t>(set);
        excess_[set - first] = layout.sign(sets.begin(number), sets.stored(number), signature);
        for (size_t w = 0; w < layout.words; ++w) words[w * signature_block + lane] = signature[w];
      }
    }
  });
}

SignatureTables::SignatureTables(const JoinProblem &problem, const std::vector<bool> &use_bitmap,
                                 const std::vector<SignatureLayout> &layouts, WorkerPool &pool,
                                 MemoryCounter &memory)
    : table_of_(use_bitmap.size(), UINT32_MAX) {
  const auto classes = static_cast<uint32_t>(use_bitmap.size());
  for (uint32_t begin = 0, end; begin < classes; begin = end) {
    end = begin + 1;
    if (!use_bitmap[begin]) continue;
    while (end < classes && use_bitmap[end] && layouts[end] == layouts[begin]) ++end;
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t k = begin; k < end; ++k) {
      const ProbeClass &c = problem.probe_classes[k];
      if (c.class_begin == c.class_end) continue;
      first = std::min(first, problem.first_partner(k));
      last = std::max(last, problem.end_partner(k, problem.probe.classes[k].end));
      table_of_[k] = static_cast<uint32_t>(tables_.size());
    }
    if (first < last) tables_.emplace_back(problem.index, first, last, layouts[begin], pool, memory);
  }
}

}  // namespace simjoin
