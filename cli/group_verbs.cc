// `millrace group`: lists and drops incomplete groups of events.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

/// The event types of which a group has events, with their numbers: `paid 1`; empty: `-`.
std::string arrived_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    const uint64_t waiting = entry.value("waiting", uint64_t{0});
    if (waiting == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.value("type", ""), waiting);
  }
  return text.empty() ? "-" : harmless(text);
}

/// The event types of which a group has no event yet.
std::string missing_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    if (entry.value("waiting", uint64_t{0}) > 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", entry.value("type", ""));
  }
  return text.empty() ? "-" : harmless(text);
}

Ended list_groups(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"groups"})}, page,
      {field("WORKFLOW", "workflow"), field("CORRELATE", "correlate"), Column{"HAS", arrived_text},
       Column{"LACKS", missing_text}, field("EXPIRES", "expiresAt"), field("GROUP", "id")},
      "id");
}

Ended drop_group(Session& session, const std::string& id) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"groups", id})}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

}  // namespace

void add_group_verbs(CommandLine& commands) {
  CommandLine group = commands.noun("group", "Incomplete groups of events");
  auto [list, page] = group.asking<PageOptions>(
      "list",
      "Lists the groups of eventsAnd starts that wait for more events, and when the first "
      "lifespan of an event in each group ends",
      "millrace group list", list_groups);
  add_page(list, page);
  auto [drop, dropped] = group.asking<std::string>(
      "drop",
      "Removes a group that will never be complete; the events that wait in it become dead letters",
      "millrace group drop ship:6f1ed002ab5595859014ebf0951522d9", drop_group);
  drop.option("GROUP", dropped, "The id of the group, from `group list`").required();
}

}  // namespace millrace
