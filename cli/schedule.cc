#include "cli/verbs.h"

namespace millrace {

Ended list_schedules(Session& session) {
  const Reply reply = TRY(session.client.send({.path = session.path({"schedules"})}));
  session.output.list(
      reply.body,
      {field("WORKFLOW", "workflow"), field("CRON", "cron"), field("ZONE", "zone"),
       field("NEXT", "nextTick"), field("LAST", "lastTick"), flag("PAUSED", "paused")},
      "workflow");
  return ExitCode::kOk;
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

}  // namespace millrace
