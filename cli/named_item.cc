#include "cli/named_item.h"

namespace millrace {

Ended show_named(Session& session, const ApiCall& call) {
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace millrace
