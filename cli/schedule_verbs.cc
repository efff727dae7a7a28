// `millrace schedule`: workflows that are started by cron.
#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

Ended list_schedules(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"schedules"})}, page,
      {field("WORKFLOW", "workflow"), field("CRON", "cron"), field("ZONE", "zone"),
       field("NEXT", "nextTick"), field("LAST", "lastTick"), flag("PAUSED", "paused")},
      "workflow");
}

Ended show_next_ticks(Session& session, const std::string& workflow) {
  const Reply reply = TRY(session.client.send({.path = session.path({"schedules", workflow})}));
  Json items = Json::array();
  for (const Json& tick : reply.body.value("upcoming", Json::array())) {
    items.push_back({{"tick", tick}});
  }
  session.output.list({{"items", std::move(items)}}, {field("TICK", "tick")}, "tick");
  return ExitCode::kOk;
}

Ended trigger_schedule(Session& session, const std::string& workflow) {
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"schedules", workflow, "trigger"})}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

}  // namespace

void add_schedule_verbs(CommandLine& commands) {
  CommandLine schedule = commands.noun("schedule", "Workflows that a schedule starts");
  auto [list, page] = schedule.asking<PageOptions>(
      "list", "Lists the schedules, each with its next and its latest tick",
      "millrace schedule list", list_schedules);
  add_page(list, page, "1000");
  auto [next, shown] =
      schedule.asking<std::string>("next", "Shows the next five ticks of a schedule",
                                   "millrace schedule next report", show_next_ticks);
  next.option("id", shown, "Id of the workflow", "ID").required();
  auto [trigger, triggered] = schedule.asking<std::string>(
      "trigger", "Starts an instance of the workflow immediately, as a tick does",
      "millrace schedule trigger report", trigger_schedule);
  trigger.option("id", triggered, "Id of the workflow", "ID").required();
}

}  // namespace millrace
