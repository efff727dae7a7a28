#include <fmt/format.h>

#include "cli/verbs.h"

namespace millrace {
namespace {

/// `paid 1, packed 0`.
std::string waiting_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.value("type", ""),
                        entry.value("waiting", 0));
  }
  return text;
}

}  // namespace

Ended list_groups(Session& session, const PageOptions& page) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"groups"}),
                               .query = {{"limit", page.limit}, {"cursor", page.cursor}}}));
  session.output.list(reply.body,
                      {field("WORKFLOW", "workflow"), field("CORRELATE", "correlate"),
                       Column{"WAITING", waiting_text}, field("EXPIRES", "expiresAt")},
                      "workflow");
  return ExitCode::kOk;
}

}  // namespace millrace
