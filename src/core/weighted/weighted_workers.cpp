#include "core/weighted/weighted_workers.hpp"

#include <algorithm>
#include <utility>

namespace simjoin {
namespace {

// Probes, and pairs of a GPU, that a worker takes at a time.
constexpr uint32_t probes_per_item = 256;
constexpr size_t pairs_per_item = 1024;
// A worker that finds little hands over its pairs at least this often.
constexpr std::chrono::milliseconds flush_interval{10};

}  // namespace

WeightedWorkers::WeightedWorkers(const WeightedBounds &bounds, bool self_join, bool swap, WantedPairs *demand,
                                 ResultQueue &queue, WorkerPool &pool, MemoryCounter &memory, Count count)
    : pool_(pool), memory_(memory), count_(std::move(count)) {
  for (int worker = 0; worker < pool.workers(); ++worker)
    workers_.push_back(std::unique_ptr<Worker>(
        new Worker{ResultWriter(queue, swap, self_join, demand),
                   WeightedSearch(bounds, self_join, pool.stop(), memory), JoinCounters(), Clock::now()}));
}

void WeightedWorkers::join(const WeightedIndex &index, const std::vector<WeightedBlock> &blocks,
                           const SpillFile *file) {
  struct Item {
    size_t block;
    uint32_t begin;
    uint32_t end;
  };
  std::vector<Item> items;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const uint32_t sets = blocks[b].count, step = file != nullptr ? UINT32_MAX : probes_per_item;
    for (uint32_t begin = 0; begin < sets; begin += std::min(step, sets - begin))
      items.push_back({b, begin, begin + std::min(step, sets - begin)});
  }
  for (const std::unique_ptr<Worker> &worker : workers_) worker->search.turn_to(index);
  pool_.parallel(items.size(), [&](int worker, size_t number) {
    const Item &item = items[items.size() - 1 - number];
    blocks[item.block].visit(file, memory_, [&](const WeightedSets &sets) {
      search(*workers_[static_cast<size_t>(worker)], sets, item.begin, item.end);
    });
  });
}

// The heaviest probes come first, since they have the most partners.
void WeightedWorkers::join(const WeightedIndex &index, const WeightedSets &probes, uint32_t first) {
  for (const std::unique_ptr<Worker> &worker : workers_) worker->search.turn_to(index);
  const uint32_t count = probes.sets() - first;
  const size_t items = (size_t{count} + probes_per_item - 1) / probes_per_item;
  pool_.parallel(items, [&](int worker, size_t number) {
    const uint32_t begin = first + static_cast<uint32_t>(items - 1 - number) * probes_per_item;
    search(*workers_[static_cast<size_t>(worker)], probes, begin,
           begin + std::min(probes_per_item, probes.sets() - begin));
  });
}

void WeightedWorkers::search(Worker &worker, const WeightedSets &probes, uint32_t begin, uint32_t end) {
  const uint64_t compatible = worker.search.compatible_pairs();
  worker.search.search(probes, begin, end, worker.writer, memory_, worker.counters);
  end_item(worker, compatible);
}

void WeightedWorkers::verify(const WeightedSets &probes, const WeightedSets &partners,
                             std::span<const WeightedPair> pairs) {
  pool_.parallel((pairs.size() + pairs_per_item - 1) / pairs_per_item, [&](int number, size_t i) {
    Worker &worker = *workers_[static_cast<size_t>(number)];
    const size_t begin = i * pairs_per_item, count = std::min(pairs_per_item, pairs.size() - begin);
    worker.search.verify_pairs(probes, partners, pairs.subspan(begin, count), worker.writer, memory_,
                               worker.counters);
    worker.counters.verified = 0;  // the device has counted them
    end_item(worker, worker.search.compatible_pairs());
  });
}

void WeightedWorkers::end_item(Worker &worker, uint64_t compatible_before) {
  count_(std::exchange(worker.counters, {}), worker.search.compatible_pairs() - compatible_before);
  const auto now = Clock::now();
  if (now - worker.flushed < flush_interval) return;
  worker.writer.flush();
  worker.flushed = now;
}

void WeightedWorkers::flush() {
  for (const std::unique_ptr<Worker> &worker : workers_) worker->writer.flush();
}

}  // namespace simjoin
