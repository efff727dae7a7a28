// The route /v1/ns/{ns}/find: what a text may name.
#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

/// The longest text, in bytes: that of an idempotency key.
constexpr size_t kMaxFindText = 255;

Result<std::string> find_text_of(const Request& request) {
  std::string text = text_parameter(request, "q");
  if (!text.empty() && text.size() <= kMaxFindText) return text;
  return fail(
      "request.parameter",
      fmt::format("q: expected 1 to {} bytes: the beginning of an id of an instance or "
                  "workflow, an idempotency key, the id of a group, task or replay, the name of a "
                  "source, inbound webhook or service, the sequence or the id of an event, or the "
                  "id, the reason or the event id of a dead letter",
                  kMaxFindText));
}

}  // namespace

void add_find_route(Router& router, Service& service) {
  router.add(
      {.method = "GET",
       .path = "/v1/ns/{ns}/find",
       .operation = "find",
       .summary = "Finds what a text may name, such as an instance, an event or a dead letter.",
       .query = {"q"},
       .answer = "Found",
       .errors = {"namespace.not_found"},
       .lane = Lane::kBroker,
       .handler = reading([&service](const Request& request) -> Result<Json> {
         const std::string ns = TRY(namespace_of(request));
         const std::string text = TRY(find_text_of(request));
         return service.find(ns, text);
       })});
}

}  // namespace millrace
