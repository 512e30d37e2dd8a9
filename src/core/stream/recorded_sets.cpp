#include "core/stream/recorded_sets.hpp"

#include <string_view>
#include <vector>

namespace simjoin {

void RecordedSets::release_sets() {
  ids_.release();
  ends_.release();
}

template <typename Token>
void RecordedSets::feed(JoinEngine &engine, Side side) const {
  std::vector<Token> set;
  const uint32_t *id = ids_.data();
  for (const uint64_t end : ends_) {
    set.clear();
    for (; id != ids_.data() + end; ++id) {
      tokens_->visit(*id, [&](const auto &token) {
        if constexpr (std::is_convertible_v<decltype(token), Token>) set.push_back(static_cast<Token>(token));
      });
    }
    engine.add(side, std::span<const Token>(set));
  }
}

void RecordedSets::hand_over(JoinEngine &engine, Side side) {
  if (!tokens_) end();
  if (tokens_->texts()) {
    feed<std::string_view>(engine, side);
  } else if (wide_) {
    feed<int64_t>(engine, side);
  } else {
    feed<int32_t>(engine, side);
  }
  release_sets();
  tokens_.reset();
}

}  // namespace simjoin
