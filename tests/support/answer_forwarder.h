// AnswerForwarder: stands between the clients of a test, such as the command line and curl, and a
// server of millrace. It passes the bytes on unchanged in both directions, finds the answers in
// them (AnswerReader), and checks each answer before the client gets the end of it. So when a
// client has an answer, its faults are known. The public functions are for the thread that runs the
// test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/descriptor.h"
#include "os/wake_event.h"
#include "tests/support/answer_reader.h"

namespace millrace {

class AnswerForwarder final : private AnswerSink {
 public:
  /// What is wrong with the answer to a request; empty: nothing. It is called on the thread of the
  /// forwarder.
  using Check = std::function<std::string(std::string_view method, std::string_view target,
                                          const HttpReply& reply)>;

  /// How many bytes of one direction of a connection wait at most, and are read at once.
  static constexpr size_t kMostQueued = size_t{64} << 10;
  /// How many connections there are at most; more wait until one of them has ended.
  static constexpr size_t kMostConnections = 128;
  /// How many faults are kept; more are counted.
  static constexpr size_t kMostFaults = 20;

  /// Listens on a free port of the loopback, and connects to the port `server` for each connection.
  AnswerForwarder(uint16_t server, Check check);
  /// Fails the test for each fault that take_faults() has not returned.
  ~AnswerForwarder() override;
  AnswerForwarder(const AnswerForwarder&) = delete;
  AnswerForwarder& operator=(const AnswerForwarder&) = delete;

  uint16_t port() const { return port_; }
  std::string url() const;

  /// The faults since the last call.
  std::vector<std::string> take_faults();
  /// How many answers had bodies that are too large to be checked.
  size_t too_large() const { return too_large_; }

 private:
  /// One direction of a connection.
  struct Way {
    std::string bytes;       ///< read, and not yet written
    bool has_ended = false;  ///< there is nothing more to read
    bool is_closed = false;  ///< the end has been passed on
  };
  struct Connection {
    Connection(Descriptor from, Descriptor to, AnswerSink& sink)
        : client(std::move(from)), server(std::move(to)), reader(sink) {}

    Descriptor client;
    Descriptor server;
    Way requests;
    Way answers;
    AnswerReader reader;
  };

  void on_answer(const AskedFor& asked, const HttpReply& reply) override;
  void on_event_data(const AskedFor& asked, std::string_view data) override;
  void on_malformed(const AskedFor& asked, std::string_view line) override;
  void add_fault(const AskedFor& asked, std::string_view fault, std::string_view text);

  void run();
  void accept_one();
  /// Passes bytes on; false: the connection has ended. `client` and `server` are the events of
  /// poll.
  static bool serve(Connection& connection, short client, short server);

  const uint16_t server_;
  const Check check_;
  Descriptor listener_;
  uint16_t port_ = 0;
  WakeEvent wake_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<size_t> too_large_ = 0;

  std::mutex mutex_;
  std::vector<std::string> faults_;  ///< guarded by mutex_
  size_t more_faults_ = 0;           ///< guarded by mutex_

  std::list<Connection> connections_;  ///< used by the thread only
  std::thread thread_;
};

}  // namespace millrace
