// A join that may run on a GPU. Sets are recorded until it is clear which device pays. The CPU replaces a GPU
// that fails, without a difference in the result.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "core/added_rows.hpp"
#include "core/base/background_task.hpp"
#include "core/base/error.hpp"
#include "core/base/memory.hpp"
#include "core/base/packed_texts.hpp"
#include "core/device/device_costs.hpp"
#include "core/device/gpu_attempt.hpp"
#include "core/device/handed_over_pairs.hpp"
#include "core/join.hpp"
#include "core/sets/set_blocks.hpp"
#include "core/sets/text_feed.hpp"
#include "core/sets/vocabulary.hpp"

namespace simjoin {

// The join of Device::automatic and Device::gpu. Under `automatic` it keeps the sets beside a GPU, up to the
// engine's memory limit. It also keeps the pairs that the GPU gave, up to as much again. Once there are more
// pairs, a failure of the GPU is an error, as it is under `gpu`.
class FailoverEngine final : public JoinEngine {
 public:
  explicit FailoverEngine(const JoinSpec &spec);

  void add(Side side, const SetSlice &rows) override;
  bool wants_spill_file() const override { return engine_ && engine_->wants_spill_file(); }
  void set_spill_file(int descriptor, uint64_t limit) override { engine_->set_spill_file(descriptor, limit); }
  StepResult step(std::chrono::microseconds budget, Batch &out) override;
  uint32_t set_size(Side side, uint32_t row) const override { return engine_->set_size(side, row); }
  JoinStats stats() const override;
  double share_done() const override { return engine_ ? engine_->share_done() : 0; }
  std::unique_ptr<Notice> take_notice() override { return attempt_.take_notice(); }

 private:
  void set_type(TokenType type);
  void add_texts(Side side, const PackedTexts &set);
  void record(Side side, SetSlice rows);
  void record_numbered(TextFeed::Time until);
  bool record_all_texts(TextFeed::Time until);
  void look_if_due();
  void look_around();
  void keep_to_limit();
  void feed(size_t bytes);
  void close_blocks();
  double saved_on_gpu(double rows = 0) const;
  bool worth_a_gpu(double rows = 0) const;
  void try_gpu();
  void go_to_cpu(std::string reason);
  bool leave_gpu(const Error &error);
  bool feeds_texts() const { return engine_ && !gpu_ && type_ == TokenType::text && !gets_numbers_; }
  void feed_block();
  void feed_texts(const SetBlock &block);
  void remember(const Batch &batch);

  const JoinSpec spec_;
  MemoryCounter memory_;
  std::optional<TokenType> type_;  // of the first set that is not empty
  Vocabulary vocabulary_;          // of recorded text tokens, until no engine needs more than their ids
  std::optional<TextFeed> feed_;   // of texts that are not recorded yet
  TextPacker texts_;
  AddedRows rows_;
  uint64_t tokens_ = 0;
  uint32_t rows_unseen_ = 0;  // rows and their bytes that were recorded since the last look
  size_t bytes_unseen_ = 0;
  bool looked_ = false;  // for a GPU's driver
  BlockWriter writer_;
  // complete blocks: beside a GPU those that are kept, otherwise those to feed
  std::deque<SharedBlock> blocks_;
  size_t fed_ = 0;                      // the number of blocks_ that the engine has got
  std::unique_ptr<JoinEngine> engine_;  // null while the choice is open
  bool gpu_ = false;                    // engine_ runs on a GPU
  bool keeps_ = true;                   // sets and pairs are kept in case the GPU fails
  bool direct_ = false;          // on the CPU, with all recorded sets fed: sets go straight to the engine
  bool ended_ = false;           // all sets have been added
  bool gets_numbers_ = false;    // the CPU's engine, made after all sets had come, gets those of texts
  HandedOverPairs handed_over_;  // that came from the GPU; sorted once it is given up
  GpuSlowdown slowdown_;         // of the GPU, once it has been found
  std::string refused_;          // why the join does not run on a GPU
  GpuAttempt attempt_;
  GpuStart start_;
  // sorts handed_over_; last, so that it ends before what it works on
  std::unique_ptr<BackgroundTask> sorting_;
};

}  // namespace simjoin
