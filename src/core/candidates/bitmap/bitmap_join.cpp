#include "core/candidates/bitmap/bitmap_join.hpp"

#include <algorithm>

#include "core/candidates/verify.hpp"

namespace simjoin {
namespace {

// Bytes of signatures per tile: they stay in the first-level cache while all rows of an item pass over them.
// Wide signatures come from the second-level cache, which is fast enough for them.
constexpr size_t tile_bytes = size_t{1} << 14;
constexpr uint32_t least_columns = 64;
constexpr int64_t unreachable = int64_t{1} << 40;

uint32_t tile_columns(uint32_t words) {
  const size_t columns = tile_bytes / sizeof(uint64_t) / words / signature_block * signature_block;
  return std::max(least_columns, static_cast<uint32_t>(columns));
}

}  // namespace

BitmapProber::BitmapProber(const JoinProblem &problem, const SignatureTables &tables, CandidateSink &sink,
                           const StopFlag &stop)
    : problem_(problem), tables_(tables), sink_(sink), stop_(stop), required_(problem) {}

// Runs the probes that share a table together.
void BitmapProber::run(uint32_t begin, uint32_t end, JoinCounters &counters) {
  const std::vector<SizeClass> &classes = problem_.probe.classes;
  for (uint32_t k = problem_.probe.class_of(begin); begin < end;) {
    const SignatureTable *table = tables_.of(k);
    while (k < classes.size() && classes[k].begin < end && tables_.of(k) == table) ++k;
    const uint32_t stretch_end = std::min(end, classes[k - 1].end);
    if (table != nullptr) {
      use_table(*table);
      run_rows(begin, stretch_end, counters);
    }
    begin = stretch_end;
  }
}

void BitmapProber::use_table(const SignatureTable &table) {
  if (table_ == &table) return;
  table_ = &table;
  const uint32_t columns = tile_columns(table.layout().words);
  tile_excess_.resize(columns);
  tile_required_.resize(columns);
  hits_.resize(columns + signature_block);
}

void BitmapProber::run_rows(uint32_t begin, uint32_t end, JoinCounters &counters) {
  prepare_rows(begin, end);
  uint32_t first = UINT32_MAX, last = 0;
  for (const Row &row : rows_) {
    if (row.first >= row.end) continue;
    // All partners are compared: no filter of the prefix index rules one out.
    counters.after_prefix += row.end - row.first;
    counters.after_positional += row.end - row.first;
    first = std::min(first, row.first);
    last = std::max(last, row.end);
  }
  if (first >= last) return;
  first -= (first - table_->first()) % signature_block;
  const uint32_t columns = tile_columns(table_->layout().words);
  auto since = JoinCounters::Clock::now();
  for (uint32_t tile = first; tile < last; tile += std::min(columns, last - tile)) {
    filter_tile(begin, tile, tile + std::min(columns, last - tile));
    if (candidates_.empty()) continue;
    const auto filtered = JoinCounters::Clock::now();
    verify(counters);
    const auto verified = JoinCounters::Clock::now();
    counters.filter += filtered - since;
    counters.verify += verified - filtered;
    since = verified;
  }
  counters.filter += JoinCounters::Clock::now() - since;
}

void BitmapProber::prepare_rows(uint32_t begin, uint32_t end) {
  const SignatureLayout &layout = table_->layout();
  rows_.resize(end - begin);
  row_words_.resize(size_t{end - begin} * layout.words);
  uint32_t probe_class = problem_.probe.class_of(begin);
  for (uint32_t probe = begin; probe < end; ++probe) {
    while (probe >= problem_.probe.classes[probe_class].end) ++probe_class;
    Row &row = rows_[probe - begin];
    uint64_t *const words = row_words_.data() + size_t{probe - begin} * layout.words;
    if (problem_.self_join() && table_->has(probe)) {
      table_->copy(probe, words);
      row.excess = table_->excess(probe);
    } else {
      row.excess = layout.sign(problem_.probe.begin(probe), problem_.probe.stored(probe), words);
    }
    row.probe_class = probe_class;
    row.first = problem_.first_partner(probe_class);
    row.end = problem_.end_partner(probe_class, probe);
  }
}

// Sets what the tile's columns require of probes of a class. Columns that are no partners require more than
// can be reached.
void BitmapProber::load_required(uint32_t probe_class, uint32_t tile, uint32_t tile_end) {
  required_.set_probe_class(probe_class);
  const ProbeClass &partners = problem_.probe_classes[probe_class];
  const std::vector<SizeClass> &classes = problem_.index.classes;
  uint32_t index_class = problem_.index.class_of(tile);
  for (uint32_t column = tile; column < tile_end; ++index_class) {
    const uint32_t run_end = std::min(tile_end, classes[index_class].end);
    const bool partner = index_class >= partners.class_begin && index_class < partners.class_end;
    const int64_t required = partner ? required_[index_class] : unreachable;
    std::fill(tile_required_.begin() + (column - tile), tile_required_.begin() + (run_end - tile), required);
    column = run_end;
  }
}

// Appends the candidates of all rows with the columns [tile, tile_end). `begin` is the first row.
void BitmapProber::filter_tile(uint32_t begin, uint32_t tile, uint32_t tile_end) {
  stop_.check();
  std::fill(tile_required_.begin(), tile_required_.end(), unreachable);
  for (uint32_t column = tile; column < tile_end; ++column)
    tile_excess_[column - tile] = table_->excess(column);
  const size_t words = table_->layout().words;
  uint32_t loaded = UINT32_MAX;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row &row = rows_[i];
    const uint32_t last = std::min(row.end, tile_end);
    if (row.first >= tile_end || last <= tile) continue;
    if (row.probe_class != loaded) {
      load_required(row.probe_class, tile, tile_end);
      loaded = row.probe_class;
    }
    const size_t blocks = (last - tile + signature_block - 1) / signature_block;
    const SignatureRow comparison{row_words_.data() + i * words, row.excess,
                                  table_->block_of(tile),        tile_excess_.data(),
                                  tile_required_.data(),         blocks};
    const size_t found = filter_row(comparison, words, hits_.data());
    for (size_t h = 0; h < found; ++h) {
      const uint32_t partner = tile + hits_[h];
      if (partner >= last) break;
      const auto required = static_cast<uint32_t>(tile_required_[hits_[h]]);
      candidates_.push_back({begin + static_cast<uint32_t>(i), partner, required});
    }
  }
}

void BitmapProber::verify(JoinCounters &counters) {
  constexpr size_t check_interval = 256;
  const SetCollection &probes = problem_.probe;
  const SetCollection &partners = problem_.index;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i % check_interval == 0) stop_.check();
    const Candidate &candidate = candidates_[i];
    if (!sink_.wants(candidate.probe, candidate.partner, counters)) continue;
    ++counters.verified;
    const uint32_t overlap = bounded_overlap(probes.begin(candidate.probe), probes.stored(candidate.probe),
                                             partners.begin(candidate.partner),
                                             partners.stored(candidate.partner), 0, candidate.required);
    if (overlap < candidate.required) continue;
    ++counters.output;
    sink_.emit(candidate.probe, candidate.partner, overlap);
  }
  counters.after_bitmap += candidates_.size();
  candidates_.clear();
}

}  // namespace simjoin
