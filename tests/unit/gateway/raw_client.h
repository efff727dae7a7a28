// RawClient: a TCP connection that sends any bytes and reads HTTP answers, for requests that no
// correct client sends. It blocks. A peer that sends nothing for kPatience, or for the time that
// the test gives, counts as closed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/json.h"
#include "cloudevents/headers.h"
#include "tests/support/patience.h"

namespace millrace {

struct HttpReply {
  int status = 0;
  Headers headers;
  std::string body;
  bool has_whole_body = true;  ///< false: `body` was too large to be kept, or is a stream

  std::string header(std::string_view name) const {
    const std::string* value = find_header(headers, name);
    return value == nullptr ? "" : *value;
  }
  Json json() const { return Json::parse(body); }
  /// The code of a problem.
  std::string code() const { return json().value("code", ""); }
};

class RawClient {
 public:
  explicit RawClient(uint16_t port, Duration patience = kPatience)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval longest{patience.count() / 1'000, patience.count() % 1'000 * 1'000};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    // Also for the connect: a suspended peer accepts no more connections than wait for it.
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    // A refused connection counts as closed.
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      ::close(std::exchange(socket_, -1));
  }
  ~RawClient() {
    if (socket_ >= 0) ::close(socket_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Sends as many of the bytes as the peer accepts.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  void finish_sending() { ::shutdown(socket_, SHUT_WR); }

  /// Closes the connection by a reset.
  void reset_connection() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(std::exchange(socket_, -1));
  }

  /// The next answer, without a body if `bodiless` (after a HEAD); nullopt: the connection ended.
  std::optional<HttpReply> read_reply(bool bodiless = false) {
    size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return std::nullopt;
    }
    HttpReply reply;
    std::string_view head = std::string_view(buffer_).substr(0, end);
    reply.status = std::stoi(std::string(head.substr(9, 3)));
    for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n")) {
      head.remove_prefix(at + 2);
      const std::string_view line = head.substr(0, head.find("\r\n"));
      const size_t colon = line.find(": ");
      reply.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    const std::string length = reply.header("Content-Length");
    const size_t size = bodiless || length.empty() ? 0 : std::stoul(length);
    while (buffer_.size() < end + 4 + size) {
      if (!receive()) return std::nullopt;
    }
    reply.body = buffer_.substr(end + 4, size);
    buffer_.erase(0, end + 4 + size);
    return reply;
  }

  /// The next bytes behind what was read; fewer if the peer closes before.
  std::string read_bytes(size_t count) {
    while (buffer_.size() < count && receive()) {
    }
    const std::string bytes = buffer_.substr(0, count);
    buffer_.erase(0, bytes.size());
    return bytes;
  }

  /// Waits until the peer closes; false if a byte comes first.
  bool is_closed() { return buffer_.empty() && !receive(); }

 private:
  bool receive() {
    char bytes[16384];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  int socket_;
  std::string buffer_;
};

/// The bytes of a request that is the only one on its connection.
inline std::string request_text(uint16_t port, std::string_view method, std::string_view target,
                                const Headers& headers, std::string_view body) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n",
                                 method, target, port);
  for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
  return text.append("\r\n").append(body);
}

/// Sends one request on a new connection, to a peer that may be suspended: status 0 if it sends
/// nothing for `at_most`.
inline HttpReply request_within(Duration at_most, uint16_t port, std::string_view method,
                                std::string_view target, const Headers& headers = {},
                                std::string_view body = "") {
  RawClient client(port, at_most);
  client.send(request_text(port, method, target, headers, body));
  return client.read_reply(method == "HEAD").value_or(HttpReply{});
}

/// Sends one request on a new connection.
inline HttpReply request(uint16_t port, std::string_view method, std::string_view target,
                         const Headers& headers = {}, std::string_view body = "") {
  return request_within(kPatience, port, method, target, headers, body);
}

}  // namespace millrace
