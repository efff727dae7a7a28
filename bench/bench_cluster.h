// BenchCluster: two nodes of a cluster of millraces on three nats-servers, for the benchmarks. The
// second node starts when the benchmark says so. For the thread that created the nats-servers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/nats_trio.h"
#include "os/scratch_folder.h"
#include "tests/support/held_port.h"

namespace millrace {

/// How far a standby is behind.
struct StandbyLag {
  double commits = 0;  ///< `millrace_cluster_behind_commits`
  double seconds = 0;  ///< `millrace_cluster_behind_seconds`
  /// Seconds until it has applied what the log had at the time of the call.
  double applied_after = 0;
};

/// How a node with an empty folder follows.
struct StandbyStart {
  StreamSize log;      ///< that it had to read
  double seconds = 0;  ///< from the start of its process until it is ready
};

class BenchCluster {
 public:
  /// Starts the first node, which founds the cluster, and applies the workflow of lifecycles.
  /// `name` is also the prefix of its streams and subjects. Returns when the node is the active,
  /// and the nats-server 0, to which it is connected, leads the event stream and the log. `nats`
  /// outlives the object.
  /// `waiting`: the store with which the first node founds the cluster has so many instances that
  /// wait for an event; they become the first snapshot.
  BenchCluster(const NatsTrio& nats, std::string name, size_t waiting = 0);

  /// From the start of the process of the first node until it was ready.
  double founding_seconds() const { return founding_seconds_; }

  MillraceProcess& active() { return *nodes_.at(active_); }
  /// For loads on the active.
  LoadBroker broker() const;
  StreamSize log() const { return nats_.size_of(log_); }

  /// Starts the other node with an empty folder, and returns when it is ready.
  StandbyStart start_standby();
  /// How far the standby is behind now. Precondition: start_standby().
  StandbyLag standby_lag();

  /// Kills the active with SIGKILL, and returns the seconds until the standby has acknowledged a
  /// command, which starts an instance. Then starts the killed node again, and returns when it is a
  /// standby that is ready. Precondition: start_standby(). If no command is acknowledged within a
  /// minute, the program ends.
  double take_over();

  /// Starts instances that wait for an event, and returns when the active has started them.
  void add_waiting(size_t count) { add_waiting_to(active(), count); }

 private:
  MillraceProcess& standby() { return *nodes_.at(1 - active_); }
  std::vector<std::string> options_of_server() const;
  std::vector<std::string> options_of(size_t index) const;
  std::filesystem::path folder_of(size_t index) const;
  void add_waiting_to(MillraceProcess& server, size_t count);
  void fill_first_folder(size_t waiting);
  void make_node(size_t index);
  uint64_t applied_by_standby();

  const NatsTrio& nats_;
  const std::string name_;
  const std::string log_;  ///< the stream of the log
  ScratchFolder run_ = make_run_folder();
  std::array<HeldPort, 2> ports_;
  std::array<std::unique_ptr<MillraceProcess>, 2> nodes_;
  size_t active_ = 0;   ///< index of the node that is the active
  size_t waiting_ = 0;  ///< instances that were started and wait
  double founding_seconds_ = 0;
};

}  // namespace millrace
