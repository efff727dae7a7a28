// How much of the log a node of a cluster has, and which of the nodes that answer has more than
// another one. A log that is whole has as much as any node: a node has more than a node that has
// read all of the log only if the log has lost its newest messages. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

struct LogRank {
  uint64_t epoch = 0;     ///< of the latest `begin` that the node has
  uint64_t sequence = 0;  ///< of the latest message that it has

  auto operator<=>(const LogRank&) const = default;
};

/// A node that has said how much of the log it has.
struct RankedNode {
  std::string node;  ///< its id
  LogRank rank;
  std::string address = {};  ///< the URL at which it answers
  /// Its history is another one than that of the log: what it has does not count.
  bool is_diverged = false;

  bool operator==(const RankedNode&) const = default;
};

/// The node that has most of the log, if it has more than the node `node`, whose rank is `own`.
std::optional<RankedNode> node_with_more(std::string_view node, const LogRank& own,
                                         std::span<const RankedNode> answers);

/// Whether no node that answers has as much as the node `node`, and an id before its id.
bool is_first_of_equals(std::string_view node, const LogRank& own,
                        std::span<const RankedNode> answers);

/// As node_with_more(), for an active in the epoch `epoch`: a node that knows of a later epoch.
/// Then the active is deposed, whatever the log says. A standby may have read what the active is
/// appending.
std::optional<RankedNode> node_of_later_epoch(std::string_view node, uint64_t epoch,
                                              std::span<const RankedNode> answers);

}  // namespace millrace
