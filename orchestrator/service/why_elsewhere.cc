// What LocalWhyDesk says about other namespaces: in which of them something listens for a type, and
// which of them got an event for which an instance waits.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudevents/nats_binding.h"
#include "orchestrator/service/local_why_desk.h"
#include "orchestrator/service/why_parts.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// How many other namespaces are looked at: for listeners in memory, for events in the stream.
constexpr size_t kMostNamespaces = 100;
constexpr size_t kMostNamespacesRead = 5;

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

Status LocalWhyDesk::add_sent_elsewhere(std::string_view ns, const Awaited& awaited,
                                        const WhyWindow& window, bool must_fit, Json& answer) {
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
  std::optional<TimePoint> cut_from;
  JudgedPatterns patterns;
  for (const std::string& name : names) {
    const Newest newest = TRY(find_newest(name, window, awaited.types, kMostEventsOfAnInstance));
    const auto fitting = std::find_if(
        newest.events.begin(), newest.events.end(),
        [&](const Found& one) { return fits_one(awaited.filters, one.stored, patterns); });
    const bool fits = fitting != newest.events.end();
    if (!fits && !newest.is_complete) {
      const TimePoint from = newest.from.value_or(parts_.clock.now());
      cut_from = std::max(cut_from.value_or(from), from);
    }
    if (!fits && (must_fit || newest.events.empty())) continue;
    answer["elsewhere"].push_back(name);
    if (!fits) continue;
    Json found = place_json(fitting->stored);
    if (const Result<Event> event = decode_nats(fitting->stored.message)) {
      found.update(json_of_event(*event));
    }
    found["namespace"] = name;
    answer["elsewhereEvents"].push_back(std::move(found));
  }
  if (cut_from) answer["elsewhereLook"]["from"] = format_rfc3339(*cut_from);
  if (!has_all_names) answer["elsewhereLook"]["namespaces"] = names;
  return {};
}

}  // namespace millrace
