// A TCP proxy between millrace and its broker, for tests of network faults. The proxy passes bytes
// on until a test makes it cut the connections, possibly in the middle of a message, or drop the
// bytes. It passes the bytes of later connections again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <thread>

namespace millrace {

class TcpProxy {
 public:
  /// Listens on a free port of the loopback, and passes each connection on to the port `target`.
  explicit TcpProxy(uint16_t target);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  std::string nats_url() const;

  /// Resets all connections after `bytes` more bytes have come from the target.
  void cut_after(size_t bytes);
  /// How often cut_after() has cut the connections.
  size_t cuts() const;

  /// From now on drops all bytes of the current connections, without a reset. Bytes of new
  /// connections are passed on.
  void forget();

  /// From now on replaces `from` by `to`, which has the same length, wherever it occurs in bytes
  /// from the target that were read together with `marker`. So messages arrive with wrong content.
  /// An empty `marker` ends the replacing.
  void spoil(std::string marker, std::string from, std::string to);

  /// Drops all bytes in both directions, without a reset, until pass().
  void swallow();
  /// Ends the connections whose bytes were dropped. Bytes of new connections are passed on.
  void pass();

 private:
  struct Pipe {
    int client = -1;
    int target = -1;
  };

  void run();
  void accept_one();
  /// Passes bytes of one direction on; false if the connection has ended.
  bool move(Pipe& pipe, bool from_target);
  void spoil(std::span<char> bytes) const;
  void reset_all();
  void wake();

  const uint16_t target_;
  uint16_t port_ = 0;
  int listener_ = -1;
  int wake_ = -1;  ///< an eventfd

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool swallows_ = false;
  bool forget_ = false;
  bool reset_ = false;
  size_t left_ = std::numeric_limits<size_t>::max();  ///< bytes that may pass before the next cut
  size_t cuts_ = 0;
  std::string marker_;
  std::string spoiled_from_;
  std::string spoiled_to_;

  std::list<Pipe> pipes_;      ///< used by the thread only
  std::list<Pipe> forgotten_;  ///< used by the thread only
  std::thread thread_;
};

}  // namespace millrace
