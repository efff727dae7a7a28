// The routes /v1/ns/{ns}/workflows and below, except `start`; and POST /v1/lint.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "model/revision_conflict.h"

namespace millrace {
namespace {

Response refused(const Findings& findings) {
  const Json errors = to_json(findings).at("errors");
  return problem(Error{"definition.refused",
                       fmt::format("the definition was refused: {} findings", errors.size())},
                 errors);
}

/// The response to a PUT of this definition with `dry_run`.
Result<Json> dry_run(Service& service, const ApplyWorkflow& apply) {
  const Result<Json> present = service.workflow(apply.ns, apply.workflow->id);
  if (!present && present.error().code != "workflow.not_found") {
    return tl::unexpected(present.error());
  }
  NewestRevision newest;
  if (present) {
    newest = {.number = present->at("revision"),
              .text = present->at("definition").get_ref<const std::string&>()};
  }
  if (const auto conflict =
          revision_conflict(apply.workflow->id, apply.text, apply.base_revision, newest)) {
    return tl::unexpected(*conflict);
  }
  return Json{{"id", apply.workflow->id},
              {"changed", !present || present->at("definition") != apply.text},
              {"dryRun", true}};
}

/// Adds the warnings about the definition, if there are any, to the response to an accepted PUT.
Result<Json> with_warnings(Result<Json> answer, const Findings& findings) {
  if (!answer) return answer;
  Json all = to_json(findings);
  for (Json& finding : all.at("errors")) {
    if (finding.at("severity") == "warning") (*answer)["warnings"].push_back(std::move(finding));
  }
  return answer;
}

/// An empty number is an error: the caller has a revision in mind, and does not know it.
Result<std::optional<uint64_t>> base_revision_of(const Request& request) {
  auto number = TRY(number_parameter(request, "base_revision"));
  if (!number && request.query.contains("base_revision")) {
    return fail("request.parameter", "base_revision: it is empty; expected a number");
  }
  return number;
}

Status apply(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  const std::string id = TRY(workflow_of(request));
  const bool dry = TRY(flag_parameter(request, "dry_run"));
  ApplyWorkflow command;
  command.ns = TRY(namespace_of(request));
  command.base_revision = TRY(base_revision_of(request));
  command.text = std::move(request.body);

  Loaded loaded = service.load_definition(command.text, command.ns);
  if (!loaded.workflow) {
    exchange->answer(refused(loaded.findings));
    return {};
  }
  command.workflow = std::move(loaded.workflow);
  if (command.workflow->id != id) {
    return fail(
        "workflow.id_mismatch",
        fmt::format("the path contains the id `{}`, the definition `id: {}`; they must be equal",
                    id, command.workflow->id));
  }
  if (dry) {
    exchange->reply(with_warnings(dry_run(service, command), loaded.findings));
    return {};
  }
  service.command(std::move(command),
                  exchange->back<Result<Json>>(
                      [exchange, findings = std::move(loaded.findings)](Result<Json> answer) {
                        exchange->reply(with_warnings(std::move(answer), findings));
                      }));
  return {};
}

Status remove_workflow(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  DeleteWorkflow command;
  command.ns = TRY(namespace_of(request));
  command.id = TRY(workflow_of(request));
  const DeletionParameters how = TRY(deletion_parameters(request));
  command.cancel = how.cancels;
  command.drop_compensations = how.drops_compensations;
  command.leftovers = how.leftovers;
  service.command(std::move(command), exchange->replier());
  return {};
}

Status lint(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const Loaded loaded = service.load_definition(exchange->request().body, "");
  if (loaded.findings.has_errors()) {
    exchange->answer(refused(loaded.findings));
  } else {
    exchange->reply(to_json(loaded.findings));
  }
  return {};
}

Handler pausing_workflow(Service& service, bool paused) {
  return [&service, paused](const std::shared_ptr<Exchange>& exchange) -> Status {
    PauseWorkflow command{.paused = paused};
    command.ns = TRY(namespace_of(exchange->request()));
    command.id = TRY(workflow_of(exchange->request()));
    service.command(std::move(command), exchange->replier());
    return {};
  };
}

/// Answers 200 if the body is a valid input of the workflow, and 422 with the paths if it is not.
Status check_input(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  std::string ns = TRY(namespace_of(request));
  std::string id = TRY(workflow_of(request));
  std::string input = request.body.empty() ? "{}" : std::move(request.body);
  TRY(parse_json(input));
  service.check_input(
      std::move(ns), std::move(id), std::move(input),
      exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
        if (!answer || answer->at("valid") == true) return exchange->reply(answer);
        exchange->answer(
            problem(Error{"input.refused", "the input does not match the schema of the workflow"},
                    answer->at("errors")));
      }));
  return {};
}

}  // namespace

