#include "cluster/log_recovery.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

std::string where_log_ends(const LogSituation& situation) {
  return fmt::format("the log of the cluster has lost its newest messages: it ends at message {}",
                     situation.stream_end);
}

std::string who_has_more(const RankedNode& more) {
  return fmt::format("node {} at {} has it up to message {}, in epoch {}", more.node, more.address,
                     more.rank.sequence, more.rank.epoch);
}

LogRecovery wait_for_away(const LogSituation& situation, const std::optional<RankedNode>& more,
                          std::span<const RegisteredNode> away) {
  std::vector<std::string> names;
  names.reserve(away.size());
  for (const RegisteredNode& one : away) {
    names.push_back(fmt::format("{} at {}", one.node, one.address));
  }
  const std::string most = more ? who_has_more(*more)
                                : fmt::format("this node has it up to message {}, in epoch {}",
                                              situation.own.sequence, situation.own.epoch);
  return {LogRecovery::What::kWait,
          fmt::format("{}, {}, and registered nodes that may have more do not answer: {}; start "
                      "them",
                      where_log_ends(situation), most, fmt::join(names, ", "))};
}

}  // namespace

std::vector<RegisteredNode> nodes_away(std::string_view node, std::span<const RankedNode> answers,
                                       std::span<const RegisteredNode> registered) {
  std::vector<RegisteredNode> away;
  for (const RegisteredNode& one : registered) {
    const bool has_answered = std::any_of(
        answers.begin(), answers.end(), [&](const auto& other) { return other.node == one.node; });
    if (one.node != node && !has_answered) away.push_back(one);
  }
  return away;
}

std::optional<RankedNode> most_seen(const LogSituation& situation) {
  std::optional<RankedNode> most = node_with_more(situation.node, situation.own, situation.answers);
  if (!situation.seen || situation.seen->rank <= situation.own) return most;
  // A node that answers may have started again with another history.
  const bool answers =
      std::any_of(situation.answers.begin(), situation.answers.end(),
                  [&](const RankedNode& one) { return one.node == situation.seen->node; });
  const bool is_registered =
      std::any_of(situation.registered.begin(), situation.registered.end(),
                  [&](const RegisteredNode& one) { return one.node == situation.seen->node; });
  if (answers || !is_registered) return most;
  if (most && most->rank >= situation.seen->rank) return most;
  return situation.seen;
}

LogRecovery plan_recovery(const LogSituation& situation) {
  const std::optional<RankedNode> more = most_seen(situation);
  const bool is_short = situation.stream_end < situation.own.sequence;
  if (!more && !is_short) return {};
  const auto away = nodes_away(situation.node, situation.answers, situation.registered);
  if (!away.empty()) return wait_for_away(situation, more, away);
  if (!more) return {LogRecovery::What::kRestore};
  return {LogRecovery::What::kWait,
          fmt::format("{}, and {}; this node takes nothing over before that node has appended the "
                      "rest again",
                      where_log_ends(situation), who_has_more(*more))};
}

}  // namespace millrace
