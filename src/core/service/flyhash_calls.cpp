#include "core/service/flyhash_calls.hpp"

#include <algorithm>
#include <string>

namespace simjoin {
namespace {

// The numbers: dimension, hash length, winners, projection and seed of the shape. The array: the levels. The
// result: the winners.
class ServiceFlyHashWork final : public FlyHashWork {
 public:
  ServiceFlyHashWork(Connect connect, const FlyShape &shape, size_t memory_limit)
      : connect_(std::move(connect)), shape_(shape), memory_limit_(memory_limit) {}

  void hash(const uint16_t *levels, size_t vectors, uint32_t *winners, WorkerPool &pool) override {
    if (vectors == 0) return;
    ServiceCall call(connect_, Function::flyhash, memory_limit_);
    call.number(shape_.dimension).number(shape_.hash_length).number(shape_.winners);
    call.number(shape_.projection).number(shape_.seed);
    call.input(std::span(levels, vectors * shape_.dimension)).output(winners, vectors * shape_.winners);
    call.run(pool.stop());
    const auto is_position = [&](uint32_t winner) { return winner < shape_.hash_length; };
    if (!std::all_of(winners, winners + vectors * shape_.winners, is_position)) call.throw_ended();
  }

 private:
  const Connect connect_;
  const FlyShape shape_;
  const size_t memory_limit_;
};

FlyShape shape_of(const Call &call) {
  const auto number = [&](size_t i, uint64_t most) {
    const uint64_t value = call.sent.numbers[i];
    if (value == 0 || value > most) throw_senseless();
    return static_cast<uint32_t>(value);
  };
  FlyShape shape;
  shape.dimension = number(0, max_fly_dimension);
  shape.hash_length = number(1, max_fly_hash_length);
  shape.winners = number(2, shape.hash_length);
  shape.projection = number(3, std::min<uint64_t>(shape.dimension, max_fly_projected / shape.hash_length));
  shape.seed = call.sent.numbers[4];
  return shape;
}

}  // namespace

std::unique_ptr<FlyHashWork> ServiceFlyHash::open(const FlyShape &shape, size_t memory_limit) {
  return std::make_unique<ServiceFlyHashWork>(connect_, shape, memory_limit);
}

CallResult serve_flyhash(const Call &call) {
  const FlyShape shape = shape_of(call);
  const auto levels = call.array<uint16_t>(0);
  if (levels.empty() || levels.size() % shape.dimension != 0 ||
      *std::max_element(levels.begin(), levels.end()) > fly_most_level)
    throw_senseless();
  const size_t vectors = levels.size() / shape.dimension;
  Buffer<uint32_t> winners(call.memory, vectors * shape.winners);
  const std::string key = call.key("flyhash", 5);
  auto work = std::static_pointer_cast<FlyHashWork>(call.host.take(key));
  if (!work) {
    FlyHashDevice *device = call.host.backend().flyhash();
    if (device == nullptr) throw Error(ErrorKind::device_unavailable, "the GPU service has no FlyHash");
    work = device->open(shape, call.sent.device_memory);
  }
  work->hash(levels.data(), vectors, winners.data(), call.pool);
  call.host.keep(key, std::move(work));
  call.give_all(0, winners);
  return {};
}

}  // namespace simjoin
