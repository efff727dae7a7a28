// `millrace group`: lists and drops incomplete groups of events.
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/attribute_flag.h"
#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

struct GroupListOptions {
  std::string workflow;
  std::string id;
  std::string attribute;  ///< `NAME=VALUE`
  PageOptions page;
};

struct GroupDropOptions {
  std::string id;
  bool is_dry = false;
};

/// The event types of which a group has events, with their numbers and the sequence of the event
/// that has waited longest: `paid 1 (#79)`; none: `-`.
std::string arrived_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    const uint64_t waiting = entry.value("waiting", uint64_t{0});
    if (waiting == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.value("type", ""), waiting);
    const Json first = entry.value("first", Json::object());
    if (first.contains("sequence")) text += fmt::format(" (#{})", dump_json(first["sequence"]));
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

Ended list_groups(Session& session, const GroupListOptions& options) {
  ApiCall call{.path = session.path({"groups"}),
               .query = {{"workflow", options.workflow}, {"id", options.id}}};
  if (!options.attribute.empty()) {
    const auto [name, value] = TRY(read_attribute(options.attribute));
    if (value.empty()) {
      return wrong_usage(fmt::format("--attr {}: the value is empty", options.attribute));
    }
    call.query.emplace_back("attribute", name);
    call.query.emplace_back("value", value);
  }
  return show_pages(
      session, std::move(call), options.page,
      {field("WORKFLOW", "workflow"), field("CORRELATE", "correlate"), Column{"HAS", arrived_text},
       Column{"LACKS", missing_text}, field("EXPIRES", "expiresAt"), field("GROUP", "id")},
      "id");
}

/// Shows what `group drop` would remove.
Ended show_drop(Session& session, const std::string& id) {
  Reply reply = TRY(session.client.send({.path = session.path({"groups"}), .query = {{"id", id}}}));
  const Json items = reply.body.value("items", Json::array());
  if (items.empty()) {
    return give_up(ExitCode::kNotFound, "group.not_found",
                   fmt::format("no event waits in a group \"{}\" in namespace \"{}\"; `millrace -n "
                               "{} group list` lists the groups",
                               id, session.ns, shell_word(session.ns)));
  }
  const Json& group = items.front();
  if (session.output.format() != Format::kTable) {
    session.output.item(group, "id");
  } else {
    session.console.out << fmt::format(
        "Not dropped: the group has {} and lacks {}; its events would become dead letters.\n",
        arrived_text(group), missing_text(group));
  }
  return ExitCode::kOk;
}

Ended drop_group(Session& session, const GroupDropOptions& options) {
  if (options.is_dry) return show_drop(session, options.id);
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"groups", options.id})}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

}  // namespace

void add_group_verbs(CommandLine& commands) {
  CommandLine group = commands.noun("group", "Incomplete groups of events");
  auto [list, listed] = group.asking<GroupListOptions>(
      "list",
      "Lists the groups of eventsAnd starts that wait for more events, and when the first "
      "lifespan of an event in each group ends; `group drop` removes one",
      "millrace group list --workflow ship --attr order=o-1", list_groups);
  list.option("--workflow", listed.workflow, "Only groups of this workflow", "ID");
  list.option("--id", listed.id, "Only the group with this id");
  list.option("--attr", listed.attribute,
              "Only groups whose correlation has this value of the attribute", "NAME=VALUE");
  add_page(list, listed.page);
  auto [drop, dropped] = group.asking<GroupDropOptions>(
      "drop",
      "Removes a group that will never be complete; the events that wait in it become dead letters",
      "millrace group drop ship:6f1ed002ab5595859014ebf0951522d9 --dry-run", drop_group);
  drop.option("GROUP", dropped.id, "The id of the group, from `group list`").required();
  drop.flag("--dry-run", dropped.is_dry, "Remove nothing: show what the group has and lacks");
}

}  // namespace millrace
