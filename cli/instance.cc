#include <fmt/format.h>

#include "cli/verbs.h"
#include "policies/duration.h"

namespace millrace {

Fallible<std::string> moment_of(const std::string& text, TimePoint now) {
  if (text.empty() || parse_rfc3339(text)) return text;
  if (const Result<Span> span = Span::parse(text); span && span->months == 0) {
    return format_rfc3339(now - span->fixed);
  }
  return wrong_usage(
      fmt::format("--since {}: write how long ago (2h) or a moment (2021-09-01T12:00:00Z)", text));
}

Ended list_instances(Session& session, const InstanceListOptions& options) {
  const TimePoint now = session.console.now();
  const std::string since = TRY(moment_of(options.since, now));
  return show_pages(
      session,
      {.path = session.path({"instances"}),
       .query = {{"workflow", options.workflow}, {"status", options.status}, {"since", since}}},
      options.page,
      {field("INSTANCE", "id"), field("WORKFLOW", "workflow"), field("STATUS", "status"),
       field("STATE", "state"), age("STARTED", "startedAt", now), age("ENDED", "endedAt", now)},
      "id");
}

Ended get_instance(Session& session, const std::string& id) {
  const Reply reply = TRY(session.client.send({.path = session.path({"instances", id})}));
  session.output.item(reply.body, "id", {"input", "data", "output"});
  return ExitCode::kOk;
}

Ended delete_instance(Session& session, const std::string& id, bool damaged) {
  const Reply reply = TRY(session.client.send({.method = "DELETE",
                                               .path = session.path({"instances", id}),
                                               .query = {{"damaged", damaged ? "1" : ""}}}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended show_history(Session& session, const std::string& id) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"instances", id, "history"})}));
  session.output.list(reply.body,
                      {field("TIME", "time"), field("KIND", "kind"), field("STATE", "state"),
                       field("DETAIL", "detail")},
                      "kind");
  return ExitCode::kOk;
}

}  // namespace millrace
