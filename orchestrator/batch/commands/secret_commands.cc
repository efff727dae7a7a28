#include "orchestrator/batch/commands/secret_commands.h"

#include <fmt/format.h>

#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {

Result<Json> run_command(const CommandContext& context, const PutSecret& command) {
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  const bool created = !has_secret(context.draft.tx, space, command.name);
  write_secret(context.draft.tx, space, command.name, command.value);
  return Json{{"name", command.name}, {"created", created}};
}

Result<Json> run_command(const CommandContext& context, const DeleteSecret& command) {
  Draft& draft = context.draft;
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  if (!has_secret(draft.tx, space, command.name)) {
    return fail("secret.not_found", fmt::format("there is no secret \"{}\" in namespace \"{}\"",
                                                command.name, command.space));
  }
  for (const WebhookSetting& webhook : draft.catalog.settings(space).webhooks) {
    if (webhook.secret != command.name) continue;
    return fail(
        "secret.in_use",
        fmt::format("the webhook to {} sends the secret \"{}\" as its token; remove it from "
                    "the settings of namespace \"{}\" first",
                    webhook.url, command.name, command.space));
  }
  erase_secret(draft.tx, space, command.name);
  return Json{{"name", command.name}, {"deleted", true}};
}

}  // namespace millrace
