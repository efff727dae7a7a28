#include "cluster/log_rank.h"

#include <algorithm>

namespace millrace {

std::optional<RankedNode> node_with_more(std::string_view node, const LogRank& own,
                                         std::span<const RankedNode> answers) {
  const RankedNode* most = nullptr;
  for (const RankedNode& one : answers) {
    if (one.node == node || one.is_diverged || one.rank <= own) continue;
    if (most == nullptr || one.rank > most->rank) most = &one;
  }
  return most == nullptr ? std::nullopt : std::optional(*most);
}

bool is_first_of_equals(std::string_view node, const LogRank& own,
                        std::span<const RankedNode> answers) {
  return std::none_of(answers.begin(), answers.end(), [&](const RankedNode& one) {
    return !one.is_diverged && one.rank == own && one.node < node;
  });
}

std::optional<RankedNode> node_of_later_epoch(std::string_view node, uint64_t epoch,
                                              std::span<const RankedNode> answers) {
  return node_with_more(node, {.epoch = epoch, .sequence = UINT64_MAX}, answers);
}

}  // namespace millrace
