// `millrace webhook`: the inbound webhooks of a namespace, to which other services post.
#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/pausing.h"

namespace millrace {
namespace {

Ended list_webhooks(Session& session) {
  const ApiCall call{.path = session.path({"hooks"})};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(
      reply.body,
      {field("WEBHOOK", "name"), field("FORM", "form"), field("TYPE", "type"),
       field("ACCEPTED", "accepted"), field("REPEATED", "repeated"), field("REFUSED", "refused"),
       field("UNMAPPED", "unmapped"), field("DEFERRED", "deferred"), flag("PAUSED", "paused")},
      "name");
  if (reply.body.at("items").empty()) explain_empty_list(session, call, "inbound webhooks");
  return ExitCode::kOk;
}

Ended describe_webhook(Session& session, const std::string& name) {
  const Reply reply = TRY(session.client.send({.path = session.path({"hooks", name})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended control_webhook(Session& session, const std::string& verb, const std::string& name) {
  const Reply reply =
      TRY(session.client.send({.method = "POST", .path = session.path({"hooks", name, verb})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended delete_webhook(Session& session, const std::string& name) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"hooks", name})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace

void add_webhook_verbs(CommandLine& commands) {
  CommandLine webhook =
      commands.noun("webhook", "Inbound webhooks: URLs to which other services post");
  webhook.asking("list", "Lists the inbound webhooks, and what became of their requests",
                 "millrace webhook list", list_webhooks);
  auto [describe, described] = webhook.asking<std::string>(
      "describe", "Shows an inbound webhook, and why the latest request was refused",
      "millrace webhook describe git", describe_webhook);
  describe.option("id", described, "Name of the inbound webhook", "ID").required();
  add_pausing(webhook, "webhook", "an inbound webhook", "git", "Name of the inbound webhook",
              control_webhook);
  auto [remove, removed] = webhook.asking<std::string>(
      "delete", "Removes an inbound webhook from the settings of the namespace",
      "millrace webhook delete git", delete_webhook);
  remove.option("id", removed, "Name of the inbound webhook", "ID").required();
}

}  // namespace millrace
