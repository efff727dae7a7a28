#include "functions/ready_probe.h"

#include <cerrno>
#include <tuple>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace millrace {
namespace {

/// If no process listens in the container, the runtime's proxy closes the connection within this
/// time, because proxy and container are on one machine.
constexpr Duration kStays{100};
constexpr Duration kPause{50};

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

ReadyProbe::ReadyProbe() : hold_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  ::setsockopt(hold_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(hold_.fd(), any, size) == 0 && ::getsockname(hold_.fd(), any, &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
}

bool ReadyProbe::poll(Duration now) {
  if (!attempt_) {
    if (now < next_) return false;
    attempt_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in address = loopback(port_);
    std::ignore =
        ::connect(attempt_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    connected_.reset();
  }
  pollfd state{.fd = attempt_.fd(), .events = POLLIN | POLLOUT, .revents = 0};
  if (::poll(&state, 1, 0) <= 0) return false;
  if ((state.revents & (POLLERR | POLLHUP | POLLIN)) != 0) {
    attempt_.reset();
    next_ = now + kPause;
    return false;
  }
  if (!connected_) connected_ = now;
  if (now - *connected_ < kStays) return false;
  attempt_.reset();  // an open connection blocks a service that accepts one at a time
  return true;
}

}  // namespace millrace
