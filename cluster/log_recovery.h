// LogRecovery: what a node does when it looks whether the log of its cluster has lost its newest
// messages. A node knows of a loss if it has more of the log than the stream, or if another node
// has more than itself. Behind such a loss all registered nodes must answer: then the node that has
// most of the log appends its messages again, and only then a node begins an epoch. If nothing is
// lost as far as is known, no node waits for one that is away. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/log_rank.h"

namespace millrace {

/// A node that the cluster has registered.
struct RegisteredNode {
  std::string node;     ///< its id
  std::string address;  ///< the URL at which it answered last

  bool operator==(const RegisteredNode&) const = default;
};

/// What the node `node` knows.
struct LogSituation {
  std::string_view node;
  LogRank own;              ///< how much of the log it has
  uint64_t stream_end = 0;  ///< the last sequence of the stream
  std::span<const RankedNode> answers;
  std::span<const RegisteredNode> registered;
  /// Of the nodes that have answered before, the one that had most of the log; nullopt: none has
  /// had more than `own`. It counts as long as it is registered.
  std::optional<RankedNode> seen = std::nullopt;
};

struct LogRecovery {
  enum class What : uint8_t {
    kNone,     ///< nothing is lost, as far as is known: a node may begin an epoch
    kRestore,  ///< this node appends again what it has behind the end of the stream
    kWait,     ///< no epoch begins, and this node appends nothing; `why` is set
  };
  What what = What::kNone;
  std::string why = {};  ///< a sentence

  bool operator==(const LogRecovery&) const = default;
};

LogRecovery plan_recovery(const LogSituation& situation);

/// The node that LogSituation::seen names from now on.
std::optional<RankedNode> most_seen(const LogSituation& situation);

/// The registered nodes other than `node` of which there is no answer.
std::vector<RegisteredNode> nodes_away(std::string_view node, std::span<const RankedNode> answers,
                                       std::span<const RegisteredNode> registered);

}  // namespace millrace
