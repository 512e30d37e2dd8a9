#include "gpu_service/wire/message_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace simjoin {
namespace {

constexpr int waiting_connections = 128;

// Returns whether the path fits.
bool fill_address(const std::string &path, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  return true;
}

[[noreturn]] void throw_socket_error(const char *what, const std::string &path) {
  throw Error(ErrorKind::io_failure, std::string(what) + " the socket " + path + ": " + std::strerror(errno));
}

}  // namespace

MessageSocket::~MessageSocket() {
  close(descriptor_);
}

std::unique_ptr<MessageSocket> MessageSocket::listen_at(const std::string &path) {
  sockaddr_un address;
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw_socket_error("could not make", path);
  auto made = std::make_unique<MessageSocket>(descriptor);
  if (!fill_address(path, address)) throw Error(ErrorKind::io_failure, "the path " + path + " is too long");
  unlink(path.c_str());
  const mode_t mask = umask(0177);  // nobody else may connect, not even for a moment
  const int bound = bind(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address);
  umask(mask);
  if (bound != 0) throw_socket_error("could not name", path);
  if (listen(descriptor, waiting_connections) != 0) throw_socket_error("could not listen at", path);
  return made;
}

std::unique_ptr<MessageSocket> MessageSocket::connect_to(const std::string &path) {
  sockaddr_un address;
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return nullptr;
  auto made = std::make_unique<MessageSocket>(descriptor);
  if (!fill_address(path, address)) return nullptr;
  if (connect(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) return nullptr;
  // Waiting is decided by each call.
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return made;
}

std::unique_ptr<MessageSocket> MessageSocket::accept() {
  for (;;) {
    const int descriptor = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor >= 0) return std::make_unique<MessageSocket>(descriptor);
    if (errno == EINVAL || errno == EBADF) return nullptr;
    // Too few descriptors, for example: the next try may find one.
    if (errno != EINTR && errno != ECONNABORTED) usleep(10'000);
  }
}

Sent MessageSocket::send(std::span<const char> head, std::span<const char> payload, bool waits,
                         int descriptor) {
  iovec parts[2] = {{const_cast<char *>(head.data()), head.size()},
                    {const_cast<char *>(payload.data()), payload.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  for (;;) {
    if (sendmsg(descriptor_, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)) >= 0) return Sent::yes;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? Sent::full : Sent::broken;
  }
}

ptrdiff_t MessageSocket::receive(std::span<char> buffer, bool waits, int *descriptor) {
  iovec part = {buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  for (;;) {
    const ssize_t size = recvmsg(descriptor_, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : 0;
    for (cmsghdr *rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
      if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
      int received;
      std::memcpy(&received, CMSG_DATA(rights), sizeof received);
      if (descriptor != nullptr && *descriptor < 0) {
        *descriptor = received;
      } else {
        close(received);
      }
    }
    return size;
  }
}

bool MessageSocket::wait(int milliseconds, bool for_room) {
  pollfd look = {descriptor_, static_cast<short>(POLLIN | (for_room ? POLLOUT : 0)), 0};
  return poll(&look, 1, milliseconds) > 0;
}

void MessageSocket::end() noexcept {
  shutdown(descriptor_, SHUT_RDWR);
}

void MessageSocket::end_sending() noexcept {
  shutdown(descriptor_, SHUT_WR);
}

}  // namespace simjoin
