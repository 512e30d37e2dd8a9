// The memory that the computations of all processes of a server draw together.
#pragma once

#include <atomic>
#include <cstddef>

namespace simjoin {

// What is drawn. It is all zeros at first.
struct MemoryAccount {
  std::atomic<size_t> drawn;
  // What the system has while nothing is drawn, as far as it is known. Memory that is drawn, and maybe not
  // yet used, is in it.
  std::atomic<size_t> whole;
};

// Names the account, which all processes of a server share. Null, as at first: the process has its own.
void set_memory_account(MemoryAccount *shared);

// Sets the most that is drawn together, in bytes; 0 is as much as the system has.
void set_server_memory(size_t most);

// Every computation can have this much.
inline constexpr size_t least_draw = size_t{16} << 20;

// Memory that a computation has drawn, for as long as the object lives.
class DrawnMemory {
 public:
  // Draws up to `asked` bytes: at most half of what is left of the `available` ones that the system has, and
  // of the most that may be drawn. Processes that share no account may all come at once, and draw an eighth.
  DrawnMemory(size_t asked, size_t available);
  ~DrawnMemory() { give_back(); }
  DrawnMemory(const DrawnMemory &) = delete;
  DrawnMemory &operator=(const DrawnMemory &) = delete;

  size_t bytes() const { return bytes_; }
  // Ends the draw early.
  void give_back();

 private:
  size_t bytes_;
};

}  // namespace simjoin
