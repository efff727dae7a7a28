// What LocalWhyDesk says about the replays of an event: whether it was sent again, and what came of
// that.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/service/event_effects.h"
#include "orchestrator/service/event_item.h"
#include "orchestrator/service/event_replay.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/namespace_record.h"

namespace millrace {
namespace {

/// How many replays an answer has, and how long the look for them may take.
constexpr size_t kMostReplaysShown = 3;
constexpr Duration kReplaysTime{100};

/// Whether the event was made by replaying the one with that id, and, unless it was corrected, that
/// source or type.
bool replays(const Event& event, const Json& original) {
  const auto of = event.extensions.find(std::string(kReplayAttribute));
  if (of == event.extensions.end() || attribute_json(of->second) != original["id"]) return false;
  return event.source == original["source"] || event.type == original["type"];
}

}  // namespace

Status LocalWhyDesk::add_replays(std::string_view ns, uint64_t sequence, const WhyFilter& filter,
                                 Json& answer) const {
  const Json& original = answer["event"];
  if (!original.contains("id")) return {};
  struct Replay {
    std::string ns;
    uint64_t sequence = 0;
  };
  std::vector<Replay> found;
  const SearchedNamespaces searched = TRY(searched_namespaces(ns, filter));
  std::vector<std::string> names{std::string(ns)};
  names.insert(names.end(), searched.others.begin(), searched.others.end());
  const Duration end = parts_.clock.elapsed() + kReplaysTime;
  for (const std::string& name : names) {
    TRY(read_newest(name, {.first = sequence + 1, .end = end},
                    [&](uint64_t later, const Event& event) {
                      if (replays(event, original)) found.push_back({name, later});
                      return found.size() < kMostReplaysShown;
                    }));
  }
  if (found.empty()) return {};
  const StreamSpan span = TRY(parts_.events.span());
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(snapshot());
  for (const Replay& one : found) {
    const NamespaceRecord record = TRY(namespace_record(view, one.ns));
    EventEffects known = TRY(EventEffects::make(view, record.number, span.created, applied));
    Json replay{{"namespace", one.ns}, {"sequence", one.sequence}};
    TRY(known.add_to(replay, one.sequence, TRY(known.of(one.sequence))));
    answer["replays"].push_back(std::move(replay));
  }
  return {};
}

}  // namespace millrace
