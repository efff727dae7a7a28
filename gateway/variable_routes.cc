// The routes /v1/ns/{ns}/variables and below, also under a workflow and under an instance. Values
// are raw bytes with their content type; lists are JSON.
#include <utility>

#include <fmt/format.h>

#include "cloudevents/media_type.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr size_t kMaxContentType = 255;

constexpr const char* kAnyBytes = "application/octet-stream";

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

Status get(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const VariablePlace place = TRY(variable_place_of(exchange->request()));
  const std::string key = TRY(variable_key_of(exchange->request()));
  exchange->answer(raw(TRY(service.variable(place, key))));
  return {};
}

Status put_variable(Service& service, const std::shared_ptr<Exchange>& exchange) {
  Request& request = exchange->request();
  PutVariable command;
  command.place = TRY(variable_place_of(request));
  command.key = TRY(variable_key_of(request));
  command.value.content_type = TRY(content_type_of(request));
  command.value.bytes = std::move(request.body);
  service.command(std::move(command),
                  exchange->back<Result<Json>>(
                      [exchange](const Result<Json>& answer) { exchange->reply(answer); }));
  return {};
}

Status remove_variable(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteVariable command;
  command.place = TRY(variable_place_of(exchange->request()));
  command.key = TRY(variable_key_of(exchange->request()));
  service.command(std::move(command),
                  exchange->back<Result<Json>>(
                      [exchange](const Result<Json>& answer) { exchange->reply(answer); }));
  return {};
}

}  // namespace

void add_variable_routes(Router& router, Service& service, const RequestLimits& limits) {
  for (const std::string owner :
       {"/v1/ns/{ns}", "/v1/ns/{ns}/workflows/{workflow}", "/v1/ns/{ns}/instances/{instance}"}) {
    router.add({.method = "GET",
                .path = owner + "/variables",
                .query = {"limit", "cursor"},
                .handler = reading([&service](const Request& request) -> Result<Json> {
                  const VariablePlace place = TRY(variable_place_of(request));
                  const size_t limit = TRY(limit_parameter(request));
                  const std::string cursor = text_parameter(request, "cursor");
                  if (!cursor.empty() && !is_variable_key(cursor)) {
                    return fail("request.parameter",
                                fmt::format("cursor: {} is not a valid key of a variable",
                                            in_quotes(cursor)));
                  }
                  return service.variables(place, limit, cursor);
                })});
    const std::string one = owner + "/variables/{key}";
    router.add({.method = "GET", .path = one, .handler = [&service](const auto& exchange) {
                  return get(service, exchange);
                }});
    router.add(
        {.method = "PUT",
         .path = one,
         .max_body = limits.variable_bytes,
         .handler = [&service](const auto& exchange) { return put_variable(service, exchange); }});
    router.add({.method = "DELETE", .path = one, .handler = [&service](const auto& exchange) {
                  return remove_variable(service, exchange);
                }});
  }
}

}  // namespace millrace
