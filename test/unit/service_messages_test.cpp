// What the GPU service does with messages that no session of its own would send.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "unit/process.hpp"
#include "unit/random_sets.hpp"
#include "unit/raw_session.hpp"
#include "unit/service_drive.hpp"

namespace simjoin::test {
namespace {

TEST(ServiceMessages, SenselessOnesHarmNobodyElse) {
  RunningService server;
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    RawSession raw(server.path);
    const bool has_piece = raw.take_piece() != no_piece;
    if (random() % 2 == 0) raw.begin(1);
    for (int i = 0; i < 8; ++i) {
      Request request;
      request.ask = static_cast<Ask>(random() % 16);
      request.work = random() % 3;
      request.piece = has_piece && random() % 2 == 0 ? static_cast<uint32_t>(random() % 16) : no_piece;
      request.rows =
          random() % 3 == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(random() % 9);
      request.right = random() % 3;
      request.wide = random() % 3;
      request.tokens_at = random() % 3 == 0 ? random() : random() % 3 * 64;
      request.token_count = random() % 3 == 0 ? uint64_t{random()} << 20 : random() % 9;
      std::vector<char> payload(random() % 200);
      for (char &byte : payload) byte = static_cast<char>(random() % 4);
      raw.say(request, payload);
    }
    if (random() % 4 == 0) raw.say_bytes(std::vector<char>(random() % 30));
  }
  EXPECT_TRUE(server.comes_to_rest());
  ServiceSession session(server.path);
  const Input<int32_t> input = self_input(all_shapes[0], 1);
  const auto pairs = join_on(Device::gpu, make_spec(Algorithm::automatic, Measure::jaccard, 0.6), input);
  EXPECT_EQ(difference(Oracle(input).join(Measure::jaccard, 0.6), pairs), "");
}

TEST(ServiceMessages, BlocksMustAddUp) {
  const auto answer = [](const Request &asked, bool own_piece = true, bool self_join = false) {
    RunningService server;
    RawSession raw(server.path), other(server.path);
    const uint32_t piece = raw.take_piece();
    const uint32_t of_other = other.take_piece();
    raw.begin(1, self_join);
    EXPECT_EQ(raw.hear().answer, simjoin::Answer::admitted);
    Request request = asked;
    request.ask = Ask::block;
    request.work = 1;
    request.piece = own_piece ? piece : of_other;
    raw.say(request);
    raw.say({Ask::status});
    return raw.hear().answer;
  };
  // The memory is zero: rows without tokens.
  const Request good{Ask::block, 1, 0, 3, 1, 0, 64, 0};
  EXPECT_EQ(answer(good), simjoin::Answer::status);
  EXPECT_EQ(answer(good, false), simjoin::Answer::error);
  EXPECT_EQ(answer(good, true, true), simjoin::Answer::error);  // a self-join has no right side
  const auto changed = [&](auto change) {
    Request request = good;
    change(request);
    return answer(request);
  };
  EXPECT_EQ(changed([](Request &r) { r.token_count = 1; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.rows = 0; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.rows = 17; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.tokens_at = HostPieces::usual_bytes + 8; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.tokens_at = 60; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.right = 2; }), simjoin::Answer::error);
  EXPECT_EQ(changed([](Request &r) { r.wide = 2; }), simjoin::Answer::error);
}

// The session may still read its sets, so they must not be overwritten.
TEST(ServiceMessages, AFaultySessionKeepsItsPieces) {
  RunningService server;
  auto raw = std::make_unique<RawSession>(server.path);
  const uint32_t piece = raw->take_piece();
  raw->say_bytes(std::vector<char>(5));
  raw->say({Ask::piece});
  RawSession other(server.path);
  for (int i = 0; i < 20; ++i) EXPECT_NE(other.take_piece(), piece);
  EXPECT_EQ(server.service.status().memory_used / HostPieces::usual_bytes, 1 + 3u);
  raw.reset();
  comes_true([&] { return server.service.status().memory_used / HostPieces::usual_bytes <= 3; });
  EXPECT_EQ(server.service.status().memory_used / HostPieces::usual_bytes, 3u);
}

TEST(ServiceMessages, OnlyTheOwnerMayConnect) {
  RunningService server;
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(server.path).permissions(), perms::owner_read | perms::owner_write);
}

}  // namespace
}  // namespace simjoin::test
