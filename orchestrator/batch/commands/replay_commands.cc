#include "orchestrator/batch/commands/replay_commands.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"

namespace millrace {
namespace {

using ReplayState = ReplayRecord::State;
using Replays = std::vector<std::pair<ReplayPlace, ReplayRecord>>;

Result<Replays> all_replays(const CommandContext& context) {
  Replays all;
  TRY(each_replay(
      context.batch.tx,
      [&](const ReplayPlace& place, const ReplayRecord& record) {
        all.emplace_back(place, record);
      },
      context.batch.damages.noting()));
  return all;
}

/// Refuses a further replay if too many run, and erases the oldest ended ones: of the namespace, or
/// of all namespaces.
Status make_room_for_replay(const CommandContext& context, NamespaceNumber ns,
                            std::string_view name) {
  Replays all = TRY(all_replays(context));
  size_t running = 0;
  size_t running_here = 0;
  for (const auto& [place, record] : all) {
    if (record.state != ReplayState::kRunning) continue;
    ++running;
    running_here += place.ns == ns ? 1 : 0;
  }
  const bool is_full = running_here >= kMostReplaysOfNamespace;
  if (is_full || running >= kMostReplays) {
    // The name of a namespace is an identifier, which a shell takes as one word.
    const std::string_view shown = is_full ? name : "NAMESPACE";
    return fail(
        "replay.too_many",
        fmt::format("{} replays run in namespace \"{}\" and {} in all; at most {} and {} may run: "
                    "wait until one has ended, or stop one: `millrace -n {} replay list` lists "
                    "them, and `millrace -n {} replay stop ID` stops one",
                    running_here, name, running, kMostReplaysOfNamespace, kMostReplays, shown,
                    shown));
  }
  std::erase_if(all, [](const auto& one) { return one.second.state == ReplayState::kRunning; });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.created_at, a.first) < std::pair(b.second.created_at, b.first);
  });
  const auto is_here = [&](const auto& one) { return one.first.ns == ns; };
  size_t here = static_cast<size_t>(std::count_if(all.begin(), all.end(), is_here));
  size_t everywhere = all.size();
  for (const auto& one : all) {
    const bool one_too_many_here = is_here(one) && here >= kEndedReplaysKept;
    if (!one_too_many_here && everywhere < kAllEndedReplaysKept) continue;
    erase_replay(context.batch.tx, one.first);
    --everywhere;
    if (is_here(one)) --here;
  }
  return {};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const ChangeReplay& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  Transaction& tx = context.batch.tx;
  const ReplayPlace place{.ns = ns, .id = command.id};
  const std::string id = to_hex(command.id);
  if (command.kind == ChangeReplay::Kind::kBegin) {
    TRY(make_room_for_replay(context, ns, command.ns));
    write_replay(tx, place, command.record);
    return Json{{"id", id}};
  }
  const auto before = TRY(read_replay(tx, place));
  if (!before) {
    return fail("replay.not_found",
                fmt::format("there is no replay {} in namespace \"{}\"", id, command.ns));
  }
  if (before->state != ReplayState::kRunning) {
    return fail("replay.ended", fmt::format("replay {} has ended", id));
  }
  ReplayRecord after = command.record;
  if (command.kind == ChangeReplay::Kind::kStop) {
    after = *before;
    after.state = ReplayState::kStopped;
  }
  write_replay(tx, place, after);
  return Json{{"id", id}, {"stopped", after.state == ReplayState::kStopped}};
}

Status erase_replays(const CommandContext& context, NamespaceNumber ns) {
  for (const auto& [place, record] : TRY(all_replays(context))) {
    if (place.ns == ns) erase_replay(context.batch.tx, place);
  }
  return {};
}

}  // namespace millrace
