// The routes /v1/ns/{ns}/secrets and below: names can be listed; values can be set, but not read.
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

Status put_secret(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  PutSecret command;
  command.ns = TRY(namespace_of(request));
  command.name = TRY(secret_of(request));
  if (!is_utf8(request.body)) {
    return fail("secret.not_text", "the secret is not valid UTF-8; encode other bytes in Base64");
  }
  command.value = std::move(request.body);
  service.command(std::move(command),
                  exchange->back<Result<Json>>([exchange](const Result<Json>& answer) {
                    const bool created = answer && answer->value("created", false);
                    exchange->reply(answer, created ? 201 : 200);
                  }));
  return {};
}

Status remove_secret(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteSecret command;
  command.ns = TRY(namespace_of(exchange->request()));
  command.name = TRY(secret_of(exchange->request()));
  service.command(std::move(command), exchange->replier());
  return {};
}

}  // namespace

void add_secret_routes(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/secrets",
            .operation = "listSecrets",
            .summary = "Lists the names of the secrets.",
            .query = {"limit", "cursor"},
            .answer = "Secrets",
            .errors = {"namespace.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const size_t limit = TRY(limit_parameter(request));
              const std::string cursor = text_parameter(request, "cursor");
              if (!cursor.empty() && !is_identifier(cursor)) {
                return fail(
                    "request.parameter",
                    fmt::format("cursor: {} is not a valid name of a secret", in_quotes(cursor)));
              }
              return store.secrets(ns, limit, cursor);
            })});
  router.add(
      {.method = "PUT",
       .path = "/v1/ns/{ns}/secrets/{secret}",
       .operation = "putSecret",
       .summary = "Sets the value of a secret.",
       .body = "SecretBytes",
       .may_lack_body = true,
       .answer = "SecretStored",
       .further_answers = {{201, "SecretStored"}},
       .errors = {"namespace.not_found", "secret.not_text", "millrace.quota."},
       .max_body = kMaxSecretBytes,
       .handler = [&service](const auto& exchange) { return put_secret(service, exchange); }});
  router.add(
      {.method = "DELETE",
       .path = "/v1/ns/{ns}/secrets/{secret}",
       .operation = "deleteSecret",
       .summary = "Deletes a secret.",
       .answer = "SecretDeleted",
       .errors = {"namespace.not_found", "secret.not_found", "secret.in_use"},
       .handler = [&service](const auto& exchange) { return remove_secret(service, exchange); }});
}

}  // namespace millrace
