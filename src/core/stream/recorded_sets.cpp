#include "core/stream/recorded_sets.hpp"

#include <span>
#include <vector>

#include "core/base/packed_texts.hpp"
#include "core/set_slices.hpp"

namespace simjoin {

void RecordedSets::release_sets() {
  ids_.release();
  ends_.release();
}

template <typename Token>
void RecordedSets::feed_integers(JoinEngine &engine, Side side) const {
  std::vector<Token> set;
  const uint32_t *id = ids_.data();
  for (const uint64_t end : ends_) {
    set.clear();
    for (; id != ids_.data() + end; ++id) set.push_back(static_cast<Token>(tokens_->integer(*id)));
    const auto size = static_cast<uint32_t>(set.size());
    engine.add(side, row_of(std::span<const Token>(set), size));
  }
}

void RecordedSets::feed_texts(JoinEngine &engine, Side side) const {
  TextPacker set;
  const uint32_t *id = ids_.data();
  for (const uint64_t end : ends_) {
    set.clear();
    for (; id != ids_.data() + end; ++id) set.add(tokens_->text(*id));
    const PackedTexts texts = set.texts();
    engine.add(side, row_of(texts));
  }
}

void RecordedSets::hand_over(JoinEngine &engine, Side side) {
  if (!tokens_) end();
  if (tokens_->texts()) {
    feed_texts(engine, side);
  } else if (wide_) {
    feed_integers<int64_t>(engine, side);
  } else {
    feed_integers<int32_t>(engine, side);
  }
  release_sets();
  tokens_.reset();
}

}  // namespace simjoin
