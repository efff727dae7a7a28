// `millrace source`: streams of other programs that are read as events.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/named_item.h"
#include "cli/pausing.h"
#include "cli/source.h"
#include "cli/tried_event.h"

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
  show_settings_warnings(session.console, reply.body);
  Json shown = reply.body;
  if (session.output.format() == Format::kTable) shown.erase("warnings");
  session.output.item(shown, "name");
  return ExitCode::kOk;
}

Ended list_sources(Session& session) {
  const ApiCall call{.path = session.path({"sources"})};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(
      reply.body,
      {field("SOURCE", "name"),
       field("STREAM", "stream"),
       field("POSITION", "position"),
       field("LAG", "lag"),
       field("EVENTS", "events"),
       field("REFUSED", "refused"),
       flag("READING", "reading"),
       flag("PAUSED", "paused"),
       {"WAITS",
        [](const Json& item) { return item.value("waits", Json::object()).value("code", "-"); }}},
      "name");
  if (reply.body.at("items").empty()) explain_empty_list(session, call, "sources");
  return ExitCode::kOk;
}

Ended describe_source(Session& session, const std::string& name) {
  return show_named(session, {.path = session.path({"sources", name})});
}

struct TrySourceOptions {
  std::string name;
  std::string settings;  ///< JSON, `@FILE` or `-`; empty: those of the stored source
};

Ended try_source(Session& session, const TrySourceOptions& options) {
  ApiCall call{.method = "POST", .path = session.path({"sources", options.name, "try"})};
  if (!options.settings.empty()) call.body = TRY(read_value(session.console, options.settings));
  const Reply reply = TRY(session.client.send(call));
  if (session.output.format() != Format::kTable) {
    session.output.item(reply.body, "stream");
    return ExitCode::kOk;
  }
  Json items = Json::array();
  for (const Json& one : reply.body.value("items", Json::array())) {
    const Json event = one.value("event", Json::object());
    items.push_back(
        {{"sequence", one.value("sequence", uint64_t{0})},
         {"subject", one.value("subject", "")},
         {"type", event.value("type", "")},
         {"id", event.value("id", "")},
         {"would", one.contains("error") ? "dead letter: " + one["error"].value("msg", "")
                                         : would_text(one)}});
  }
  session.output.list({{"items", std::move(items)}},
                      {field("SEQUENCE", "sequence"), field("SUBJECT", "subject"),
                       field("TYPE", "type"), field("ID", "id"), field("WOULD", "would")},
                      "sequence");
  return ExitCode::kOk;
}

Ended control_source(Session& session, const std::string& verb, const std::string& name) {
  return show_named(session, {.method = "POST", .path = session.path({"sources", name, verb})});
}

Ended delete_source(Session& session, const std::string& name) {
  return show_named(session, {.method = "DELETE", .path = session.path({"sources", name})});
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
  source.asking("list",
                "Lists the sources, how far each has read its stream, and why it reads nothing",
                "millrace source list", list_sources);
  auto [describe, described] = source.asking<std::string>(
      "describe", "Shows a source, and why it reads nothing if it reads nothing",
      "millrace source describe orders", describe_source);
  describe.option("id", described, "Name of the source", "ID").required();
  auto [tried, trying] = source.asking<TrySourceOptions>(
      "try", "Shows what the newest messages would become and start or wake; changes nothing",
      R"(millrace source try orders --settings '{"stream": "ORDERS"}')", try_source);
  tried.option("id", trying.name, "Name of the source", "ID").required();
  tried.option("--settings", trying.settings,
               "Settings of a source that need not exist (default: those of the source)",
               "JSON|@FILE|-");
  add_pausing(source, "source", "a source", "orders", "Name of the source", control_source);
  auto [remove, removed] =
      source.asking<std::string>("delete", "Deletes a source, and its stream if millrace made it",
                                 "millrace source delete orders", delete_source);
  remove.option("id", removed, "Name of the source", "ID").required();
}

}  // namespace millrace
