// NodeFront: what the gateway asks the node of a cluster that it belongs to. The program implements
// it. Any thread may call each function, also before an engine runs; no call blocks, so the gateway
// answers `/readyz` while the log of the cluster cannot be reached.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/service/store_reads.h"

namespace millrace {

/// The store of a node, for reads that may be stale: as of a commit of the past, and without an
/// engine. Any thread.
class NodeStore {
 public:
  virtual ~NodeStore() = default;

  struct Copy {
    std::unique_ptr<StoreReads> reads;  ///< all of them show the same commit
    uint64_t position = 0;              ///< the sequence of that commit in the log
    /// The copy has every commit that the log had this long ago; from the clock of this machine,
    /// so as exact as that. Never negative.
    Duration age{0};
  };
  /// The store as of its last commit. Reads a few rows. Errors: those of the store.
  virtual Result<Copy> copy() const = 0;
};

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
  /// The id of a node whose registration this node, the active, may end. `node`: the id as 32
  /// hexadecimal digits. `is_forced`: also if that node answers. Errors: `cluster.node_not_found`,
  /// the id is not one of a node; `cluster.node_is_active`; `cluster.node_answers`.
  virtual Result<std::array<uint8_t, 16>> may_remove(std::string_view node,
                                                     bool is_forced) const = 0;
  /// Takes over the registered nodes in the answer of a command that changes them
  /// (Service::command).
  virtual void note_registered(const Result<Json>& answer) = 0;
  /// Lets this node, which does not begin an epoch because the log has lost something, continue
  /// with what its folder has: soon, for it takes a snapshot before. Returns the answer of `POST
  /// /v1/cluster/accept-loss`, as the schema `LossAccepted` has it: what is lost, as far as this
  /// node knows. Errors: `cluster.nothing_lost`; `cluster.node_is_active`; `cluster.no_commit`, the
  /// folder has no commit of the log.
  virtual Result<Json> accept_loss() = 0;
  /// The answer of `GET /v1/info` while the service may not answer: `version`, and further members
  /// of the schema `ServerInfo`.
  virtual Json info() const = 0;
  /// The store of this node; null: it lacks rows, because the node has not joined its cluster yet.
  /// From the first time on at which it is not null, it stays the same and lives as long as the
  /// front.
  virtual const NodeStore* store() const = 0;
  /// The metrics of the node, in the Prometheus text format; each line ends with a line break.
  virtual std::string metrics() const = 0;
};

}  // namespace millrace
