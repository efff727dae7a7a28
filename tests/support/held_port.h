// HeldPort: a free port of the loopback that no other process gets while the object exists. A
// nats-server can still listen on the port, because both sides set SO_REUSEADDR.
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/check.h"
#include "os/descriptor.h"

namespace millrace {

class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(socket_.fd(), any, size) == 0 && ::getsockname(socket_.fd(), any, &size) == 0);
    port_ = ntohs(address.sin_port);
  }

  uint16_t port() const { return port_; }
  /// The socket, with which a test may listen on the port.
  int fd() const { return socket_.fd(); }

 private:
  Descriptor socket_;
  uint16_t port_ = 0;
};

}  // namespace millrace
