#include "orchestrator/batch/commands/secret_commands.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/service_url.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {
namespace {

/// Keeps the value of a secret that is replaced by `next` or, if that is nullopt, erased.
Status keep_value(Transaction& tx, NamespaceNumber ns, std::string_view name,
                  const std::optional<std::string_view>& next) {
  const auto before = TRY(read_secret(tx, ns, name));
  if (!before || *before == next) return {};
  return keep_former_value(tx, ns, *before);
}

/// Notes a value as missing if a damaged row prevents that it is kept: a secret can always be set
/// again.
Status or_missing(Transaction& tx, NamespaceNumber ns, Status kept) {
  if (kept || !is_damaged_row(kept.error())) return kept;
  note_missing_value(tx, ns);
  return {};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const PutSecret& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  Transaction& tx = context.batch.tx;
  const bool created = !has_secret(tx, ns, command.name);
  if (created) {  // a secret that exists can always be set again
    const auto over = TRY(context.instances.quotas().refusal_of_bytes(ns));
    if (over) return tl::unexpected(*over);
  }
  TRY(or_missing(tx, ns, keep_value(tx, ns, command.name, command.value)));
  write_secret(tx, ns, command.name, command.value);
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
  for (const auto& [name, webhook] : batch.catalog.settings(ns).inbound) {
    const std::vector<std::string>& secrets = webhook.verify.secrets;
    if (std::find(secrets.begin(), secrets.end(), command.name) == secrets.end()) continue;
    return fail("secret.in_use",
                fmt::format("the inbound webhook `hooks.{}` verifies signatures with the secret "
                            "\"{}\"; remove it from the settings of namespace \"{}\" first",
                            name, command.name, command.ns));
  }
  TRY(or_missing(batch.tx, ns, keep_value(batch.tx, ns, command.name, std::nullopt)));
  erase_secret(batch.tx, ns, command.name);
  return Json{{"name", command.name}, {"deleted", true}};
}

}  // namespace millrace
