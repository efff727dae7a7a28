// `millrace workflow`: applies, shows, pauses and deletes the workflows of the server.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/deletion.h"
#include "cli/inbound_verbs.h"
#include "cli/incomplete_groups.h"
#include "cli/pages.h"
#include "cli/pausing.h"
#include "cli/source.h"
#include "language/document.h"
#include "language/findings.h"
#include "orchestrator/definition/call_limits.h"
#include "orchestrator/definition/inbound_types.h"
#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

struct ApplyOptions {
  std::vector<std::string> files;  ///< files or folders; `-`: a definition on standard input
  bool dry_run = false;
  std::optional<std::string> base_revision;
};

struct RevisionOptions {
  std::string workflow;
  std::string revision;
};

/// The id of the definition; nullopt if the text does not parse or has no valid id.
std::optional<std::string> id_of(std::string_view text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  const Member* id = document ? document->find("id") : nullptr;
  if (id == nullptr || id->value.kind != Node::Kind::kString || id->value.text.empty()) {
    return std::nullopt;
  }
  return id->value.text;
}

Fallible<Reply> apply_file(Session& session, const std::string& text, const ApplyOptions& options) {
  const std::optional<std::string> id = id_of(text);
  if (!id) {
    // The server's loader reports all errors, including the missing id.
    Fallible<Reply> lint =
        session.client.send({.method = "POST", .path = "/v1/lint", .body = text});
    if (!lint) return lint;
    return give_up(ExitCode::kFindings, "definition.id", "the definition has no id");
  }
  return session.client.send({.method = "PUT",
                              .path = session.path({"workflows", *id}),
                              .query = {{"dry_run", options.dry_run ? "1" : ""},
                                        {"base_revision", options.base_revision.value_or("")}},
                              .body = text});
}

/// Prints what was applied. A column has the kinds only if there are others than workflows.
void show_applied(Session& session, const Json& applied, bool is_dry_run) {
  const Column outcome = {"OUTCOME", [=](const Json& item) -> std::string {
                            const bool changed = item.value("changed", false);
                            if (is_dry_run) return changed ? "would change" : "unchanged";
                            if (!changed) return "unchanged";
                            const bool created =
                                item.value("created", item.value("revision", 0) == 1);
                            return created ? "created" : "changed";
                          }};
  std::vector<Column> columns = {field("WORKFLOW", "id"), field("REVISION", "revision"), outcome};
  const bool has_kinds = std::any_of(applied.begin(), applied.end(),
                                     [](const Json& item) { return item.contains("kind"); });
  if (has_kinds) {
    columns.front().title = "NAME";
    columns.insert(columns.begin(),
                   {"KIND", [](const Json& item) { return item.value("kind", "workflow"); }});
  }
  session.output.list({{"items", applied}}, columns, "id");
}

/// The event types that the inbound files make, which are applied behind the workflows.
MadeTypes types_of(const std::vector<DefinitionFile>& files) {
  MadeTypes made;
  for (const DefinitionFile& file : files) {
    if (file.is_inbound) add_made_types(parse_inbound_file(file.text).entries, made);
  }
  return made;
}

/// Removes the warnings of an answer about event types that `made` may make.
void drop_made_types(Json& answer, const std::string& text, const MadeTypes& made) {
  const auto warnings = answer.find("warnings");
  if (warnings == answer.end()) return;
  const auto places = places_of_made_types(text, made);
  Json kept = Json::array();
  for (Json& one : *warnings) {
    const bool is_unknown = one.value("code", "") == kUnknownEventType;
    if (is_unknown && places.contains(one.value("path", ""))) continue;
    kept.push_back(std::move(one));
  }
  if (kept.empty()) {
    answer.erase(warnings);
  } else {
    *warnings = std::move(kept);
  }
}

/// The definitions that are applied together, for the limits of their calls.
struct AppliedTogether {
  std::shared_ptr<const CallLimits> limits;
  std::vector<std::string> ids;
};

