// HttpServer: the gateway's transport. One thread of its own reads and writes all connections;
// handlers run on a few more (lanes.h), and answers may come from any thread. Without a token it
// listens on loopback only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/defaults.h"
#include "base/result.h"
#include "base/time.h"
#include "gateway/bearer_token.h"
#include "gateway/routes.h"
#include "orchestrator/service/service.h"
#include "os/descriptor.h"

namespace millrace {

struct TransportLimits {
  size_t header_bytes = size_t{16} << 10;
  size_t connections = 1024;       ///< one more is answered with 503 and closed
  size_t waiting_requests = 1024;  ///< for a thread; one more is answered with 503
  size_t worker_threads = 2;
  Duration idle = std::chrono::seconds(75);    ///< between two requests
  Duration header = std::chrono::seconds(10);  ///< from a request's first byte to its headers' end
  Duration body = std::chrono::seconds(60);    ///< from there to its last byte
  Duration write = std::chrono::seconds(60);   ///< of a whole answer
  Duration stop_grace = std::chrono::seconds(5);  ///< for requests in hand when stop() is called
};

class HttpServer {
 public:
  struct Options {
    /// host:port; no host is loopback, port 0 a free one
    std::string listen = defaults::listen_address();
    std::vector<std::string> hosts;    ///< Host headers to answer for beside loopback's
    std::optional<BearerToken> token;  ///< asked for by every route that is not `open`
    RequestLimits requests;
    TransportLimits transport;
  };

  /// `service` outlives the server. Errors: `gateway.malformed_address`,
  /// `gateway.refused_address` (not loopback, and no token), `gateway.listen` (in the system's
  /// words).
  static Result<std::unique_ptr<HttpServer>> start(Options options, Service& service);

  /// The address `listen` taken, so that what is wrong with it is known before other parts of a
  /// program start; connections are refused until `start` is called with it. Errors as `start`.
  static Result<Descriptor> bind(const std::string& listen, bool has_token);
  /// `address` is what bind() gave for `options.listen`.
  static Result<std::unique_ptr<HttpServer>> start(Options options, Descriptor address,
                                                   Service& service);

  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

  /// Requests whose headers are read from here on are asked for this one instead. Any thread.
  void replace_token(BearerToken token);

  /// Takes no more connections; requests that wait for an instance are answered with 503
  /// `stopping`, others get the grace first. Returns when all connections are closed and no thread
  /// of the gateway runs; answers of the service that come later are dropped. May be called again.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
