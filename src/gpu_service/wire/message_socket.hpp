// A socket of the Unix domain that keeps messages whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace simjoin {

enum class Sent { yes, full, broken };

class MessageSocket {
 public:
  explicit MessageSocket(int descriptor) : descriptor_(descriptor) {}
  ~MessageSocket();
  MessageSocket(const MessageSocket &) = delete;
  MessageSocket &operator=(const MessageSocket &) = delete;

  // Returns a socket at this path that takes connections; only this process's user may connect. Throws Error
  // io_failure.
  static std::unique_ptr<MessageSocket> listen_at(const std::string &path);
  // Returns a connection to such a socket; null if nobody takes connections there.
  static std::unique_ptr<MessageSocket> connect_to(const std::string &path);
  // Waits for the next connection, and returns null once end() was called.
  std::unique_ptr<MessageSocket> accept();

  // Sends a message of two parts, with a descriptor if that is not negative. Waits for room if `waits`.
  // Any thread may send.
  Sent send(std::span<const char> head, std::span<const char> payload, bool waits, int descriptor = -1);

  // Receives a message into `buffer`, as far as it fits, and returns its size; 0 at the end, -1 if there is
  // none and `waits` is false. A descriptor that came with it goes to `descriptor` (may be null).
  ptrdiff_t receive(std::span<char> buffer, bool waits, int *descriptor = nullptr);

  // Waits until there is a message, or room for one if `for_room`. Returns false after `milliseconds`.
  bool wait(int milliseconds, bool for_room);

  // Ends the connection: who waits, or comes later, finds the end.
  void end() noexcept;
  // The other side finds the end. What it sends still arrives here.
  void end_sending() noexcept;

 private:
  const int descriptor_;
};

}  // namespace simjoin
