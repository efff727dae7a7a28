#include "broker/dial.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

constexpr int kDialMillis = 1'000;

struct Address {
  std::string host;
  std::string port = "4222";  ///< the default port of NATS
};

Address address_of(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  url = url.substr(0, url.find('/'));
  Address address;
  const size_t bracket = url.rfind(']');
  const size_t colon = url.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) address.port = url.substr(colon + 1);
  url = url.substr(0, has_port ? colon : url.size());
  if (url.starts_with('[') && url.ends_with(']')) url = url.substr(1, url.size() - 2);
  address.host = url;
  return address;
}

/// Connects the socket. Returns 0, or the errno; ETIMEDOUT after kDialMillis.
int connect_to_address(const Descriptor& socket, const addrinfo& to) {
  if (!socket) return errno;
  int error = ::connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error != EINPROGRESS) return error;
  pollfd waiting{.fd = socket.fd(), .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, kDialMillis) == 0) return ETIMEDOUT;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error;
}

}  // namespace

Dialed dial(std::string_view url) {
  const Address address = address_of(url);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int looked_up = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  if (looked_up != 0) {
    return {.socket = {},
            .why = fmt::format("the host \"{}\" of {} is unknown ({})", excerpt(address.host), url,
                               ::gai_strerror(looked_up))};
  }
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = connect_to_address(socket, *one);
    if (error == 0) return {.socket = std::move(socket), .why = ""};
  }
  return {
      .socket = {},
      .why = fmt::format("no NATS server can be reached at {} ({})", url, std::strerror(error))};
}

}  // namespace millrace
