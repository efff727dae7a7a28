// `millrace webhook`: the inbound webhooks of a namespace, to which other services post.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/named_item.h"
#include "cli/pausing.h"
#include "cli/source.h"
#include "cli/tried_event.h"

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
  return show_named(session, {.path = session.path({"hooks", name})});
}

Ended control_webhook(Session& session, const std::string& verb, const std::string& name) {
  return show_named(session, {.method = "POST", .path = session.path({"hooks", name, verb})});
}

Ended delete_webhook(Session& session, const std::string& name) {
  return show_named(session, {.method = "DELETE", .path = session.path({"hooks", name})});
}

struct TryWebhookOptions {
  std::string name;
  std::string file;                  ///< the body of the request, or `-`
  std::vector<std::string> headers;  ///< `NAME: VALUE`
};

/// The members of an object of headers, whose values are lists, from texts `NAME: VALUE`.
Fallible<Json> headers_json(const std::vector<std::string>& headers) {
  Json all = Json::object();
  for (const std::string& header : headers) {
    const size_t colon = header.find(':');
    if (colon == std::string::npos || colon == 0) {
      return wrong_usage(
          fmt::format("--header {}: write NAME: VALUE, such as 'X-GitHub-Event: push'", header));
    }
    const size_t value = header.find_first_not_of(" \t", colon + 1);
    all[header.substr(0, colon)].push_back(value == std::string::npos ? "" : header.substr(value));
  }
  return all;
}

/// The signature, the event and what it would do, one line for each.
Json shown_trial(const Json& answer) {
  const Json signature = answer.value("signature", Json::object());
  Json shown{{"name", answer.value("name", "")},
             {"signature",
              signature.value("fits", false) ? "fits" : "refused: " + signature.value("msg", "")}};
  if (answer.value("paused", false)) shown["paused"] = true;
  if (answer.contains("challenge")) {
    shown["challenge"] = answer["challenge"];
    return shown;
  }
  if (answer.contains("error")) {
    shown["error"] = answer["error"].value("msg", "");
    return shown;
  }
  const Json event = answer.value("event", Json::object());
  for (const auto& [attribute, value] : event.items()) {
    shown["event." + attribute] = value;
  }
  shown["would"] = would_text(answer);
  return shown;
}

Ended try_webhook(Session& session, const TryWebhookOptions& options) {
  Json request{{"headers", TRY(headers_json(options.headers))}};
  std::string body = TRY(read_file(session.console, options.file));
  if (is_utf8(body)) {
    request["body"] = std::move(body);
  } else {
    request["base64"] = base64_encode(body);
  }
  const Reply reply = TRY(session.client.send({.method = "POST",
                                               .path = session.path({"hooks", options.name, "try"}),
                                               .body = dump_json(request)}));
  const bool is_table = session.output.format() == Format::kTable;
  session.output.item(is_table ? shown_trial(reply.body) : reply.body, "name");
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
  auto [tried, trying] = webhook.asking<TryWebhookOptions>(
      "try",
      "Shows whether the signature of a request fits, and what it would become and start or wake; "
      "changes nothing",
      "millrace webhook try git -f body.json --header 'X-GitHub-Event: push'", try_webhook);
  tried.option("id", trying.name, "Name of the inbound webhook", "ID").required();
  tried.option("-f,--file", trying.file, "The body of the request; - is standard input", "FILE")
      .required();
  tried
      .option("--header", trying.headers, "A header of the request; may be repeated",
              "'NAME: VALUE'")
      .one_value_each();
  add_pausing(webhook, "webhook", "an inbound webhook", "git", "Name of the inbound webhook",
              control_webhook);
  auto [remove, removed] = webhook.asking<std::string>(
      "delete", "Removes an inbound webhook from the settings of the namespace",
      "millrace webhook delete git", delete_webhook);
  remove.option("id", removed, "Name of the inbound webhook", "ID").required();
}

}  // namespace millrace
