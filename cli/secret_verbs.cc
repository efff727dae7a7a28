// `millrace secret`. Secrets come from standard input only: a command line can be seen by others on
// the machine, and stays in the shell's history.
#include "cli/command_line.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

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

}  // namespace

void add_secret_verbs(CommandLine& commands) {
  CommandLine secret = commands.noun("secret", "What actions may know and nobody else is told");
  auto [set, name] =
      secret.asking<std::string>("set", "Sets a secret to what standard input says",
                                 "millrace secret set api-token < token.txt", set_secret);
  set.option("id", name, "Name of the secret", "ID").required();
  auto [list, page] = secret.asking<PageOptions>("list", "Lists the names of the secrets",
                                                 "millrace secret list", list_secrets);
  add_page(list, page);
  auto [remove, removed] = secret.asking<std::string>(
      "delete", "Deletes a secret", "millrace secret delete api-token", delete_secret);
  remove.option("id", removed, "Name of the secret", "ID").required();
}

}  // namespace millrace
