// Router: finds the handler for a method and a path. A Route contains everything that is checked
// before the body of a request is read, so that a wrong request is refused before it costs
// anything. The router is filled once; from then on any thread may read it.
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

/// Answers the exchange now or later. If the handler fails, its error is the answer.
using Handler = std::function<Status(const std::shared_ptr<Exchange>&)>;

/// The thread on which a handler runs.
enum class Lane {
  kInPlace,  ///< on the gateway's thread; must never block
  kWorker,   ///< on a worker thread; may parse, load definitions and read the store
  kBroker,   ///< may wait for the broker; on a separate thread, so that no other request waits
};

struct Route {
  std::string method;
  std::string path;                ///< such as `/v1/ns/{ns}/workflows/{workflow}`
  std::vector<std::string> query;  ///< names of the parameters that are allowed
  size_t max_body = 0;             ///< the largest body, in bytes
  Lane lane = Lane::kWorker;
  bool open = false;  ///< the route needs no token
  Handler handler;
};

class Router {
 public:
  void add(Route route);

  struct Found {
    const Route* route = nullptr;
    Request request;  ///< with its method, path, parts and query
    bool head = false;
  };

  /// Finds the route of a request. `target` is the target of the request line: a path or an
  /// absolute URL. If there is no route or the target is not valid, returns a problem document: 404
  /// `request.not_found`, 405 `request.method_not_allowed` with the header Allow, 400
  /// `request.malformed_target`, `request.unknown_parameter` (with the unknown names) or
  /// `request.parameter`.
  std::variant<Found, Response> find(std::string_view method, std::string_view target) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace millrace
