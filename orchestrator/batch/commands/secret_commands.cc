#include "orchestrator/batch/commands/secret_commands.h"

#include <fmt/format.h>

#include "model/service_url.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {

Result<Json> run_command(const CommandContext& context, const PutSecret& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const bool created = !has_secret(context.batch.tx, ns, command.name);
  write_secret(context.batch.tx, ns, command.name, command.value);
  return Json{{"name", command.name}, {"created", created}};
}

Result<Json> run_command(const CommandContext& context, const DeleteSecret& command) {
  BatchState& batch = context.batch;
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  if (!has_secret(batch.tx, ns, command.name)) {
    return fail("secret.not_found", fmt::format("there is no secret \"{}\" in namespace \"{}\"",
                                                command.name, command.ns));
  }
  for (const WebhookSetting& webhook : batch.catalog.settings(ns).webhooks) {
    if (webhook.secret != command.name) continue;
    return fail(
        "secret.in_use",
        fmt::format("the webhook to {} sends the secret \"{}\" as its token; remove it from "
                    "the settings of namespace \"{}\" first",
                    shown_url(webhook.url), command.name, command.ns));
  }
  erase_secret(batch.tx, ns, command.name);
  return Json{{"name", command.name}, {"deleted", true}};
}

}  // namespace millrace
