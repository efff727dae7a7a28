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
#include "orchestrator/ports/call_files.h"
#include "orchestrator/service/store_reads.h"

namespace millrace {

/// Answers the exchange now or later. If the handler fails, its error is the answer.
using Handler = std::function<Status(const std::shared_ptr<Exchange>&)>;

/// Answers a request from rows of a store, and uses nothing else.
using ReadStore = std::function<Result<Response>(StoreReads& store, const Request& request)>;

/// Opens the file into which the body of a request is written as it arrives. Runs on the lane
/// kFile, before the body is read.
using Receiver = std::function<Result<std::shared_ptr<FileSink>>(const Request& request)>;

/// The threads on which a handler runs. Each lane except kInPlace has threads and a queue of its
/// own (worker_lane.h), so that no lane holds up another.
enum class Lane {
  kByMethod,    ///< kRead for GET, kCommand for any other method
  kInPlace,     ///< on the gateway's thread; must never block
  kProbe,       ///< the state of the server; must not wait for a client's work
  kRead,        ///< reads the store
  kCommand,     ///< parses a command and passes it to the engine
  kEvent,       ///< parses events and passes them to the publisher
  kDefinition,  ///< checks a definition; one at a time for each client
  kBroker,      ///< may wait for the broker
  kFile,        ///< reads and writes files of calls on the disk
};

/// A further answer of a route, besides Route::answer.
struct FurtherAnswer {
  unsigned status;
  std::string answer;  ///< the name of a schema (api_schemas.h); empty: no body
};

/// A route and its description, from which the OpenAPI document is made (openapi.h).
struct Route {
  std::string method;
  std::string path;       ///< such as `/v1/ns/{ns}/workflows/{workflow}`
  std::string operation;  ///< the name of the operation, such as `listInstances`; no other has it
  std::string summary;    ///< one sentence
  std::vector<std::string> query;    ///< names of the parameters that are allowed
  std::vector<std::string> headers;  ///< names of the request headers that the handler reads
  std::string body;                  ///< the name of the body's schema; empty: no body
  bool may_lack_body = false;        ///< a request without the body is valid, too
  std::string answer;                ///< the name of the answer's schema; empty: no body
  unsigned answer_status = 200;
  std::vector<FurtherAnswer> further_answers;
  /// The codes of errors that the route answers besides those of any route (openapi.h). An entry
  /// that ends with `.` stands for all codes of the error table with this prefix.
  std::vector<std::string> errors;
  size_t max_body = 0;        ///< the largest body, in bytes
  std::string larger_bodies;  ///< what to do with a larger one, for its error; may be empty
  Lane lane = Lane::kByMethod;
  bool open = false;             ///< the route needs no token
  bool takes_any_query = false;  ///< the handler gets all parameters, whatever their names are
  /// Each node of a cluster answers it; the other routes only the active does (forward.h). The
  /// handler uses no service, except as SystemSources has one.
  bool is_local = false;
  /// The route answers with the page (page_answer.h). A placeholder at the end of its path takes
  /// the rest of the path, any query is accepted, and links of other sites may lead to it.
  bool is_page = false;
  /// A placeholder at the end of its path takes the rest of the path.
  bool takes_rest = false;
  /// In a cluster only the active answers it, and other nodes do not hand it on: `cluster.standby`.
  bool is_for_active = false;
  bool may_take_long = false;  ///< the answer comes after a long wait, also without `wait`
  bool is_stream = false;      ///< the answer is a stream of live messages
  /// The route only reads the store: a node of a cluster that is not the active may answer it from
  /// its own folder (`stale`). add_read() makes the handler of it. Empty: it needs an engine.
  ReadStore read = nullptr;
  /// If it is set, there is no handler: the body is written into a file, at most a piece of it is
  /// in memory, and the answer has no body. A request without a body writes an empty file.
  Receiver receive = nullptr;
  Handler handler;
};

class Router {
 public:
  /// Adds a route; its lane is no longer kByMethod afterwards.
  void add(Route route);

  /// All routes, in the order in which they were added.
  const std::vector<Route>& routes() const { return routes_; }

  struct Found {
    const Route* route = nullptr;
    Request request;  ///< with its method, path, target, parts and query
    bool head = false;
  };

  /// Finds the route of a request; where both a text and a placeholder of a path fit, the text is
  /// preferred. `target` is the target of the request line: a path or an absolute URL. If there is
  /// no route or the target is not valid, returns a problem document: 404 `request.not_found`,
  /// which names what may be appended to the path, 405 `request.method_not_allowed` with the header
  /// Allow, 400 `request.malformed_target`, `request.unknown_parameter` (with the unknown names) or
  /// `request.parameter`.
  std::variant<Found, Response> find(std::string_view method, std::string_view target) const;

  /// Whether the path of a target belongs to routes that need no token only: each route with this
  /// path is one, or, if there is none, each route directly below it. So a refusal of find()
  /// shows a caller without the token nothing that the open routes do not. False for paths of the
  /// page.
  bool is_open(std::string_view target) const;

 private:
  std::string hint_below(const std::vector<std::string_view>& path) const;

  std::vector<Route> routes_;
};

}  // namespace millrace
