#include "app/leave_cluster.h"

#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/log.h"
#include "app/store_exit_code.h"
#include "orchestrator/batch/crash_note_file.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/leave_cluster.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// Reads the cluster of the folder and writes nothing, so a folder without a store, or of a server
/// without a cluster, stays as it is.
Result<ClusterOfStore> inspect_node(const std::string& data) {
  const auto environment = TRY(Environment::open(data, {.read_only = true}));
  const Snapshot view = TRY(Snapshot::take(*environment));
  return TRY(read_cluster_of_store(view));
}

/// The order of the two steps makes a second try complete: the folder belongs to its cluster until
/// the last one. A crash note in a file is older than the cluster: a node writes none.
Result<ClusterOfStore> leave(const std::string& data) {
  TRY(inspect_node(data));
  const auto environment = TRY(Environment::open(data));
  TRY(CrashNoteFile::discard(environment->folder()));
  return TRY(leave_cluster(*environment));
}

std::string advice(const std::string& data, const ClusterOfStore& left) {
  const std::string cluster = left.cluster.empty() ? "its cluster" : "the cluster " + left.cluster;
  return fmt::format(
      "{0} has left {1}; start it with `millrace serve --data {0}`, without --cluster, with the "
      "same --secret-key-file and --stream-prefix.\n"
      "Before that, compare the position with what `millrace cluster status` has shown as "
      "COMMITTED: if another "
      "node has a later commit, use its folder instead.\n"
      "The other nodes of {1} must not start any more: a node and this server would use the same "
      "streams. Stop and disable them, and remove their folders when you do not need them.\n",
      data, cluster);
}

}  // namespace

Ended leave_cluster_with(Console& console, Output& output, const LeaveOptions& options) {
  log_to_stderr();
  spdlog::set_level(spdlog::level::warn);
  const Result<ClusterOfStore> left = leave(options.data);
  if (!left) return give_up(exit_code_of(left.error()), left.error());
  output.item({{"data", options.data},
               {"cluster", left->cluster},
               {"epoch", left->position.name.epoch},
               {"commit", left->position.name.commit},
               {"position", left->position.sequence}},
              "data");
  console.err << harmless(advice(options.data, *left), "\n");
  return ExitCode::kOk;
}

}  // namespace millrace
