#include "cli/verbs.h"

namespace millrace {

Ended list_listeners(Session& session, const PageOptions& page) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"listeners"}),
                               .query = {{"limit", page.limit}, {"cursor", page.cursor}}}));
  session.output.list(
      reply.body,
      {field("KIND", "kind"), field("WORKFLOW", "workflow"), field("INSTANCE", "instance"),
       field("STATE", "state"), field("TYPE", "type"), field("CONTEXT", "context")},
      "type");
  return ExitCode::kOk;
}

}  // namespace millrace
