// `millrace secret`: sets, lists and deletes secrets. Values are read from standard input only:
// other users of the machine can see a command line, and it stays in the shell's history.
#include "cli/command_line.h"
#include "cli/named_item.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

Ended set_secret(Session& session, const std::string& name) {
  ApiCall call{.method = "PUT", .path = session.path({"secrets", name})};
  call.body = TRY(read_file(session.console, "-"));
  // A shell adds the line break at the end; it is rarely part of the secret.
  if (call.body.ends_with('\n')) call.body.pop_back();
  if (call.body.ends_with('\r')) call.body.pop_back();
  if (call.body.empty())
    return wrong_usage("standard input is empty; expected the value of the secret");
  return show_named(session, call);
}

Ended list_secrets(Session& session, const PageOptions& page) {
  return show_pages(session, {.path = session.path({"secrets"})}, page, {field("SECRET", "name")},
                    "name");
}

Ended delete_secret(Session& session, const std::string& name) {
  return show_named(session, {.method = "DELETE", .path = session.path({"secrets", name})});
}

}  // namespace

void add_secret_verbs(CommandLine& commands) {
  CommandLine secret =
      commands.noun("secret", "Secrets, which states can read and the API never shows");
  auto [set, name] =
      secret.asking<std::string>("set", "Sets a secret to the text of standard input",
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
