// Router: which handler a method and a path mean. Everything that can be said of a request before
// its body is read is said by its Route, so that a wrong one is refused before it costs anything.
// Filled once, then read by any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "gateway/exchange.h"

namespace millrace {

/// Answers the exchange now or later, or fails: then the error is the answer.
using Handler = std::function<Status(const std::shared_ptr<Exchange>&)>;

/// Where a handler runs.
enum class Lane {
  kInPlace,  ///< on the gateway's thread: only what never waits
  kWorker,   ///< may parse, load and read the store
  kBroker,   ///< may wait for the broker; a lane of its own, so that no other request does
};

struct Route {
  std::string method;
  std::string path;                ///< `/v1/ns/{ns}/workflows/{workflow}`
  std::vector<std::string> query;  ///< the parameters that there are
  size_t max_body = 0;             ///< bytes
  Lane lane = Lane::kWorker;
  bool open = false;  ///< answered without the token, where there is one
  Handler handler;
};

class Router {
 public:
  void add(Route route);

  struct Found {
    const Route* route = nullptr;
    Request request;  ///< method, path, parts and query
    bool head = false;
  };

  /// `target` is the request line's: a path, or an absolute URL. The other outcome is a problem:
  /// 404 `request.not_found`, 405 `request.method_not_allowed` with Allow, 400
  /// `request.malformed_target`, `request.unknown_parameter` (names them), `request.parameter`.
  std::variant<Found, Response> find(std::string_view method, std::string_view target) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace millrace
