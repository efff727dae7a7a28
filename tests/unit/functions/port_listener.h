// PortListener: listens on a port of this machine, like a container.
#pragma once

#include <cstdint>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "os/descriptor.h"

namespace millrace {

/// Listens on a port. The kernel completes connections; take() accepts one of them, and those that
/// are not accepted stay open.
class PortListener {
 public:
  explicit PortListener(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.fd(), 16), 0);
  }

  /// The next connection; waits for it.
  Descriptor take() { return Descriptor(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  Descriptor socket_;
};

}  // namespace millrace
