// HttpPeer: a server on a free port of the loopback interface. The handler of the test answers each
// request, with HTTP or with any other bytes. Each connection has its own thread; the destructor
// ends all of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "cloudevents/headers.h"
#include "tests/support/patience.h"

namespace millrace {

class HttpPeer {
 public:
  struct Request {
    std::string method;
    std::string target;
    Headers headers;
    std::string body;
    size_t connection = 0;  ///< the number of its connection, from 1

    std::string header(std::string_view name) const {
      const std::string* value = find_header(headers, name);
      return value == nullptr ? "" : *value;
    }
  };

  class Connection {
   public:
    explicit Connection(int socket) : socket_(socket) {}

    /// Returns whether all bytes were sent.
    bool send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(sent));
      }
      return true;
    }

    /// Sends a complete response. The connection stays open.
    bool answer(int status, std::string_view body = "", const Headers& headers = {}) {
      std::string head =
          fmt::format("HTTP/1.1 {} Said\r\nContent-Length: {}\r\n", status, body.size());
      for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
      return send(head + "\r\n" + std::string(body));
    }

    /// Sends nothing until the client or the test closes the connection.
    void hang() {
      while (receive()) {
      }
    }

   private:
    friend class HttpPeer;

    bool receive() {
      char bytes[16384];
      const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
      if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
      return got > 0;
    }

    int socket_;
    std::string buffer_;
  };

  /// Runs on the thread of the connection. Returns false to close the connection.
  using Handler = std::function<bool(const Request&, Connection&)>;

  /// `port`: 0 selects a free port. A port that a socket with SO_REUSEADDR holds may be used too.
  explicit HttpPeer(Handler handler, uint16_t port = 0) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(::listen(listener_, 128) == 0);
    CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread(&HttpPeer::accept_all, this);
  }

  ~HttpPeer() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const Serving& one : serving_) ::shutdown(one.socket, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (Serving& one : serving_) {
      one.thread.join();
      ::close(one.socket);
    }
    ::close(listener_);
  }
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  std::string url(std::string_view path = "/") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }

  /// All requests so far, once there are `count`; fewer if they do not arrive within kPatience.
  std::vector<Request> requests(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return requests_.size() >= count; });
    return requests_;
  }

  /// Waits until `count` connections have ended; false if they do not end within kPatience.
  bool await_end(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ended_ >= count; });
  }

  size_t connections() {
    const std::lock_guard lock(mutex_);
    return serving_.size();
  }

 private:
  struct Serving {
    int socket;
    std::thread thread;
  };

  void accept_all() {
    while (true) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const std::lock_guard lock(mutex_);
      if (stopping_) {
        if (socket >= 0) ::close(socket);
        return;
      }
      if (socket < 0) continue;
      serving_.push_back({socket, {}});
      serving_.back().thread = std::thread(&HttpPeer::serve, this, socket, serving_.size());
    }
  }

  void serve(int socket, size_t number) {
    Connection connection(socket);
    while (std::optional<Request> request = read(connection)) {
      request->connection = number;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(*request);
        changed_.notify_all();
      }
      if (!handler_(*request, connection)) break;
    }
    ::shutdown(socket, SHUT_RDWR);
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  static std::optional<Request> read(Connection& connection) {
    std::string& buffer = connection.buffer_;
    size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      if (!connection.receive()) return std::nullopt;
    }
    Request request;
    std::string_view head = std::string_view(buffer).substr(0, end);
    const size_t method_end = head.find(' ');
    request.method = head.substr(0, method_end);
    request.target = head.substr(method_end + 1, head.find(' ', method_end + 1) - method_end - 1);
    for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n")) {
      head.remove_prefix(at + 2);
      const std::string_view line = head.substr(0, head.find("\r\n"));
      const size_t colon = line.find(':');
      const size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
      request.headers.emplace_back(line.substr(0, colon), line.substr(value));
    }
    const std::string length = request.header("Content-Length");
    const size_t whole = end + 4 + (length.empty() ? 0 : std::stoul(length));
    while (buffer.size() < whole) {
      if (!connection.receive()) return std::nullopt;
    }
    request.body = buffer.substr(end + 4, whole - end - 4);
    buffer.erase(0, whole);
    return request;
  }

  const Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Request> requests_;
  size_t ended_ = 0;
  std::list<Serving> serving_;  ///< all connections, including those that have ended
  std::thread thread_;
};

/// The handler of a webhook that gives permission to all origins and accepts every delivery.
inline bool take_as_webhook(const HttpPeer::Request& request, HttpPeer::Connection& connection) {
  if (request.method != "OPTIONS") return connection.answer(204);
  return connection.answer(200, "", {{"WebHook-Allowed-Origin", "*"}});
}

/// A gate that threads wait at until it is opened. It never closes again.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// Waits for open(); false if the gate is not opened within kPatience.
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

/// Values that callbacks add on other threads, in order. A test can wait for them.
template <class T>
class Heard {
 public:
  void add(T value) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(value));
    changed_.notify_all();
  }
  /// All values, once `condition` holds for them, or after kPatience.
  std::vector<T> wait_until(const std::function<bool(const std::vector<T>&)>& condition) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return condition(all_); });
    return all_;
  }
  /// All values, once there are `count`, or after kPatience.
  std::vector<T> wait_for(size_t count) {
    return wait_until([count](const std::vector<T>& all) { return all.size() >= count; });
  }
  std::vector<T> all() { return wait_for(0); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> all_;
};

}  // namespace millrace
