#include "cli/verbs.h"

namespace millrace {

Ended list_dead_letters(Session& session, const PageOptions& page) {
  const Reply reply = TRY(session.client.send(
      {.path = session.path({"dlq"}), .query = {{"limit", page.limit}, {"cursor", page.cursor}}}));
  session.output.list(
      reply.body,
      {field("ID", "id"), age("AGE", "time", session.console.now()), field("REASON", "reason"),
       field("SUBJECT", "subject"), field("SIZE", "size"), field("DETAIL", "detail")},
      "id");
  return ExitCode::kOk;
}

}  // namespace millrace