void add_workflow_routes(Router& router, Service& service, const RequestLimits& limits) {
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/workflows/{workflow}/pause",
              .operation = "pauseWorkflow",
              .summary = "Pauses a workflow and its live instances.",
              .answer = "WorkflowPaused",
              .errors = {"namespace.not_found", "workflow.not_found"},
              .handler = pausing_workflow(service, true)});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/workflows/{workflow}/resume",
              .operation = "resumeWorkflow",
              .summary = "Resumes a workflow and its paused instances.",
              .answer = "WorkflowPaused",
              .errors = {"namespace.not_found", "workflow.not_found"},
              .handler = pausing_workflow(service, false)});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows",
            .operation = "listWorkflows",
            .summary = "Lists the workflows by id.",
            .query = {"limit", "cursor"},
            .answer = "Workflows",
            .errors = {"namespace.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const PageRequest page = TRY(page_of(request));
              return store.workflows(ns, page);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows/{workflow}",
            .operation = "getWorkflow",
            .summary = "Shows a workflow with the text of its newest revision.",
            .answer = "Workflow",
            .errors = {"namespace.not_found", "workflow.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              return store.workflow(ns, id);
            })});
  router.add(
      {.method = "PUT",
       .path = "/v1/ns/{ns}/workflows/{workflow}",
       .operation = "applyWorkflow",
       .summary = "Applies a definition: makes a revision of the workflow if the text has changed.",
       .query = {"dry_run", "base_revision"},
       .body = "Definition",
       .answer = "WorkflowApplied",
       .errors = {"namespace.not_found", "definition.refused", "workflow.id_mismatch",
                  "workflow.revision_conflict", "millrace.quota."},
       .max_body = limits.definition_bytes,
       .lane = Lane::kDefinition,
       .handler = [&service](const auto& exchange) { return apply(service, exchange); }});
  router.add(
      {.method = "DELETE",
       .path = "/v1/ns/{ns}/workflows/{workflow}",
       .operation = "deleteWorkflow",
       .summary = "Deletes a workflow.",
       .query = {"cancel", "dropCompensations", "leftovers"},
       .answer = "WorkflowDeleted",
       .errors = {"namespace.not_found", "workflow.not_found", "workflow.has_instances",
                  "workflow.compensating", "leftovers."},
       .handler = [&service](const auto& exchange) { return remove_workflow(service, exchange); }});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows/{workflow}/graph",
            .operation = "getGraph",
            .summary = "Shows the states of a revision and the ways between them.",
            .query = {"revision"},
            .answer = "WorkflowGraph",
            .errors = {"namespace.not_found", "workflow.not_found", "revision.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              const auto revision = TRY(revision_parameter(request));
              return store.graph(ns, id, revision);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows/{workflow}/input",
            .operation = "getInputSchema",
            .summary = "Shows the JSON Schema of the input of a workflow, with an example.",
            .answer = "InputSchema",
            .errors = {"namespace.not_found", "workflow.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              return store.input_schema(ns, id);
            })});
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/workflows/{workflow}/input",
       .operation = "checkInput",
       .summary = "Checks whether a body is a valid input of a workflow; starts nothing.",
       .body = "InputToCheck",
       .may_lack_body = true,
       .answer = "InputChecked",
       .errors = {"namespace.not_found", "workflow.not_found", "json.", "input.refused",
                  "direktiv.jq.", "millrace.jq.memory", "millrace.timeout.task"},
       .max_body = limits.input_bytes,
       .handler = [&service](const auto& exchange) { return check_input(service, exchange); }});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows/{workflow}/revisions",
            .operation = "listRevisions",
            .summary = "Lists the revisions of a workflow, newest first.",
            .query = {"limit", "cursor", "texts"},
            .answer = "Revisions",
            .errors = {"namespace.not_found", "workflow.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              RevisionsRequest page{.cursor = text_parameter(request, "cursor")};
              page.limit = TRY(limit_parameter(request));
              if (request.query.contains("texts")) {
                page.texts = TRY(flag_parameter(request, "texts"));
              }
              return store.revisions(ns, id, page);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/workflows/{workflow}/revisions/{revision}",
            .operation = "getRevision",
            .summary = "Shows a revision of a workflow with its text.",
            .answer = "Revision",
            .errors = {"namespace.not_found", "workflow.not_found", "revision.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const std::string id = TRY(workflow_of(request));
              const uint32_t number = TRY(revision_of(request));
              return store.revision(ns, id, number);
            })});
  router.add({.method = "POST",
              .path = "/v1/lint",
              .operation = "lintDefinition",
              .summary = "Checks a definition.",
              .body = "Definition",
              .answer = "Findings",
              .errors = {"definition.refused"},
              .max_body = limits.definition_bytes,
              .lane = Lane::kDefinition,
              .handler = [&service](const auto& exchange) { return lint(service, exchange); }});
}

}  // namespace millrace
