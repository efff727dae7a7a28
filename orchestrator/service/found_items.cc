#include "orchestrator/service/found_items.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

bool is_of_broker(const Error& error) { return error.code.starts_with("broker."); }

/// An item of a list of events as an item of what was found.
Json found_event(const Json& event) {
  return {{"kind", "event"},
          {"id", dump_json(event.at("sequence"))},
          {"label", fmt::format("{} of {}, {}", event.value("type", ""), event.value("source", ""),
                                event.value("time", ""))}};
}

}  // namespace

Result<Json> join_found(Json found, const Result<Json>& events, Result<FoundLetters> letters) {
  if (!events && !is_of_broker(events.error())) return tl::unexpected(events.error());
  if (!letters && !is_of_broker(letters.error())) return tl::unexpected(letters.error());
  bool is_complete = events && letters && letters->is_complete && events->value("complete", false);
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
  return found;
}

}  // namespace millrace
