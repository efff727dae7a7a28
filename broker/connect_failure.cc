#include "broker/connect_failure.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/excerpt.h"
#include "broker/connection.h"

namespace millrace {
namespace {

constexpr int kDialMillis = 1'000;
constexpr size_t kMostDetail = 240;

struct Address {
  std::string host;
  std::string port = "4222";  ///< the default port of NATS
};

/// Splits a URL that has no login: `nats://host:port`, `[::1]:4222`, `host`.
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

/// Tries to connect to `to`. Returns 0, or the errno; ETIMEDOUT after kDialMillis.
int dial(const addrinfo& to) {
  const int socket = ::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  int error = ::connect(socket, to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, kDialMillis) == 0) {
      error = ETIMEDOUT;
    } else {
      socklen_t size = sizeof error;
      if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
  }
  ::close(socket);
  return error;
}

/// Removes the source position that nats.c puts in front of an error text: `(conn.c:1905): `.
std::string_view without_place(std::string_view detail) {
  const size_t end = detail.find("): ");
  if (!detail.starts_with('(') || end == std::string_view::npos) return detail;
  return detail.substr(end + 3);
}

/// Tries to reach one NATS server, and describes in one sentence why that fails.
std::string explain_unreachable(const std::string& server) {
  const Address address = address_of(server);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int looked_up = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  if (looked_up != 0) {
    return fmt::format("the host \"{}\" of {} is unknown ({})", excerpt(address.host), server,
                       ::gai_strerror(looked_up));
  }
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    error = dial(*one);
    if (error == 0) return fmt::format("{} accepts connections, but not as a NATS server", server);
  }
  return fmt::format("no NATS server can be reached at {} ({})", server, std::strerror(error));
}

}  // namespace

std::string explain_connect_failure(natsStatus status, std::string_view detail,
                                    const std::vector<std::string>& servers) {
  const std::vector<std::string> shown = without_logins(servers);
  const std::string all = fmt::format("{}", fmt::join(shown, ", "));
  const std::string why =
      excerpt(detail.empty() ? natsStatus_GetText(status) : without_place(detail), kMostDetail);
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
      return fmt::format(
          "NATS at {} refused the login ({}): check NATS_USER and NATS_PASSWORD, or NATS_CREDS, or "
          "NATS_NKEY, against the users of that server",
          all, why);
    case NATS_SSL_ERROR:
      return fmt::format(
          "TLS with NATS at {} failed ({}): check that NATS_CA is the authority that signed the "
          "certificate of the NATS server, that this certificate names the host, and that "
          "NATS_CERT and NATS_KEY are set if the NATS server requires them",
          all, why);
    case NATS_SECURE_CONNECTION_WANTED:
      return fmt::format(
          "NATS at {} offers no TLS, which NATS_CA or NATS_CERT require: unset them, or enable TLS "
          "in the NATS server",
          all);
    case NATS_SECURE_CONNECTION_REQUIRED:
      return fmt::format("NATS at {} requires TLS: set NATS_CA", all);
    case NATS_TIMEOUT:
      return fmt::format(
          "NATS at {} did not answer in time: check --nats, the network, and whether a NATS server "
          "listens there",
          all);
    case NATS_NO_SERVER: {
      std::vector<std::string> reasons;
      reasons.reserve(shown.size());
      for (const std::string& server : shown) reasons.push_back(explain_unreachable(server));
      return fmt::format("{}: check --nats, and whether the NATS server is running",
                         fmt::join(reasons, "; "));
    }
    default:
      return fmt::format("no connection to NATS at {} ({})", all, why);
  }
}

}  // namespace millrace
