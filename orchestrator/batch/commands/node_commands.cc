#include "orchestrator/batch/commands/node_commands.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/time.h"
#include "orchestrator/store/rows/node_rows.h"

namespace millrace {
namespace {

/// All registered nodes, as Service::command lists them.
Result<Json> registered_nodes(const CommandContext& context) {
  Json nodes = Json::array();
  TRY(each_node(
      context.batch.tx,
      [&](const RandomName& node, const NodeRecord& record) {
        nodes.push_back({{"node", to_hex(node)},
                         {"address", record.address},
                         {"firstSeen", format_rfc3339(record.first_seen)}});
      },
      context.batch.damages.noting()));
  return Json{{"nodes", std::move(nodes)}};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const RegisterNode& command) {
  const auto before = TRY(read_node(context.batch.tx, command.node));
  if (!before) {
    const Json nodes = TRY(registered_nodes(context));
    if (nodes.at("nodes").size() >= kMostRegisteredNodes) {
      return fail("cluster.too_many_nodes",
                  fmt::format("node {} at {} is not registered: the cluster has {} registered "
                              "nodes, and at most {} are possible; remove those that do not exist "
                              "any more by `millrace cluster remove`",
                              to_hex(command.node), command.address, nodes.at("nodes").size(),
                              kMostRegisteredNodes));
    }
  }
  const NodeRecord record{.first_seen = before ? before->first_seen : context.now,
                          .address = command.address};
  if (before != record || command.is_first) write_node(context.batch.tx, command.node, record);
  return registered_nodes(context);
}

Result<Json> run_command(const CommandContext& context, const RemoveNode& command) {
  if (!TRY(read_node(context.batch.tx, command.node))) {
    return fail("cluster.node_not_found",
                fmt::format("the cluster has no registered node {}; `millrace cluster status` "
                            "shows the registered nodes",
                            to_hex(command.node)));
  }
  erase_node(context.batch.tx, command.node);
  return registered_nodes(context);
}

}  // namespace millrace
