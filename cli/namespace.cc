#include <fmt/format.h>

#include "cli/verbs.h"

namespace millrace {

Ended list_namespaces(Session& session) {
  const Reply reply = TRY(session.client.send({.path = "/v1/ns"}));
  session.output.list(reply.body, {field("NAMESPACE", "name")}, "name");
  return ExitCode::kOk;
}

Ended create_namespace(Session& session, const std::string& name, const std::string& settings) {
  std::string body;
  if (!settings.empty()) body = TRY(read_value(session.console, settings));
  const Reply reply = TRY(session.client.send(
      {.method = "PUT", .path = Client::url_path({"v1", "ns", name}), .body = std::move(body)}));
  for (const Json& one : reply.body.value("warnings", Json::array())) {
    session.console.err << fmt::format("warning: {}: {}\n", one.value("path", ""),
                                       one.value("message", ""));
  }
  Json shown = reply.body;
  if (session.output.format() == Format::kTable) shown.erase("warnings");
  session.output.item(shown, "name");
  return ExitCode::kOk;
}

Ended delete_namespace(Session& session, const std::string& name, bool cancel, bool leftovers) {
  const Reply reply = TRY(session.client.send(
      {.method = "DELETE",
       .path = Client::url_path({"v1", "ns", name}),
       .query = {{"cancel", cancel ? "1" : ""}, {"leftovers", leftovers ? "1" : ""}}}));
  Json shown = reply.body;
  shown["name"] = name;
  session.output.item(shown, "name");
  return ExitCode::kOk;
}

}  // namespace millrace
