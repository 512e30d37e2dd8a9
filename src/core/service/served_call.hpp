// A call of a function of the GPU in the service: arrays in, arrays out.
#pragma once

#include <functional>
#include <memory>
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

// The arrays come once it is the call's turn. Whatever the session sends more is an Error.
class ServedCall final : public ServedWork {
 public:
  ServedCall(ServiceHost &host, std::shared_ptr<MessageSocket> socket, uint32_t number, const SentCall &call);

  void add_bytes(std::span<const char> bytes) override;

 private:
  void work(Admission::Turn &turn) override;
  void release() noexcept override;
  bool complete() const { return filling_ == arrays_.size(); }
  void skip_filled();

  const SentCall sent_;
  // Guarded by mutex_ until all is there.
  std::vector<Buffer<char>> arrays_;
  size_t filling_ = 0;     // the array whose bytes come next
  uint64_t messages_ = 0;  // with bytes, so far
  bool admitted_ = false, released_ = false, out_of_memory_ = false;
};

}  // namespace simjoin
