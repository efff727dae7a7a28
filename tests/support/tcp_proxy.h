// A TCP proxy between millrace and its broker, for tests of network faults. It passes bytes until
// it is asked to cut the connections, also in the middle of a message, or to drop the bytes. Later
// connections pass.
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
  /// Listens on a free port of the loopback, and passes to the port `target`.
  explicit TcpProxy(uint16_t target);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  std::string nats_url() const;

  /// Resets all connections after that many more bytes from the target.
  void cut_after(size_t bytes);
  /// The number of cuts by cut_after().
  size_t cuts() const;

  /// Drops all bytes of the current connections without a reset. New connections pass.
  void forget();

  /// Replaces each `from` by `to`, of the same length, in each read from the target that contains
  /// `marker`: messages arrive with wrong content. An empty marker ends it.
  void spoil(std::string marker, std::string from, std::string to);

  /// Drops all bytes in both directions, without a reset, until pass().
  void swallow();
  /// Ends the connections that lost bytes. New connections pass.
  void pass();

 private:
  struct Pipe {
    int client = -1;
    int target = -1;
  };

  void run();
  void accept_one();
  /// Passes bytes; false if the connection has ended.
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
  size_t left_ = std::numeric_limits<size_t>::max();  ///< before the next cut
  size_t cuts_ = 0;
  std::string marker_;
  std::string spoiled_from_;
  std::string spoiled_to_;

  std::list<Pipe> pipes_;      ///< used by the thread only
  std::list<Pipe> forgotten_;  ///< used by the thread only
  std::thread thread_;
};

}  // namespace millrace
