#include "bench/stream_watchers.h"

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "bench/wire_client.h"

namespace millrace {
namespace {

constexpr std::string_view kAnswered = "HTTP/1.1 200";
constexpr int kPollMs = 50;

void send_request(int socket, const std::string& path) {
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", path);
  const ssize_t sent = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  CHECK(sent == static_cast<ssize_t>(request.size()), "sending a request: {}",
        std::strerror(errno));
}

}  // namespace

StreamWatchers::StreamWatchers(const std::string& url, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    sockets_.push_back(connect_to(url));
    send_request(sockets_.back(), path);
  }
  reader_ = std::thread(&StreamWatchers::read, this);
  while (opened_ < sockets_.size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

StreamWatchers::~StreamWatchers() {
  stops_ = true;
  reader_.join();
  for (const int socket : sockets_) ::close(socket);
}

void StreamWatchers::read() {
  std::vector<pollfd> polled;
  for (const int socket : sockets_)
    polled.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  std::vector<bool> is_open(sockets_.size(), false);
  std::array<char, size_t{64} << 10> buffer;
  while (!stops_) {
    if (::poll(polled.data(), polled.size(), kPollMs) <= 0) continue;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t got = ::recv(polled[i].fd, buffer.data(), buffer.size(), 0);
      CHECK(got > 0, "the server has ended stream {}", i);
      const std::string_view text(buffer.data(), static_cast<size_t>(got));
      if (!is_open[i]) {
        CHECK(text.starts_with(kAnswered), "stream {}: {}", i, text);
        is_open[i] = true;
        ++opened_;
      }
      bytes_ += text.size();
    }
  }
}

}  // namespace millrace