AppliedTogether together(const std::vector<DefinitionFile>& files) {
  const auto limits = std::make_shared<CallLimits>();
  AppliedTogether all;
  for (const DefinitionFile& file : files) {
    if (file.is_inbound) continue;
    const auto workflow = load_workflow(file.text, nullptr).workflow;
    if (!workflow) continue;
    limits->add(*workflow);
    all.ids.push_back(workflow->id);
  }
  all.limits = limits;
  return all;
}

/// Makes the warnings of an answer about limits of calls those of the namespace after all files are
/// applied: the other files are as they were when the server compared the definition with them.
void settle_limits(Json& answer, const std::string& text, const AppliedTogether& all) {
  Json warnings = answer.value("warnings", Json::array());
  const auto is_about_files = [&](const Json& one) {
    const std::string message = one.value("message", "");
    return one.value("code", "") == kLimitNotKept &&
           std::any_of(all.ids.begin(), all.ids.end(), [&](const std::string& id) {
             return message.starts_with(beginning_on_calls_of(id));
           });
  };
  Json kept = Json::array();
  for (Json& one : warnings) {
    if (!is_about_files(one)) kept.push_back(std::move(one));
  }
  Findings found;
  const std::optional<Node> document = parse_document(text, found);
  if (document)
    lint_limits(
        *document, [&] { return all.limits; }, found);
  const Json local = to_json(found);
  for (const Json& one : local.at("errors")) {
    const bool is_known = std::any_of(kept.begin(), kept.end(), [&](const Json& other) {
      return other.value("code", "") == one["code"] && other.value("path", "") == one["path"];
    });
    if (one["severity"] == "warning" && !is_known) kept.push_back(one);
  }
  answer.erase("warnings");
  if (!kept.empty()) answer["warnings"] = std::move(kept);
}

Ended apply_workflows(Session& session, const ApplyOptions& options) {
  Json applied = Json::array();
  ExitCode code = ExitCode::kOk;
  const std::vector<DefinitionFile> files = TRY(read_definitions(session.console, options.files));
  if (options.base_revision && options.base_revision->empty()) {
    return wrong_usage("--base-revision is empty; expected the number of a revision");
  }
  if (options.base_revision && (files.size() != 1 || files.front().is_inbound)) {
    return wrong_usage("--base-revision is of one workflow; name one definition with it");
  }
  const MadeTypes made = types_of(files);
  const AppliedTogether all = together(files);
  for (const auto& [file, text, is_inbound] : files) {
    if (is_inbound) continue;
    Fallible<Reply> reply = apply_file(session, text, options);
    if (reply) {
      drop_made_types(reply->body, text, made);
      settle_limits(reply->body, text, all);
      if (const auto warnings = reply->body.find("warnings"); warnings != reply->body.end()) {
        session.console.err << render_findings(*warnings, file);
      }
      applied.push_back(std::move(reply->body));
    } else if (!reply.error().errors.is_null()) {
      session.console.err << render_findings(reply.error().errors, file);
      code = ExitCode::kFindings;
    } else {
      reply.error().error.message.insert(0, file + ": ");
      return tl::unexpected(std::move(reply.error()));
    }
  }
  const AppliedInboundFiles inbound = TRY(apply_inbound_files(session, files, options.dry_run));
  if (inbound.has_errors) code = ExitCode::kFindings;
  applied.insert(applied.end(), inbound.items.begin(), inbound.items.end());
  if (!applied.empty()) show_applied(session, applied, options.dry_run);
  return code;
}

Ended list_workflows(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"workflows"})}, page,
      {field("WORKFLOW", "id"), field("REVISION", "revision"), field("START", "start"),
       flag("PAUSED", "paused"), age("UPDATED", "updatedAt", session.console.now())},
      "id");
}

Ended get_workflow(Session& session, const std::string& id) {
  const Reply reply = TRY(session.client.send({.path = session.path({"workflows", id})}));
  session.output.item(reply.body, "id", {"definition"});
  const bool has_groups = reply.body.value("start", "") == "eventsAnd";
  if (!has_groups || session.output.format() != Format::kTable) return ExitCode::kOk;
  const std::string groups = incomplete_groups_text(session, id);
  if (!groups.empty()) session.console.err << harmless(groups) << "\n";
  return ExitCode::kOk;
}

