// GET /v1/openapi.json: the description of the API, which is made when the router is.
#include <memory>
#include <string>

#include "gateway/openapi.h"
#include "gateway/routes.h"

namespace millrace {

void add_openapi_route(Router& router) {
  const auto text = std::make_shared<std::string>();
  router.add({.method = "GET",
              .path = "/v1/openapi.json",
              .operation = "getOpenApi",
              .summary = "Describes the API as an OpenAPI document.",
              .answer = "OpenApi",
              .lane = Lane::kInPlace,
              .open = true,
              .is_local = true,
              .handler = [text](const std::shared_ptr<Exchange>& exchange) -> Status {
                exchange->answer({200, {{"Content-Type", "application/json"}}, *text});
                return {};
              }});
  *text = openapi_document(router.routes()).dump();
}

Json api_document() {
  return openapi_document(make_router(
                              RequestLimits{}, [] { return std::string(); }, nullptr)
                              .routes());
}

}  // namespace millrace
