#include "core/sets/vocabulary.hpp"

#include "core/base/error.hpp"
#include "core/base/interruption.hpp"

namespace simjoin {

void Vocabulary::throw_mixed() {
  throw Error(ErrorKind::invalid_argument, "the sets of one join must have tokens of one type");
}

IntegerInterner &Vocabulary::integers() {
  if (texts_) throw_mixed();
  if (!integers_) integers_.emplace(self_join_, !small_, memory_);
  return *integers_;
}

TextNumbers &Vocabulary::texts() {
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

uint32_t Vocabulary::intern(Side, std::span<const std::string_view> tokens, uint32_t *ids) {
  number(tokens, ids);
  return distinct_(ids, tokens.size(), check_interruption);
}

void Vocabulary::number(std::span<const std::string_view> tokens, uint32_t *numbers) {
  number_texts(texts(), tokens, piece_, numbers);
}

uint32_t Vocabulary::distinct_tokens() const {
  if (integers_) return integers_->ids();
  return texts_ ? texts_->size() : 0;
}

size_t Vocabulary::bytes_with(size_t tokens) const {
  if (integers_) return integers_->bytes_with(tokens);
  return texts_ ? texts_->bytes_with(tokens) : 0;
}

size_t Vocabulary::bytes_of(const VocabularySize &size, bool self_join) {
  if (size.texts)
    return TextNumbers::table_bytes(size.tokens) + TextStore::bytes_of(size.tokens) + size.text_bytes;
  const size_t grown = size.tokens * sizeof(uint32_t) * (self_join ? 1 : 2) +
                       IntegerInterner::direct_bytes(size.tokens, size.least, size.greatest);
  // Arrays that grow have room for a quarter more.
  return IntegerInterner::table_bytes(size.tokens) + grown + grown / 4;
}

TokenList Vocabulary::take_tokens(bool small) {
  small_ |= small;
  if (texts_) {
    const uint32_t size = texts_->size();
    std::unique_ptr<TextStore> texts = texts_->take_texts();
    release();
    return TokenList(std::move(texts), size, memory_);
  }
  Buffer<int64_t> values(memory_);
  if (integers_) values = integers_->take_values(memory_);
  release();
  return TokenList(std::move(values));
}

Ranking Vocabulary::take_ranking(WorkerPool &pool) {
  Ranking ranking(memory_);
  if (integers_) ranking = rank_tokens(*integers_, pool, memory_);
  release();
  return ranking;
}

void Vocabulary::release() {
  integers_.reset();
  texts_.reset();
  piece_ = {};
}

}  // namespace simjoin