Ended show_revision(Session& session, const RevisionOptions& options) {
  const Reply reply = TRY(session.client.send(
      {.path = session.path({"workflows", options.workflow, "revisions", options.revision})}));
  session.output.item(reply.body, "revision", {"definition"});
  return ExitCode::kOk;
}

struct GraphOptions {
  std::string id;
  std::string revision;
};

Ended show_graph(Session& session, const GraphOptions& options) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"workflows", options.id, "graph"}),
                               .query = {{"revision", options.revision}}}));
  if (session.output.format() != Format::kTable) {
    session.output.value(reply.body);
    return ExitCode::kOk;
  }
  session.output.list({{"items", reply.body.at("ways")}},
                      {field("FROM", "from"), field("TO", "to"), field("KIND", "kind"),
                       field("LABEL", "label"), field("LINE", "line")},
                      "from");
  return ExitCode::kOk;
}

Ended delete_workflow(Session& session, const DeleteOptions& options) {
  TRY(check_deletion(options));
  const Reply reply = TRY(session.client.send({.method = "DELETE",
                                               .path = session.path({"workflows", options.id}),
                                               .query = deletion_query(options)}));
  Json shown = reply.body;
  shown["id"] = options.id;
  session.output.item(shown, "id");
  return ExitCode::kOk;
}

Ended control_workflow(Session& session, const std::string& verb, const std::string& id) {
  const Reply reply = TRY(session.client.send(
      {.method = "POST", .path = session.path({"workflows", id, verb}), .timeout = {}}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

}  // namespace

void add_workflow_verbs(CommandLine& commands) {
  CommandLine workflow = commands.noun("workflow", "Workflows of the server");
  auto [apply, applied] = workflow.asking<ApplyOptions>(
      "apply", "Stores definitions and inbound files; a changed definition becomes a new revision",
      "millrace workflow apply order.yaml\n  millrace workflow apply workflows/", apply_workflows);
  apply
      .option("file", applied.files,
              "Definitions or inbound files (docs/sources.md) in YAML or JSON, or folders of them; "
              "- is standard input, a definition. If a file has errors, it is reported and not "
              "stored, the other files are stored, and the exit code is 7",
              "FILE|DIR")
      .required();
  apply.flag("--dry-run", applied.dry_run, "Check the files, but do not store them");
  apply.option("--base-revision", applied.base_revision,
               "The newest revision that you know of the workflow (0: there is none): if it has "
               "another one, with another text, nothing is stored. For one file",
               "NUMBER");
  auto [list, page] = workflow.asking<PageOptions>(
      "list", "Lists the workflows", "millrace workflow list -o name", list_workflows);
  add_page(list, page, "1000");
  auto [get, shown] = workflow.asking<std::string>("get", "Shows a workflow and its definition",
                                                   "millrace workflow get order", get_workflow);
  get.option("id", shown, "Id of the workflow", "ID").required();
  auto [revision, one] = workflow.asking<RevisionOptions>(
      "revision", "Shows a revision of a workflow with its definition",
      "millrace workflow revision order 1", show_revision);
  revision.option("id", one.workflow, "Id of the workflow", "ID").required();
  revision.option("revision", one.revision, "Number of the revision", "NUMBER").required();
  auto [graph, drawn] = workflow.asking<GraphOptions>(
      "graph",
      "Shows the ways between the states of a workflow; `-` under TO is the end of the instance, "
      "and under FROM any state",
      "millrace workflow graph order\n  millrace workflow graph order --revision 2 -o json",
      show_graph);
  graph.option("id", drawn.id, "Id of the workflow", "ID").required();
  graph.option("--revision", drawn.revision, "A revision; default: the newest one", "N");
  auto [remove, removed] = workflow.asking<DeleteOptions>(
      "delete", "Deletes a workflow", "millrace workflow delete order --cancel", delete_workflow);
  remove.option("id", removed.id, "Id of the workflow", "ID").required();
  add_deletion(remove, removed);
  add_pausing(workflow, "workflow", "all instances of a workflow", "order", "Id of the workflow",
              control_workflow);
}

}  // namespace millrace
