// GET /v1/openapi.json: the description of the API, which is made when the router is.
#include <cstddef>
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
              .handler = [text](const std::shared_ptr<Exchange>& exchange) -> Status {
                exchange->answer({200, {{"Content-Type", "application/json"}}, *text});
                return {};
              }});
  *text = openapi_document(router.routes()).dump();
}

Json api_document() {
  // The handlers refer to a service, and no handler is called: so there is only the place of a
  // service, and no object in it. A reference may be bound to storage of the size and alignment of
  // the object, as long as nothing reads the object.
  static_assert(alignof(Service) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  const auto place = std::make_unique<std::byte[]>(sizeof(Service));
  Service& uncalled = *static_cast<Service*>(static_cast<void*>(place.get()));
  return openapi_document(
      make_router(uncalled, RequestLimits{}, [] { return std::string(); }).routes());
}

}  // namespace millrace
