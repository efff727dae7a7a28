#include "bench/wire_client.h"

#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kMostKept = size_t{256} << 10;

/// The last word of a line, as a number.
size_t last_number(std::string_view line) {
  const size_t blank = line.rfind(' ');
  size_t number = 0;
  std::from_chars(line.data() + blank + 1, line.data() + line.size(), number);
  return number;
}

}  // namespace

int connect_to(const std::string& url) {
  const size_t host = url.find("//") + 2;
  const size_t colon = url.find(':', host);
  const std::string name = url.substr(host, colon - host);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(colon + 1))));
  CHECK(inet_pton(AF_INET, name.c_str(), &address.sin_addr) == 1,
        "expected SCHEME://IPV4:PORT, got {}", url);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(made >= 0 && ::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
        "connecting to {}: {}", url, std::strerror(errno));
  const int on = 1;
  ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

WireClient::WireClient(const std::string& url, const std::string& subject, Heard heard)
    : heard_(std::move(heard)), socket_(connect_to(url)) {
  out_ = "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":false}\r\n";
  if (!subject.empty()) out_ += "SUB " + subject + " 1\r\n";
  flush();
  reader_ = std::thread(&WireClient::read, this);
}

WireClient::~WireClient() {
  flush();
  ::shutdown(socket_, SHUT_RDWR);
  reader_.join();
  ::close(socket_);
}

void WireClient::publish(std::string_view subject, std::string_view data) {
  const std::lock_guard guard(lock_);
  out_ += "PUB ";
  out_ += subject;
  out_ += ' ';
  out_ += std::to_string(data.size());
  out_ += "\r\n";
  out_ += data;
  out_ += "\r\n";
  if (out_.size() >= kMostKept) write();
}

void WireClient::flush() {
  const std::lock_guard guard(lock_);
  write();
}

void WireClient::write() {
  for (size_t done = 0; done < out_.size();) {
    const ssize_t sent = ::send(socket_, out_.data() + done, out_.size() - done, MSG_NOSIGNAL);
    CHECK(sent > 0, "the connection to the broker is lost: {}", std::strerror(errno));
    done += static_cast<size_t>(sent);
  }
  out_.clear();
}

void WireClient::read() {
  std::string buffer;
  size_t filled = 0;
  while (true) {
    buffer.resize(std::max(buffer.size(), filled + (size_t{64} << 10)));
    const ssize_t got = ::recv(socket_, buffer.data() + filled, buffer.size() - filled, 0);
    if (got <= 0) return;
    filled += static_cast<size_t>(got);
    const size_t taken = take(std::string_view(buffer).substr(0, filled));
    buffer.erase(0, taken);
    filled -= taken;
    if (heard_) heard_({});
  }
}

/// Handles the complete protocol messages at the start of `bytes`; returns the number of bytes of
/// these messages.
size_t WireClient::take(std::string_view bytes) {
  size_t taken = 0;
  while (true) {
    const std::string_view rest = bytes.substr(taken);
    const size_t end = rest.find("\r\n");
    if (end == std::string_view::npos) return taken;
    const std::string_view line = rest.substr(0, end);
    if (line.starts_with("MSG ")) {
      const size_t size = last_number(line);
      if (rest.size() < end + 2 + size + 2) return taken;
      heard_(rest.substr(end + 2, size));
      taken += end + 2 + size + 2;
      continue;
    }
    CHECK(!line.starts_with("-ERR"), "the broker sent {}", line);
    if (line == "PING") {
      const std::lock_guard guard(lock_);
      out_ += "PONG\r\n";
      write();
    }
    taken += end + 2;
  }
}

}  // namespace millrace
