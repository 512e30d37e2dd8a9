// A call of a function of the GPU in the service: arrays in, arrays out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/memory.hpp"
#include "core/service/served_work.hpp"

namespace simjoin {

// What a function has of its call. The arrays are in this process alone, so what was checked stays so.
struct Call {
  const SentCall &sent;
  std::vector<Buffer<char>> &arrays;
  ServiceHost &host;
  WorkerPool &pool;
  MemoryCounter &memory;
  std::shared_ptr<void> &state;  // what the function has set up for the calls that follow this one
  std::function<void(uint32_t array, std::span<const char> bytes)> give;  // bytes of a result's array

  // Returns by what a state of this kind is kept, which depends on the first numbers.
  std::string key(const char *kind, size_t numbers) const;
  // Returns an array of the session.
  template <class T>
  std::span<const T> array(size_t number) const {
    if (number >= arrays.size() || arrays[number].size() % sizeof(T) != 0) throw_senseless();
    const Buffer<char> &bytes = arrays[number];
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // The same as a buffer; the call has it no more.
  template <class T>
  Buffer<T> take(size_t number) const {
    array<T>(number);
    return std::move(arrays[number]).template as<T>();
  }
  template <class T>
  void give_all(uint32_t array, const Buffer<T> &values) const {
    give(array, {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)});
  }
};

// The arrays come once it is the call's turn. Whatever the session sends more is an Error. Calls of a
// function may follow one another under one number; each waits for its turn.
class ServedCall final : public ServedWork {
 public:
  ServedCall(ServiceHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number, const SentCall &call);

  void call_again(const SentCall &call);
  void add_bytes(std::span<const char> bytes) override;

 private:
  Admission &admission() override;
  void work(Admission::Turn &turn) override;
  void release() noexcept override;
  void announce(const SentCall &call);
  void serve(Admission::Turn &turn, std::optional<WorkerPool> &pool);
  void end_of_call();
  bool complete() const { return filling_ == arrays_.size(); }
  void skip_filled();

  std::shared_ptr<void> state_;  // of the function, from call to call
  // Guarded by mutex_ until all is there.
  SentCall sent_;
  std::vector<Buffer<char>> arrays_;
  size_t filling_ = 0;     // the array whose bytes come next
  uint64_t messages_ = 0;  // with bytes, so far
  bool admitted_ = false, done_ = false, released_ = false, out_of_memory_ = false;
};

}  // namespace simjoin
