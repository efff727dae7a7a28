// HttpServer: the gateway's transport. One thread, the gateway's thread, reads and writes all
// connections. Handlers run on the threads of their lane (gateway_lanes.h), and may answer on any
// thread. Without a token the server listens on loopback only. On a node of a cluster that is not
// the active, requests are handed on to the active.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/defaults.h"
#include "base/result.h"
#include "base/time.h"
#include "gateway/bearer_token.h"
#include "gateway/node_front.h"
#include "gateway/page_files.h"
#include "gateway/routes.h"
#include "gateway/token_failures.h"
#include "gateway/worker_lane.h"
#include "orchestrator/service/service.h"
#include "os/descriptor.h"

namespace millrace {

struct TransportLimits {
  size_t header_bytes = size_t{16} << 10;
  // Connections. If all are open, the one that has been idle longest is closed for a new one, or
  // else the one whose transfer of a body or an answer is slow (connection_places.h).
  size_t connections = 1024;
  size_t probe_connections = 16;  ///< further connections, for the routes of Lane::kProbe
  /// Requests that wait for the end of an instance or of a check of the store; a further one gets
  /// 503.
  size_t long_waits = 768;
  /// Requests that are handed on to the active of the cluster; a further one gets 503.
  size_t handed_on = 512;
  size_t streams = 128;  ///< answers without an end (StreamAnswer, StreamPlaces); more get 503
  /// Bytes of all bodies and answers together, without the first 64 KiB of each.
  uint64_t memory_bytes = defaults::kHttpMemory;
  /// Bytes that the system holds of a connection, in each direction. The budget does not count
  /// them.
  int socket_bytes = 256 << 10;
  // The lanes. A request for which a lane has no place gets 503.
  LaneLimits probes{.threads = 1, .waiting = 1024};
  LaneLimits reads{.threads = 2, .waiting = 256};
  LaneLimits commands{.threads = 2, .waiting = 256};
  LaneLimits events{.threads = 2, .waiting = 256};
  LaneLimits definitions{.threads = 2, .waiting = 64, .running_per_client = 1};
  LaneLimits broker{.threads = 2, .waiting = 64};
  LaneLimits files{.threads = 2, .waiting = 256};
  Duration first_byte = std::chrono::seconds(10);  ///< from the accept to the first byte
  Duration idle = std::chrono::seconds(75);        ///< of a connection between two requests
  Duration header = std::chrono::seconds(10);  ///< from a request's first byte to its headers' end
  Duration body = std::chrono::seconds(60);    ///< from the headers' end to the last byte
  Duration write = std::chrono::seconds(60);   ///< for a complete response
  Duration file_progress = std::chrono::seconds(60);  ///< for each MiB of a file of a call
  /// For the active's answer to a request that is handed on; not of a wait or a stream.
  Duration active_answer = std::chrono::seconds(60);
  Duration stream_comment = std::chrono::seconds(15);   ///< without bytes, a stream gets a comment
  Duration stream_progress = std::chrono::seconds(60);  ///< for each 16 KiB of a stream
  /// A transfer that takes longer is closed if its place or its bytes are needed.
  Duration slow_transfer = std::chrono::seconds(10);
  Duration stop_grace = std::chrono::seconds(5);  ///< for current requests after stop() is called
  /// How long the answer to a request with a wrong token is held back, so that guesses take time.
  Duration wrong_token{200};
  /// How many answers are held back at once; a further request with a wrong token gets no answer.
  size_t held_answers = 64;
};

class HttpServer {
 public:
  struct Options {
    /// host:port; without a host: 127.0.0.1; port 0: a free port
    std::string listen = defaults::listen_address();
    std::vector<std::string> hosts;    ///< accepted Host headers besides loopback names
    std::vector<std::string> origins;  ///< accepted Origin headers besides that of the Host header
    std::optional<BearerToken> token;  ///< required by every route that is not `open`
    PageFiles page;                    ///< empty: the server has no page
    /// The cluster whose nodes accept the sessions of browsers of each other; empty: this process
    /// accepts only its own.
    std::string session_realm;
    /// The wall clock, for the ends of sessions. Any thread.
    std::function<TimePoint()> now = [] {
      return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    };
    RequestLimits requests;
    TransportLimits transport;
    /// Called for each request that is refused because it has no valid token, on the gateway's
    /// thread.
    std::function<void(const TokenFailure&)> on_token_failure = [](const TokenFailure&) {};
  };

  /// Binds the address and starts the server. `service` must outlive the server. Errors:
  /// `gateway.malformed_address`, `gateway.refused_address` (not loopback, and no token),
  /// `gateway.listen` (with the error text of the system).
  static Result<std::unique_ptr<HttpServer>> start(Options options, Service& service);

  /// Binds the address `listen`, so that an error is known before other parts of a program start.
  /// Connections are refused until start() is called with the result. Fails as start() does.
  static Result<Descriptor> bind(const std::string& listen, bool has_token);
  /// Starts the server on `address`, which is the result of bind() for `options.listen`.
  static Result<std::unique_ptr<HttpServer>> start(Options options, Descriptor address,
                                                   Service& service);

  /// Starts the server of a node of a cluster, which has no service yet; `front` must outlive the
  /// server. While the service may not answer, the server answers `/livez`, `/readyz`, `/activez`,
  /// `/metrics`, `/v1/info`, `/v1/cluster` and `/v1/openapi.json`, and hands all other requests on
  /// to the active (forward.h).
  static Result<std::unique_ptr<HttpServer>> start(Options options, Descriptor address,
                                                   NodeFront& front);

  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  /// From now on `service` answers requests while the front of the node says that it may; it must
  /// outlive the server. May be called once, and only if the server was started with a front. Any
  /// thread.
  void serve(Service& service);

  /// Ends the requests that were handed on to another active than the front names now. To be called
  /// when the log names another active, or none. Any thread.
  void active_changed();

  /// Answers the requests that the service has not answered with 503 `log.unreachable`: the log of
  /// the cluster does not confirm in time what they have done, or this node hands over. Streams
  /// continue. Any thread.
  void stop_waiting_for_log();

  /// Requests whose headers are read from now on need this token instead, and so do streams: those
  /// of other tokens are closed. Any thread.
  void replace_token(BearerToken token);

  /// Stops the server: accepts no more connections. Requests whose handler has called
  /// Exchange::expect_long_wait() get 503 `stopping` at once, and streams the message `reset`;
  /// other requests get 503 only after `stop_grace`. Returns when all connections are closed and no
  /// thread of the gateway runs; later answers of the service are dropped. May be called again.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
