#include "cli/verbs.h"

namespace millrace {
namespace {

/// The path of the owner's variables, and of one of them where there is a key.
std::string path_of(const Session& session, const VariableOptions& options) {
  std::string path = session.path({});
  if (!options.workflow.empty()) path += Client::url_path({"workflows", options.workflow});
  if (!options.instance.empty()) path += Client::url_path({"instances", options.instance});
  path += "/variables";
  if (!options.key.empty()) path += Client::url_path({options.key});
  return path;
}

}  // namespace

Ended get_variable(Session& session, const VariableOptions& options) {
  const RawReply reply = TRY(session.client.fetch({.path = path_of(session, options)}));
  session.console.out << reply.body;
  return ExitCode::kOk;
}

Ended set_variable(Session& session, const VariableOptions& options) {
  ApiCall call{.method = "PUT", .path = path_of(session, options)};
  call.body = TRY(read_value(session.console, options.value));
  std::string type = options.content_type;
  if (type.empty()) type = is_json(call.body) ? "application/json" : "application/octet-stream";
  call.headers = {{"Content-Type", type}};
  const Reply reply = TRY(session.client.send(call));
  session.output.item(reply.body, "key");
  return ExitCode::kOk;
}

Ended list_variables(Session& session, const VariableOptions& options, const PageOptions& page) {
  return show_pages(
      session, {.path = path_of(session, options)}, page,
      {field("KEY", "key"), field("SIZE", "size"), field("CONTENT TYPE", "contentType")}, "key");
}

Ended delete_variable(Session& session, const VariableOptions& options) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = path_of(session, options)}));
  session.output.item(reply.body, "key");
  return ExitCode::kOk;
}

}  // namespace millrace
