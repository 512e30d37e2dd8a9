// Joins by bands compare tokens of every type exactly.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/lsh/lsh_join.hpp"
#include "unit/drive.hpp"
#include "unit/random_sets.hpp"
#include "unit/typed_tokens.hpp"

namespace simjoin::test {
namespace {

// So many bands of one row miss no pair.
template <typename Token>
void expect_all_pairs(const Input<int32_t> &ints) {
  const Input<Token> input = with_tokens<Token>(ints);
  for (const size_t limit : {size_t{1} << 30, size_t{1}}) {
    LshSpec spec;
    spec.threshold = 0.6;
    spec.self_join = input.self_join;
    spec.permutations = 64;
    spec.plan = {64, 1};
    spec.threads = 2;
    spec.memory_limit = limit;
    const auto join = make_lsh_join(spec);
    feed(*join, input);
    EXPECT_EQ(difference(Oracle<Token>(input).join(spec.measure, spec.threshold), pull(*join)), "") << limit;
  }
}

TEST(LshTokens, ComparesTokensOfAllTypes) {
  for (const Shape &shape : all_shapes) {
    for (const Input<int32_t> &input : {self_input(shape, 73), two_sided_input(shape, 74)}) {
      expect_all_pairs<int64_t>(input);
      expect_all_pairs<std::string>(input);
    }
  }
}

// Empty sets come between sets of texts as sets of any type.
TEST(LshTokens, CountsTheRowsOfEmptySets) {
  const Input<std::string> texts = with_tokens<std::string>(self_input(all_shapes[0], 75));
  const Texts no_texts;
  for (const size_t limit : {size_t{1} << 30, size_t{1}}) {
    Input<std::string> input;
    input.self_join = true;
    LshSpec spec;
    spec.threshold = 0.6;
    spec.self_join = true;
    spec.permutations = 64;
    spec.plan = {64, 1};
    spec.threads = 3;
    spec.memory_limit = limit;
    const auto join = make_lsh_join(spec);
    const auto add_empty = [&] {
      const size_t row = input.left.size();
      if (row % 3 == 0) add_set(*join, Side::left, std::span<const int32_t>());
      if (row % 3 == 1) add_set(*join, Side::left, std::span<const int64_t>());
      if (row % 3 == 2) add_set(*join, Side::left, std::span<const std::string_view>());
      if (join->wants_spill_file()) join->set_spill_file(unlinked_file(), UINT64_MAX);
      input.left.emplace_back();
    };
    for (int i = 0; i < 7; ++i) add_empty();
    for (int times = 0; times < 4; ++times) {
      for (const Texts &set : texts.left) {
        if (set.empty()) {
          add_empty();
          continue;
        }
        input.left.push_back(set);
        add_row(*join, Side::left, set);
      }
      add_empty();
    }
    EXPECT_EQ(difference(Oracle<std::string>(input).join(spec.measure, spec.threshold), pull(*join)), "")
        << limit;
  }
}

TEST(LshTokens, RefusesTokensOfTwoTypes) {
  const int32_t small[] = {1};
  const int64_t large[] = {1};
  const std::string_view text[] = {"1"};
  for (const bool verify : {true, false}) {
    LshSpec spec;
    spec.verify = verify;
    const auto expect_refused = [&](auto &first, auto &second) {
      const auto join = make_lsh_join(spec);
      add_set(*join, Side::left, std::span<const int64_t>());
      add_set(*join, Side::left, std::span(first));
      add_set(*join, Side::right, std::span<const std::string_view>());
      try {
        add_set(*join, Side::right, std::span(second));
        ADD_FAILURE() << "no error";
      } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      }
    };
    expect_refused(small, large);
    expect_refused(text, large);
    expect_refused(large, text);
  }
}

}  // namespace
}  // namespace simjoin::test
