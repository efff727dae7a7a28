// `millrace namespace`: lists, shows, creates, changes and deletes namespaces.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/deletion.h"
#include "cli/pages.h"
#include "cli/source.h"

namespace millrace {
namespace {

struct CreateOptions {
  std::string name;
  std::string settings;  ///< JSON, `@FILE` or `-`; empty: unchanged
};

Ended list_namespaces(Session& session, const PageOptions& page) {
  return show_pages(session, {.path = "/v1/ns"}, page, {field("NAMESPACE", "name")}, "name");
}

/// The quotas as a table; in the other formats the whole namespace.
Ended show_namespace(Session& session, const std::string& name) {
  const Reply reply = TRY(session.client.send({.path = Client::url_path({"v1", "ns", name})}));
  if (session.output.format() != Format::kTable) {
    session.output.item(reply.body, "name");
    return ExitCode::kOk;
  }
  const Json quotas = reply.body.value("quotas", Json::object());
  Json items = Json::array();
  for (const auto& [quota, one] : quotas.items()) {
    Json item = one;
    item["quota"] = quota;
    if (one.contains("overHttp")) {
      item["limit"] = fmt::format("{} ({} over HTTP)", one.value("limit", ""),
                                  one.value("overHttp", uint64_t{0}));
    }
    items.push_back(std::move(item));
  }
  session.output.list({{"items", std::move(items)}},
                      {field("QUOTA", "quota"), field("USED", "used"), field("LIMIT", "limit")},
                      "quota");
  return ExitCode::kOk;
}

/// Prints what the new settings have removed, since they replace the former ones as a whole.
void show_removed(const Console& console, const Json& answer) {
  for (const Json& one : answer.value("removed", Json::array())) {
    const std::string url = one.value("url", "");
    const std::string shown_url = url.empty() ? "" : fmt::format(" ({})", url);
    console.err << harmless(fmt::format("removed: {}{}: the new settings do not have it\n",
                                        one.value("path", ""), shown_url),
                            kLineEnds);
  }
}

Ended create_namespace(Session& session, const CreateOptions& options) {
  std::string body;
  if (!options.settings.empty()) body = TRY(read_value(session.console, options.settings));
  const Reply reply = TRY(session.client.send({.method = "PUT",
                                               .path = Client::url_path({"v1", "ns", options.name}),
                                               .body = std::move(body)}));
  show_settings_warnings(session.console, reply.body);
  show_removed(session.console, reply.body);
  Json shown = reply.body;
  if (session.output.format() == Format::kTable) {
    shown.erase("warnings");
    shown.erase("removed");
  }
  session.output.item(shown, "name");
  return ExitCode::kOk;
}

Ended delete_namespace(Session& session, const DeleteOptions& options) {
  TRY(check_deletion(options));
  const Reply reply = TRY(session.client.send({.method = "DELETE",
                                               .path = Client::url_path({"v1", "ns", options.id}),
                                               .query = deletion_query(options)}));
  Json shown = reply.body;
  shown["name"] = options.id;
  session.output.item(shown, "name");
  return ExitCode::kOk;
}

}  // namespace

void add_namespace_verbs(CommandLine& commands) {
  CommandLine ns =
      commands.noun("namespace", "Namespaces of workflows, instances, variables and secrets");
  auto [list, page] = ns.asking<PageOptions>("list", "Lists the namespaces",
                                             "millrace namespace list", list_namespaces);
  add_page(list, page, "1000");
  auto [get, shown] = ns.asking<std::string>(
      "get", "Shows the quotas of a namespace with their use; with -o json also its settings",
      "millrace namespace get shop", show_namespace);
  get.option("id", shown, "Name of the namespace", "ID").required();
  auto [create, made] = ns.asking<CreateOptions>(
      "create", "Creates a namespace, or changes its settings",
      "millrace namespace create shop --settings @shop.json", create_namespace);
  create.option("id", made.name, "Name of the namespace", "ID").required();
  create.option("--settings", made.settings,
                "All settings of the namespace (docs/functions.md, docs/operating.md); those that "
                "are not in it are removed",
                "JSON|@FILE|-");
  auto [remove, removed] =
      ns.asking<DeleteOptions>("delete", "Deletes a namespace and everything in it",
                               "millrace namespace delete shop --cancel", delete_namespace);
  remove.option("id", removed.id, "Name of the namespace", "ID").required();
  add_deletion(remove, removed);
}

}  // namespace millrace
