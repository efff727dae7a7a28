// GET /v1/ns; GET, PUT and DELETE /v1/ns/{ns}; POST …/functions/{service}/pause and …/resume.
#include <utility>

#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

constexpr size_t kMaxSettingsBytes = size_t{64} << 10;

Status create(Service& service, const std::shared_ptr<Exchange>& exchange) {
  CreateNamespace command;
  command.name = TRY(namespace_of(exchange->request()));
  if (const std::string& body = exchange->request().body; !body.empty()) {
    command.settings = TRY(parse_json(body));
  }
  service.command(std::move(command),
                  exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
                    const bool created = answer && answer->value("created", false);
                    exchange->reply(answer, created ? 201 : 200);
                  }));
  return {};
}

Status remove_namespace(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteNamespace command;
  command.name = TRY(namespace_of(exchange->request()));
  const DeletionParameters how = TRY(deletion_parameters(exchange->request()));
  command.cancel = how.cancels;
  command.drop_compensations = how.drops_compensations;
  command.leftovers = how.leftovers;
  service.command(std::move(command), exchange->replier());
  return {};
}

Handler pausing_service(Service& service, bool paused) {
  return [&service, paused](const std::shared_ptr<Exchange>& exchange) -> Status {
    PauseService command{.paused = paused};
    command.ns = TRY(namespace_of(exchange->request()));
    command.name = exchange->request().parts.at("service");
    if (!is_identifier(command.name)) {
      return fail("request.identifier",
                  "the name of the service is not valid; expected 1 to 128 letters, digits, `.`, "
                  "`-` and `_`");
    }
    service.command(std::move(command), exchange->replier());
    return {};
  };
}

}  // namespace

void add_namespace_routes(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns",
            .operation = "listNamespaces",
            .summary = "Lists the namespaces by name.",
            .query = {"limit", "cursor"},
            .answer = "Namespaces",
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const PageRequest page = TRY(page_of(request));
              return store.namespaces(page);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}",
            .operation = "getNamespace",
            .summary = "Shows a namespace with its settings and quotas.",
            .answer = "Namespace",
            .errors = {"namespace.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              return store.one_namespace(TRY(namespace_of(request)));
            })});
  router.add({.method = "PUT",
              .path = "/v1/ns/{ns}",
              .operation = "putNamespace",
              .summary = "Creates a namespace, or replaces its settings.",
              .body = "NamespaceSettings",
              .may_lack_body = true,
              .answer = "NamespaceCreated",
              .further_answers = {{201, "NamespaceCreated"}},
              .errors = {"settings.invalid", "jq.unavailable", "json."},
              .max_body = kMaxSettingsBytes,
              .lane = Lane::kDefinition,
              .handler = [&service](const auto& exchange) { return create(service, exchange); }});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/functions/{service}/pause",
              .operation = "pauseService",
              .summary = "Pauses a service: its calls wait.",
              .answer = "ServicePaused",
              .errors = {"namespace.not_found", "function.not_found", "settings.invalid"},
              .handler = pausing_service(service, true)});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/functions/{service}/resume",
              .operation = "resumeService",
              .summary = "Resumes a service: its waiting calls are made.",
              .answer = "ServicePaused",
              .errors = {"namespace.not_found", "function.not_found", "settings.invalid"},
              .handler = pausing_service(service, false)});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}",
              .operation = "deleteNamespace",
              .summary = "Deletes a namespace with everything in it.",
              .query = {"cancel", "dropCompensations", "leftovers"},
              .answer = "NamespaceDeleted",
              .errors = {"namespace.not_found", "namespace.not_empty", "namespace.compensating",
                         "leftovers."},
              .handler = [&service](const auto& exchange) {
                return remove_namespace(service, exchange);
              }});
}

}  // namespace millrace
