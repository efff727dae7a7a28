// `millrace source`: streams of other programs that are read as events.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/pausing.h"
#include "cli/source.h"

namespace millrace {
namespace {

struct ApplySourceOptions {
  std::string name;
  std::string settings;  ///< JSON, `@FILE` or `-`
};

Ended apply_source(Session& session, const ApplySourceOptions& options) {
  ApiCall call{.method = "PUT", .path = session.path({"sources", options.name})};
  call.body = TRY(read_value(session.console, options.settings));
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended list_sources(Session& session) {
  const ApiCall call{.path = session.path({"sources"})};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(
      reply.body,
      {field("SOURCE", "name"), field("STREAM", "stream"), field("POSITION", "position"),
       field("LAG", "lag"), field("EVENTS", "events"), field("REFUSED", "refused"),
       flag("READING", "reading"), flag("PAUSED", "paused")},
      "name");
  if (reply.body.at("items").empty()) explain_empty_list(session, call, "sources");
  return ExitCode::kOk;
}

Ended describe_source(Session& session, const std::string& name) {
  const Reply reply = TRY(session.client.send({.path = session.path({"sources", name})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended control_source(Session& session, const std::string& verb, const std::string& name) {
  const Reply reply =
      TRY(session.client.send({.method = "POST", .path = session.path({"sources", name, verb})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

Ended delete_source(Session& session, const std::string& name) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"sources", name})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace

void add_source_verbs(CommandLine& commands) {
  CommandLine source = commands.noun("source", "Streams of other programs that are read as events");
  auto [apply, applied] = source.asking<ApplySourceOptions>(
      "apply", "Creates a source, or changes its settings",
      R"(millrace source apply orders --settings '{"stream": "ORDERS"}')", apply_source);
  apply.option("id", applied.name, "Name of the source", "ID").required();
  apply
      .option("--settings", applied.settings, "Settings of the source (docs/sources.md)",
              "JSON|@FILE|-")
      .required();
  source.asking("list", "Lists the sources, and how far each has read its stream",
                "millrace source list", list_sources);
  auto [describe, described] = source.asking<std::string>(
      "describe", "Shows a source, and why it reads nothing if it reads nothing",
      "millrace source describe orders", describe_source);
  describe.option("id", described, "Name of the source", "ID").required();
  add_pausing(source, "source", "a source", "orders", "Name of the source", control_source);
  auto [remove, removed] =
      source.asking<std::string>("delete", "Deletes a source; its stream stays as it is",
                                 "millrace source delete orders", delete_source);
  remove.option("id", removed, "Name of the source", "ID").required();
}

}  // namespace millrace
