#include "cli/event_lookup.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/other_namespaces.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// How many pages of the list of events are read for an id. The server looks at 1 000 messages for
/// a page.
constexpr int kMostLookupPages = 5;

/// How many events with the same id are shown.
constexpr size_t kMostNamesakes = 20;

struct EventsWithId {
  std::vector<Json> events;  ///< newest first
  uint64_t looked = 0;       ///< messages of the namespace
  bool is_complete = false;  ///< the stream has no older ones
};

Fallible<EventsWithId> events_with_id(Session& session, const ApiCall& list) {
  ApiCall call = list;
  call.query.emplace_back("cursor", "");
  EventsWithId found;
  for (int page = 0; page < kMostLookupPages && !found.is_complete; ++page) {
    Reply reply = TRY(session.client.send(call));
    for (Json& event : reply.body["items"]) found.events.push_back(std::move(event));
    found.looked += reply.body.value("looked", uint64_t{0});
    if (found.events.size() >= kMostNamesakes) break;
    found.is_complete = !reply.body["next"].is_string();
    if (!found.is_complete) call.query.back().second = reply.body["next"].get<std::string>();
  }
  return found;
}

/// Where to look for an event whose id was not found.
std::string elsewhere_text(Session& session, const std::string& id, const ApiCall& list,
                           bool is_complete) {
  const std::string command = "millrace -n " + shell_word(session.ns);
  const std::string older =
      is_complete
          ? fmt::format("`{} event list` lists the events", command)
          : fmt::format("`{} event list --id {}` also finds older ones", command, shell_word(id));
  return fmt::format(
      "{}; {}, `{} dlq list` the messages that could not be used, and `{} overview` names to which "
      "events were sent and which no namespace has",
      other_namespaces_text(find_in_other_namespaces(session, list)), older, command, command);
}

/// The sequence of the only event with that id. `before`: what the message of a failure begins
/// with.
Fallible<std::string> sequence_of_id(Session& session, const std::string& id,
                                     const std::string& before) {
  const ApiCall list{.path = session.path({"events"}),
                     .query = {{"id", id}, {"limit", std::to_string(kMostNamesakes)}}};
  const EventsWithId found = TRY(events_with_id(session, list));
  if (found.events.size() == 1) return dump_json(found.events.front()["sequence"]);
  if (found.events.empty()) {
    return give_up(
        ExitCode::kNotFound, "event.not_found",
        fmt::format("{}no event in namespace {} has the id {} ({} {} messages were "
                    "looked at){}",
                    before, session.ns, in_quotes(id), found.is_complete ? "all" : "the newest",
                    found.looked, elsewhere_text(session, id, list, found.is_complete)));
  }
  std::string lines;
  for (const Json& event : found.events) {
    lines += fmt::format("\n  {}  {}  {}  {}", dump_json(event["sequence"]),
                         harmless(event.value("time", "")), harmless(event.value("type", "")),
                         harmless(event.value("source", "")));
  }
  return give_up(
      ExitCode::kFailed, "cli.several_events",
      fmt::format("{} events in namespace {} have the id {}; name one by its sequence:{}",
                  found.events.size(), session.ns, in_quotes(id), lines));
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Fallible<Reply> ask_about_event(
    Session& session, const std::string& named,
    const std::function<Fallible<Reply>(const std::string& sequence)>& ask) {
  if (named.empty()) return wrong_usage("expected the sequence or the id of an event");
  std::string before;
  if (is_number(named)) {
    Fallible<Reply> reply = ask(named);
    if (reply || reply.error().error.code != "event.not_found") return reply;
    before = reply.error().error.message + "; ";
  }
  return ask(TRY(sequence_of_id(session, named, before)));
}

}  // namespace millrace
