#include "core/vocabulary.hpp"

#include "core/error.hpp"

namespace simjoin {
namespace {

[[noreturn]] void throw_mixed() {
  throw Error(ErrorKind::invalid_argument, "the sets of one join must have tokens of one type");
}

}  // namespace

IntegerInterner &Vocabulary::integers() {
  if (texts_) throw_mixed();
  if (!integers_) integers_.emplace(memory_);
  return *integers_;
}

TextInterner &Vocabulary::texts() {
  if (integers_) throw_mixed();
  if (!texts_) texts_.emplace(memory_);
  return *texts_;
}

uint32_t Vocabulary::intern(Side side, std::span<const int32_t> tokens, uint32_t *ids) {
  return integers().intern(side, tokens, ids);
}

uint32_t Vocabulary::intern(Side side, std::span<const int64_t> tokens, uint32_t *ids) {
  return integers().intern(side, tokens, ids);
}

uint32_t Vocabulary::intern(Side side, std::span<const std::string_view> tokens, uint32_t *ids) {
  return texts().intern(side, tokens, ids);
}

uint32_t Vocabulary::distinct_tokens() const {
  if (integers_) return integers_->frequencies().ids();
  return texts_ ? texts_->frequencies().ids() : 0;
}

Ranking Vocabulary::rank(bool self_join, WorkerPool &pool) const {
  if (integers_) return rank_tokens(*integers_, self_join, pool, memory_);
  if (texts_) return rank_tokens(*texts_, self_join, pool, memory_);
  return Ranking(memory_);
}

void Vocabulary::release() {
  integers_.reset();
  texts_.reset();
}

}  // namespace simjoin
