#include "tests/support/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kNoCut = std::numeric_limits<size_t>::max();

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Resets the connection, so that bytes in flight are lost.
void close_with_reset(int socket) {
  const linger at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(socket);
}

void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool send_all(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace

TcpProxy::TcpProxy(uint16_t target) : target_(target) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_, 16) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread(&TcpProxy::run, this);
}

TcpProxy::~TcpProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  reset_all();
  ::close(listener_);
  ::close(wake_);
}

std::string TcpProxy::nats_url() const { return fmt::format("nats://127.0.0.1:{}", port_); }

void TcpProxy::cut_after(size_t bytes) {
  const std::lock_guard lock(mutex_);
  left_ = bytes;
}

size_t TcpProxy::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

void TcpProxy::forget() {
  {
    const std::lock_guard lock(mutex_);
    forget_ = true;
  }
  wake();
}

void TcpProxy::swallow() {
  {
    const std::lock_guard lock(mutex_);
    swallows_ = true;
  }
  wake();
}

void TcpProxy::pass() {
  {
    const std::lock_guard lock(mutex_);
    swallows_ = false;
    reset_ = true;
  }
  wake();
}

void TcpProxy::wake() {
  const uint64_t one = 1;
  CHECK(::write(wake_, &one, sizeof one) == sizeof one);
}

void TcpProxy::run() {
  while (true) {
    bool swallows = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      swallows = swallows_;
      if (std::exchange(forget_, false)) forgotten_.splice(forgotten_.end(), pipes_);
      if (std::exchange(reset_, false)) reset_all();
    }
    std::vector<pollfd> files = {{wake_, POLLIN, 0}};
    if (!swallows) {
      files.push_back({listener_, POLLIN, 0});
      for (const Pipe& pipe : pipes_) {
        files.push_back({pipe.client, POLLIN, 0});
        files.push_back({pipe.target, POLLIN, 0});
      }
    }
    CHECK(::poll(files.data(), files.size(), -1) > 0);
    if (files[0].revents != 0) {
      uint64_t count = 0;
      CHECK(::read(wake_, &count, sizeof count) == sizeof count);
      continue;  // handles the requests of the test before the bytes
    }
    auto file = files.begin() + 2;
    for (auto pipe = pipes_.begin(); pipe != pipes_.end(); file += 2) {
      const bool goes_on = (file[0].revents == 0 || move(*pipe, false)) &&
                           (file[1].revents == 0 || move(*pipe, true));
      if (goes_on) {
        ++pipe;
        continue;
      }
      close_with_reset(pipe->client);
      close_with_reset(pipe->target);
      pipe = pipes_.erase(pipe);
    }
    if (files[1].revents != 0) accept_one();
  }
}

void TcpProxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int target = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(target_);
  if (::connect(target, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close_with_reset(client);
    ::close(target);
    return;
  }
  send_at_once(client);
  send_at_once(target);
  pipes_.push_back({client, target});
}

void TcpProxy::spoil(std::string marker, std::string from, std::string to) {
  CHECK(from.size() == to.size());
  const std::lock_guard lock(mutex_);
  marker_ = std::move(marker);
  spoiled_from_ = std::move(from);
  spoiled_to_ = std::move(to);
}

/// The caller holds the lock.
void TcpProxy::spoil(std::span<char> bytes) const {
  const std::string_view text(bytes.data(), bytes.size());
  if (marker_.empty() || text.find(marker_) == std::string_view::npos) return;
  for (size_t at = 0; (at = text.find(spoiled_from_, at)) != std::string_view::npos;) {
    std::copy(spoiled_to_.begin(), spoiled_to_.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
  }
}

bool TcpProxy::move(Pipe& pipe, bool from_target) {
  std::array<char, 16 << 10> bytes;
  const ssize_t got =
      ::recv(from_target ? pipe.target : pipe.client, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  size_t size = static_cast<size_t>(got);
  bool cut = false;
  if (from_target) {
    const std::lock_guard lock(mutex_);
    spoil({bytes.data(), size});
    cut = left_ <= size;
    size = std::min(size, left_);
    if (left_ != kNoCut) left_ -= size;
    if (cut) {
      left_ = kNoCut;
      ++cuts_;
      reset_ = true;
    }
  }
  const bool sent = send_all(from_target ? pipe.client : pipe.target, bytes.data(), size);
  return sent && !cut;
}

void TcpProxy::reset_all() {
  pipes_.splice(pipes_.end(), forgotten_);
  for (const Pipe& pipe : pipes_) {
    close_with_reset(pipe.client);
    close_with_reset(pipe.target);
  }
  pipes_.clear();
}

}  // namespace millrace
