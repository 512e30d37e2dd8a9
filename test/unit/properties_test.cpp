// Properties that hold for every input, checked on random inputs that shrink to small counterexamples.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "unit/drive.hpp"
#include "unit/random_sets.hpp"

namespace simjoin::test {
namespace {

// Returns a random collection over so few tokens that pairs are common.
IntSets any_sets() {
  const int32_t universe = *rc::gen::element(6, 20, 60);
  return *rc::gen::container<IntSets>(rc::gen::container<IntSet>(rc::gen::inRange(0, universe)));
}

Input<int32_t> any_input() {
  Input<int32_t> input;
  input.self_join = *rc::gen::arbitrary<bool>();
  input.left = any_sets();
  if (!input.self_join) input.right = any_sets();
  return input;
}

// Returns a random specification. Its threshold is a fraction that some pairs meet exactly.
JoinSpec any_spec() {
  const Measure measure =
      *rc::gen::elementOf(std::vector<Measure>(std::begin(all_measures), std::end(all_measures)));
  const int whole = *rc::gen::inRange(1, 21);
  const int part = *rc::gen::inRange(1, whole + 1);
  const double threshold = measure == Measure::overlap ? part : static_cast<double>(part) / whole;
  const Algorithm algorithm =
      *rc::gen::elementOf(std::vector<Algorithm>(std::begin(all_algorithms), std::end(all_algorithms)));
  return make_spec(algorithm, measure, threshold, *rc::gen::inRange(1, 4));
}

uint64_t any_seed() {
  return *rc::gen::arbitrary<uint64_t>();
}

// Returns a random order of the rows: the old row at each new place.
std::vector<uint32_t> any_order(size_t rows) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  RandomSets(any_seed()).shuffle(order);
  return order;
}

IntSets reordered(const IntSets &sets, const std::vector<uint32_t> &order) {
  IntSets result;
  for (uint32_t row : order) result.push_back(sets[row]);
  return result;
}

RC_GTEST_PROP(Property, EqualsTheNaiveJoin, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec spec = any_spec();
  RC_ASSERT(difference(Oracle<int32_t>(input).join(spec.measure, spec.threshold), run(spec, input)) == "");
}

RC_GTEST_PROP(Property, RowOrderDoesNotMatter, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec spec = any_spec();
  const std::vector<uint32_t> left_order = any_order(input.left.size());
  const std::vector<uint32_t> right_order = input.self_join ? left_order : any_order(input.right.size());
  Input<int32_t> moved = input;
  moved.left = reordered(input.left, left_order);
  if (!input.self_join) moved.right = reordered(input.right, right_order);
  std::vector<Pair> back;
  for (const Pair &pair : run(spec, moved)) {
    Pair original{left_order[pair.left], right_order[pair.right], pair.overlap};
    if (input.self_join && original.left > original.right) std::swap(original.left, original.right);
    back.push_back(original);
  }
  std::sort(back.begin(), back.end());
  RC_ASSERT(difference(run(spec, input), back) == "");
}

RC_GTEST_PROP(Property, TokenOrderAndRepetitionDoNotMatter, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec spec = any_spec();
  Input<int32_t> changed = input;
  RandomSets random(any_seed());
  for (IntSets *sets : {&changed.left, &changed.right}) {
    for (IntSet &set : *sets) {
      const IntSet repeated(set.begin(), set.begin() + static_cast<ptrdiff_t>(set.size() / 2));
      set.insert(set.end(), repeated.begin(), repeated.end());
      random.shuffle(set);
    }
  }
  RC_ASSERT(difference(run(spec, input), run(spec, changed)) == "");
}

RC_GTEST_PROP(Property, NamesOfTokensDoNotMatter, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec spec = any_spec();
  const auto factor = *rc::gen::arbitrary<uint32_t>() | 1u;  // odd: one-to-one modulo 2^32
  const auto shift = *rc::gen::arbitrary<uint32_t>();
  Input<int32_t> renamed = input;
  for (IntSets *sets : {&renamed.left, &renamed.right}) {
    for (IntSet &set : *sets) {
      for (int32_t &token : set) token = static_cast<int32_t>(static_cast<uint32_t>(token) * factor + shift);
    }
  }
  RC_ASSERT(difference(run(spec, input), run(spec, renamed)) == "");
}

RC_GTEST_PROP(Property, SwappingTheSidesMirrorsThePairs, ()) {
  const Input<int32_t> input{any_sets(), any_sets(), false};
  const JoinSpec spec = any_spec();
  JoinSpec other = spec;
  other.measure = reversed(spec.measure);
  std::vector<Pair> mirrored;
  for (const Pair &pair : run(other, Input<int32_t>{input.right, input.left, false})) {
    mirrored.push_back({pair.right, pair.left, pair.overlap});
  }
  std::sort(mirrored.begin(), mirrored.end());
  RC_ASSERT(difference(run(spec, input), mirrored) == "");
}

RC_GTEST_PROP(Property, AlgorithmsAgree, ()) {
  const Input<int32_t> input = any_input();
  JoinSpec spec = any_spec();
  const std::vector<Pair> expected = run(spec, input);
  for (Algorithm algorithm : all_algorithms) {
    spec.algorithm = algorithm;
    RC_ASSERT(difference(expected, run(spec, input)) == "");
  }
}

RC_GTEST_PROP(Property, AHigherThresholdGivesASubset, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec low = any_spec();
  JoinSpec high = low;
  high.threshold *= 1.0 + *rc::gen::inRange(0, 100) / 100.0;
  const std::vector<Pair> more = run(low, input), fewer = run(high, input);
  RC_ASSERT(std::includes(more.begin(), more.end(), fewer.begin(), fewer.end()));
}

RC_GTEST_PROP(Property, ASelfJoinIsHalfOfTheJoinWithACopy, ()) {
  const IntSets sets = any_sets();
  const JoinSpec spec = any_spec();
  std::set<Pair> pairs;  // an asymmetric measure may give only one of the two orders
  for (const Pair &pair : run(spec, Input<int32_t>{sets, sets, false})) {
    if (pair.left != pair.right)
      pairs.insert({std::min(pair.left, pair.right), std::max(pair.left, pair.right), pair.overlap});
  }
  const std::vector<Pair> half(pairs.begin(), pairs.end());
  RC_ASSERT(difference(half, run(spec, Input<int32_t>{sets, {}, true})) == "");
}

// Rows that share no tokens with the others change frequencies, sizes, blocks and threads, but no pair.
RC_GTEST_PROP(Property, UnrelatedRowsDoNotMatter, ()) {
  const Input<int32_t> input = any_input();
  const JoinSpec spec = any_spec();
  RC_ASSERT(difference(run(spec, input), run(spec, with_unrelated_rows(input))) == "");
}

}  // namespace
}  // namespace simjoin::test
