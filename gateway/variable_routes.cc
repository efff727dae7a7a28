// The routes /v1/ns/{ns}/variables and below, also under a workflow and under an instance. Values
// are raw bytes with their content type; lists are JSON.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/media_type.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr size_t kMaxContentType = 255;

constexpr const char* kAnyBytes = "application/octet-stream";

/// Whose variables a group of routes is about.
struct VariableScopePath {
  std::string_view path;
  std::string_view name;       ///< the middle of the names of the operations
  std::string_view what;       ///< in summaries
  std::string_view not_found;  ///< the error if the owner does not exist, besides the namespace
};

constexpr VariableScopePath kScopes[] = {
    {"/v1/ns/{ns}", "", "a namespace", ""},
    {"/v1/ns/{ns}/workflows/{workflow}", "Workflow", "a workflow", "workflow.not_found"},
    {"/v1/ns/{ns}/instances/{instance}", "Instance", "an instance", "instance.not_found"},
};

Result<std::string> content_type_of(const Request& request) {
  const std::string* const type = find_header(request.headers, "Content-Type");
  if (type == nullptr || type->empty()) return std::string(kAnyBytes);
  if (type->size() <= kMaxContentType && parse_media_type(*type)) return *type;
  return fail("request.content_type",
              fmt::format("Content-Type: expected a media type of at most {} bytes, such as "
                          "text/plain",
                          kMaxContentType));
}

/// The response with the bytes of a variable. The headers make a browser treat the bytes as plain
/// data, and not as a page of this server.
Response raw(Variable variable) {
  // In a damaged row the content type may be any bytes, even line breaks that start another header.
  if (!parse_media_type(variable.content_type)) variable.content_type = kAnyBytes;
  return {200,
          {{"Content-Type", std::move(variable.content_type)},
           {"Cache-Control", "no-store"},
           {"Content-Security-Policy", "sandbox; default-src 'none'"}},
          std::move(variable.bytes)};
}

Result<Response> read_variable(StoreReads& store, const Request& request) {
  const VariablePlace place = TRY(variable_place_of(request));
  const std::string key = TRY(variable_key_of(request));
  return raw(TRY(store.variable(place, key)));
}

Status put_variable(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  PutVariable command;
  command.place = TRY(variable_place_of(request));
  command.key = TRY(variable_key_of(request));
  command.value.content_type = TRY(content_type_of(request));
  command.value.bytes = std::move(request.body);
  service.command(std::move(command), exchange->replier());
  return {};
}

Status remove_variable(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteVariable command;
  command.place = TRY(variable_place_of(exchange->request()));
  command.key = TRY(variable_key_of(exchange->request()));
  service.command(std::move(command), exchange->replier());
  return {};
}

}  // namespace

void add_variable_routes(Router& router, Service& service, const RequestLimits& limits) {
  for (const VariableScopePath& scope : kScopes) {
    const std::string owner(scope.path);
    const auto operation = [&](std::string_view verb, std::string_view noun) {
      return fmt::format("{}{}{}", verb, scope.name, noun);
    };
    const auto errors = [&](std::vector<std::string> further) {
      further.emplace_back("namespace.not_found");
      if (!scope.not_found.empty()) further.emplace_back(scope.not_found);
      return further;
    };
    add_read(router, service,
             {.method = "GET",
              .path = owner + "/variables",
              .operation = operation("list", "Variables"),
              .summary = fmt::format("Lists the variables of {} by key.", scope.what),
              .query = {"limit", "cursor"},
              .answer = "Variables",
              .errors = errors({}),
              .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
                const VariablePlace place = TRY(variable_place_of(request));
                const size_t limit = TRY(limit_parameter(request));
                const std::string cursor = text_parameter(request, "cursor");
                if (!cursor.empty() && !is_variable_key(cursor)) {
                  return fail("request.parameter",
                              fmt::format("cursor: {} is not a valid key of a variable",
                                          in_quotes(cursor)));
                }
                return store.variables(place, limit, cursor);
              })});
    const std::string one = owner + "/variables/{key}";
    add_read(router, service,
             {.method = "GET",
              .path = one,
              .operation = operation("get", "Variable"),
              .summary = fmt::format("Reads the bytes of a variable of {}.", scope.what),
              .answer = "VariableBytes",
              .errors = errors({"variable.not_found", "variable.sealed"}),
              .read = read_variable});
    router.add(
        {.method = "PUT",
         .path = one,
         .operation = operation("put", "Variable"),
         .summary = fmt::format("Sets a variable of {} with its content type.", scope.what),
         .body = "VariableBytes",
         .may_lack_body = true,
         .answer = "VariableStored",
         .errors = errors({"request.content_type", "millrace.quota."}),
         .max_body = limits.variable_bytes,
         .larger_bodies =
             fmt::format("a variable has at most {} MiB: divide the value among several "
                         "variables, or store it elsewhere and set its address",
                         limits.variable_bytes >> 20),
         .handler = [&service](const auto& exchange) { return put_variable(service, exchange); }});
    router.add({.method = "DELETE",
                .path = one,
                .operation = operation("delete", "Variable"),
                .summary = fmt::format("Deletes a variable of {}.", scope.what),
                .answer = "VariableDeleted",
                .errors = errors({"variable.not_found"}),
                .handler = [&service](const auto& exchange) {
                  return remove_variable(service, exchange);
                }});
  }
}

}  // namespace millrace
