// `millrace variable`: shows, sets and deletes variables.
#include "cli/command_line.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

struct VariableOptions {
  std::string workflow;  ///< scope: this workflow
  std::string instance;  ///< scope: this instance; without both, the namespace
  std::string key;
  std::string value = "-";  ///< JSON, `@file` or `-`
  std::string content_type;
  PageOptions page;  ///< only for `list`
};

/// The path of the variables of the scope or, if there is a key, of one variable.
std::string path_of(const Session& session, const VariableOptions& options) {
  std::string path = session.path({});
  if (!options.workflow.empty()) path += Client::url_path({"workflows", options.workflow});
  if (!options.instance.empty()) path += Client::url_path({"instances", options.instance});
  path += "/variables";
  if (!options.key.empty()) path += Client::url_path({options.key});
  return path;
}

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

Ended list_variables(Session& session, const VariableOptions& options) {
  return show_pages(
      session, {.path = path_of(session, options)}, options.page,
      {field("KEY", "key"), field("SIZE", "size"), field("CONTENT TYPE", "contentType")}, "key");
}

Ended delete_variable(Session& session, const VariableOptions& options) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = path_of(session, options)}));
  session.output.item(reply.body, "key");
  return ExitCode::kOk;
}

void add_owner(Verb& verb, VariableOptions& options) {
  const AddedOption workflow = verb.option(
      "--workflow", options.workflow, "Variables of this workflow instead of the namespace", "ID");
  verb.option("--instance", options.instance, "Variables of this instance instead of the namespace",
              "ID")
      .excludes(workflow);
}

void add_key(Verb& verb, VariableOptions& options) {
  verb.option("key", options.key, "Key of the variable", "KEY").required();
  add_owner(verb, options);
}

}  // namespace

void add_variable_verbs(CommandLine& commands) {
  CommandLine variable =
      commands.noun("variable", "Variables of a namespace, a workflow or an instance");
  auto [get, got] =
      variable.asking<VariableOptions>("get", "Prints the bytes of a variable, unchanged",
                                       "millrace variable get limits > limits.json", get_variable);
  add_key(get, got);
  auto [set, changed] =
      variable.asking<VariableOptions>("set", "Sets a variable",
                                       "millrace variable set hits 0 --workflow counter\n  "
                                       "millrace variable set logo @logo.png --type image/png",
                                       set_variable);
  add_key(set, changed);
  set.option("value", changed.value, "The value (default: standard input)", "JSON|@FILE|-");
  set.option("--type", changed.content_type,
             "Content type (default: application/json if the value is JSON, else "
             "application/octet-stream)");
  auto [list, listed] =
      variable.asking<VariableOptions>("list", "Lists variables, without their values",
                                       "millrace variable list --workflow counter", list_variables);
  add_owner(list, listed);
  add_page(list, listed.page);
  auto [remove, removed] = variable.asking<VariableOptions>(
      "delete", "Deletes a variable", "millrace variable delete limits", delete_variable);
  add_key(remove, removed);
}

}  // namespace millrace
