#include "orchestrator/service/found_items.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "orchestrator/service/shapes.h"

namespace millrace {
namespace {

bool is_of_broker(const Error& error) { return error.code.starts_with("broker."); }

/// An item of a list of events as an item of what was found.
Json found_event(const Json& event) {
  return {{"kind", "event"},
          {"id", dump_json(event.at("sequence"))},
          {"label", event.contains("error")
                        ? fmt::format("a message that is not an event, {}", event.value("time", ""))
                        : fmt::format("{} of {}, {}", event.value("type", ""),
                                      event.value("source", ""), event.value("time", ""))}};
}

}  // namespace

Result<Json> find_events(EventDesk& desk, std::string_view ns, std::string_view text) {
  Json found = TRY(desk.list(ns, {.limit = kMostFoundEvents, .id = std::string(text)}));
  const uint64_t sequence = whole_number(text).value_or(0);
  if (sequence == 0) return found;
  Result<Json> one = desk.get(ns, sequence);
  if (!one && one.error().code == "event.not_found") return found;
  if (!one) return one;
  Json& items = found["items"];
  const bool is_listed = std::any_of(items.begin(), items.end(), [&](const Json& event) {
    return event.at("sequence") == sequence;
  });
  if (!is_listed) items.insert(items.begin(), *std::move(one));
  return found;
}

Result<Json> join_found(Json found, const Result<Json>& events, Result<FoundLetters> letters) {
  if (!events && !is_of_broker(events.error())) return tl::unexpected(events.error());
  if (!letters && !is_of_broker(letters.error())) return tl::unexpected(letters.error());
  bool is_complete =
      events && letters && letters->is_complete && events->value("next", Json()).is_null();
  const auto add = [&](Json item) {
    const bool has_room = found["items"].size() < kMostFound;
    if (has_room) found["items"].push_back(std::move(item));
    is_complete = is_complete && has_room;
  };
  if (events) {
    for (const Json& event : events->at("items")) add(found_event(event));
  }
  if (letters) {
    for (Json& letter : letters->items) add(std::move(letter));
  }
  if (!is_complete) found["complete"] = false;
  if (!events || !letters) {
    const Error& error = !events ? events.error() : letters.error();
    found["notRead"] = to_json(error);
  }
  return found;
}

}  // namespace millrace
