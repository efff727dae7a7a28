// Secrets come from standard input only: a command line can be seen by others on the machine, and
// stays in the shell's history.
#include "cli/verbs.h"

namespace millrace {

Ended set_secret(Session& session, const std::string& name) {
  ApiCall call{.method = "PUT", .path = session.path({"secrets", name})};
  call.body = TRY(read_file(session.console, "-"));
  // What a shell puts at the end of a line is hardly ever meant.
  if (call.body.ends_with('\n')) call.body.pop_back();
  if (call.body.ends_with('\r')) call.body.pop_back();
  if (call.body.empty())
    return wrong_usage("the secret is read from standard input, and was empty");
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended list_secrets(Session& session, const PageOptions& page) {
  return show_pages(session, {.path = session.path({"secrets"})}, page, {field("SECRET", "name")},
                    "name");
}

Ended delete_secret(Session& session, const std::string& name) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"secrets", name})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace millrace
