// What LocalWhyDesk says about other namespaces: in which of them something listens for a type, and
// which of them got an event for which an instance waits, also names that no namespace has.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/similar_names.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/service/letter_of_event.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/why_parts.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// How many other namespaces are looked at: for listeners in memory, for events in the stream.
constexpr size_t kMostNamespaces = 100;
constexpr size_t kMostNamespacesRead = 5;

/// How many names that no namespace has are compared with that of the namespace.
constexpr size_t kMostNamesCompared = 1'000;

/// The reason of the dead letters of events that came for a namespace that does not exist.
constexpr std::string_view kNoSuchNamespace = "namespace.not_found";

/// Whether the message is an event that one of the filters matches.
bool fits_one(const std::vector<EventFilter>& filters, const StoredEvent& stored,
              JudgedPatterns& patterns) {
  Result<Event> decoded = decode_nats(stored.message);
  if (!decoded) return false;
  const JudgedEvent event(*std::move(decoded));
  return std::any_of(filters.begin(), filters.end(), [&](const EventFilter& filter) {
    return filter.type == event.event.type && judge(filter, event, patterns).failing() == 0;
  });
}

/// A name with its distance from another one.
using RankedName = std::pair<size_t, std::string>;

RankedName ranked(std::string_view ns, const std::string& name) {
  return {name_distance(ns, name).value_or(std::numeric_limits<size_t>::max()), name};
}

/// {"namespace","sequence","time","id"?,"type"?,"source"?}
Json sent_json(const std::string& ns, const StoredEvent& stored) {
  Json json = place_json(stored);
  if (const Result<Event> event = decode_nats(stored.message)) json.update(json_of_event(*event));
  json["namespace"] = ns;
  return json;
}

}  // namespace

Json LocalWhyDesk::listening_elsewhere(const View& view, std::string_view ns,
                                       std::string_view type) const {
  std::vector<std::string> names;
  Json found = Json::array();
  const Status read =
      each_namespace_behind(view, "", [&](std::string_view name, const NamespaceRecord&) {
        if (name != ns) names.emplace_back(name);
        return names.size() < kMostNamespaces;
      });
  if (!read) return found;
  // Without an answer of the engine thread the hint is missing, and nothing else.
  static_cast<void>(parts_.ask_index([&](const EngineMemory& memory) {
    for (const std::string& name : names) {
      if (memory.waiting.near(name, type, {}, 0).of > 0) found.push_back(name);
    }
  }));
  return found;
}

Result<LocalWhyDesk::FoundElsewhere> LocalWhyDesk::look_into(const std::string& name,
                                                             ElsewhereLook& look) {
  Newest newest = TRY(find_newest(name, look.window, look.awaited.types, kMostEventsOfAnInstance));
  FoundElsewhere found;
  if (!newest.events.empty()) found.newest = newest.events.front().stored;
  for (Found& one : newest.events) {
    if (!fits_one(look.awaited.filters, one.stored, look.patterns)) continue;
    found.fitting = std::move(one.stored);
    return found;
  }
  if (newest.is_complete) return found;
  const TimePoint from = newest.from.value_or(parts_.clock.now());
  look.cut_from = std::max(look.cut_from.value_or(from), from);
  return found;
}

Status LocalWhyDesk::add_sent_elsewhere(std::string_view ns, ElsewhereLook& look, Json& answer) {
  std::vector<std::string> names;
  {
    const Snapshot view = TRY(snapshot());
    TRY(each_namespace_behind(view, "", [&](std::string_view name, const NamespaceRecord&) {
      if (name != ns) names.emplace_back(name);
      return names.size() <= kMostNamespacesRead;
    }));
  }
  const bool has_all_names = names.size() <= kMostNamespacesRead;
  if (!has_all_names) names.pop_back();
  for (const std::string& name : names) {
    const FoundElsewhere found = TRY(look_into(name, look));
    if (!found.fitting && (look.must_fit || !found.newest)) continue;
    answer["elsewhere"].push_back(name);
    if (found.fitting) answer["elsewhereEvents"].push_back(sent_json(name, *found.fitting));
  }
  if (!has_all_names) answer["elsewhereLook"]["namespaces"] = names;
  return {};
}

Result<std::vector<std::string>> LocalWhyDesk::unknown_names(std::string_view ns) const {
  const auto counts = TRY(parts_.letters.count_by_namespace(kNoSuchNamespace));
  const Snapshot view = TRY(snapshot());
  std::vector<RankedName> found;
  for (const auto& [name, count] : counts) {
    const Result<NamespaceRecord> known = namespace_record(view, name);
    if (!known && known.error().code != kNoSuchNamespace) return tl::unexpected(known.error());
    if (!known) found.push_back(ranked(ns, name));
    if (found.size() == kMostNamesCompared) break;
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (RankedName& one : found) names.push_back(std::move(one.second));
  return names;
}

Status LocalWhyDesk::add_sent_nowhere(std::string_view ns, ElsewhereLook& look, Json& answer) {
  std::vector<std::string> names = TRY(unknown_names(ns));
  const bool has_all_names = names.size() <= kMostNamespacesRead;
  if (!has_all_names) names.resize(kMostNamespacesRead);
  for (const std::string& name : names) {
    const FoundElsewhere found = TRY(look_into(name, look));
    if (!found.fitting && (look.must_fit || !found.newest)) continue;
    const StoredEvent& shown = found.fitting ? *found.fitting : *found.newest;
    Json item = sent_json(name, shown);
    item["fits"] = found.fitting.has_value();
    const Json letter = TRY(letter_of_event(parts_.letters, parts_.clock, shown));
    if (!letter.is_null()) item["deadLetter"] = letter["id"];
    answer["unknownNamespaces"].push_back(std::move(item));
  }
  if (!has_all_names) answer["elsewhereLook"]["unknown"] = names;
  return {};
}

}  // namespace millrace
