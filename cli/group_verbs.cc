// `millrace group`: incomplete groups of events.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

/// The event types of a group with the number of waiting events: `paid 1, packed 0`.
std::string waiting_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.value("type", ""),
                        entry.value("waiting", 0));
  }
  return text;
}

Ended list_groups(Session& session, const PageOptions& page) {
  return show_pages(session, {.path = session.path({"groups"})}, page,
                    {field("WORKFLOW", "workflow"), field("CORRELATE", "correlate"),
                     Column{"WAITING", waiting_text}, field("EXPIRES", "expiresAt")},
                    "workflow");
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
}

}  // namespace millrace
