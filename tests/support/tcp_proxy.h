// A TCP proxy between millrace and its broker, for tests of what a network does: it passes bytes on
// until it is told to cut the connections, in the middle of a message if need be, or to swallow
// them. Connections that are made later go through.
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
  /// Listens on a free port of the loopback and passes on to `target` there.
  explicit TcpProxy(uint16_t target);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  uint16_t port() const { return port_; }
  std::string nats_url() const;

  /// Ends all connections with a reset once so many more bytes came from the target.
  void cut_after(size_t bytes);
  /// How often cut_after() has ended connections.
  size_t cuts() const;

  /// The connections of now never pass anything again, and nothing shows it; new ones do.
  void forget();

  /// From now on, in whatever comes from the target in one read and holds `marker`, each `from` is
  /// `to`, which is as long: messages that arrive, and can't be right. An empty marker ends it.
  void spoil(std::string marker, std::string from, std::string to);

  /// From now on nothing passes, in neither direction, and nothing shows it; until pass().
  void swallow();
  /// Ends the connections that were swallowed from; new ones go through.
  void pass();

 private:
  struct Pipe {
    int client = -1;
    int target = -1;
  };

  void run();
  void accept_one();
  /// False: the connection is over.
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

  std::list<Pipe> pipes_;      ///< only for the thread
  std::list<Pipe> forgotten_;  ///< only for the thread
  std::thread thread_;
};

}  // namespace millrace
