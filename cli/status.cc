// `millrace status`: for people who wonder, and for whoever runs containers and wants an exit code.
#include "cli/verbs.h"

namespace millrace {

Ended show_status(Session& session) {
  const Reply reply = TRY(session.client.send({.path = "/readyz"}));
  session.output.item(reply.body, "status");
  return ExitCode::kOk;
}

}  // namespace millrace
