// NodeFront: what the gateway asks the node of a cluster that it belongs to. The program implements
// it. Any thread may call each function, also before an engine runs; no call blocks, so the gateway
// answers `/readyz` while the log of the cluster cannot be reached.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

class NodeFront {
 public:
  virtual ~NodeFront() = default;

  /// Whether the service of this process may answer now: the node is the active, its engine is
  /// loaded, and its lead is fresh. It is asked before each request.
  virtual bool may_serve() const = 0;
  /// Whether this node is the active, also while it loads the engine or its lead is not fresh.
  virtual bool is_active() const = 0;
  /// Why the node is not ready. A standby that has applied the log and knows an active is ready.
  /// The readiness of the service is not part of it.
  virtual Status ready() const = 0;
  /// The id of this node.
  virtual std::string node() const = 0;
  /// The URL of the active, such as `http://db1:8780`, from the latest `begin` of the log. Empty:
  /// no active is known, or its epoch has ended.
  virtual std::string active_url() const = 0;
  /// The answer of `GET /v1/cluster`, as the schema `Cluster` has it (schemas_system.cc).
  virtual Json cluster() const = 0;
  /// The answer of `GET /v1/info` while the service may not answer: `version`, and further members
  /// of the schema `ServerInfo`.
  virtual Json info() const = 0;
  /// The metrics of the node, in the Prometheus text format; each line ends with a line break.
  virtual std::string metrics() const = 0;
};

}  // namespace millrace
