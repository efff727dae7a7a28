#include "cluster/snapshot_plan.h"

#include <algorithm>

namespace millrace {

uint64_t bytes_behind(const LogSize& log, uint64_t sequence) {
  if (log.last < log.first || sequence >= log.last) return 0;
  const uint64_t messages = log.last - log.first + 1;
  const uint64_t behind = std::min(log.last - sequence, messages);
  return static_cast<uint64_t>(static_cast<double>(log.bytes) * static_cast<double>(behind) /
                               static_cast<double>(messages));
}

bool is_snapshot_due(const LogSize& log, uint64_t store_bytes, uint64_t least,
                     std::optional<uint64_t> newest_from) {
  return bytes_behind(log, newest_from.value_or(0)) >= std::max(store_bytes, least);
}

size_t snapshot_turn(std::string_view node, bool is_active, std::vector<std::string> standbys) {
  if (is_active) return standbys.size();
  std::sort(standbys.begin(), standbys.end());
  return static_cast<size_t>(std::lower_bound(standbys.begin(), standbys.end(), node) -
                             standbys.begin());
}

std::optional<uint64_t> trim_point(const LogSize& log, std::span<const KnownSnapshot> snapshots,
                                   Duration rest) {
  if (snapshots.size() < 2) return std::nullopt;
  const KnownSnapshot& newest = snapshots[0];
  const KnownSnapshot& before = snapshots[1];
  if (!before.is_read_back || newest.age < rest || before.age < rest) return std::nullopt;
  const uint64_t first = std::min(before.from, newest.from) + 1;
  if (first <= log.first || first > log.last) return std::nullopt;
  return first;
}

}  // namespace millrace
