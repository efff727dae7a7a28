// The routes of the starts that wait for slots or throttles of their workflows, of those that
// `debounce` or `batch` has put off, of the calls that wait for slots or throttles of their
// services, and of what holds the slots.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/json.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

constexpr size_t kMostOfAWrongKey = 100;

/// The value of the parameter `key`; nullopt: it is not given or empty.
Result<std::optional<Json>> slot_key_of_query(const Request& request) {
  const std::string text = text_parameter(request, "key");
  if (text.empty()) return std::optional<Json>();
  auto key = parse_json(text);
  if (key) return std::optional(*std::move(key));
  return fail("request.parameter",
              fmt::format("key: {} is not JSON; expected the value of a key, a text in quotes: "
                          "\"c-1\"",
                          excerpt(text, kMostOfAWrongKey)));
}

Result<HolderFilter> holder_filter_of(const Request& request) {
  HolderFilter filter{.workflow = text_parameter(request, "workflow"),
                      .service = text_parameter(request, "service"),
                      .image = text_parameter(request, "image")};
  const int given = (filter.workflow.empty() ? 0 : 1) + (filter.service.empty() ? 0 : 1) +
                    (filter.image.empty() ? 0 : 1);
  if (given != 1) {
    return fail("request.parameter",
                "workflow, service and image: give one of them, the workflow, service or image "
                "whose slots are meant");
  }
  filter.key = TRY(slot_key_of_query(request));
  filter.limit = TRY(limit_parameter(request));
  filter.cursor = text_parameter(request, "cursor");
  return filter;
}

void add_queue_list(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/queues",
            .operation = "listQueues",
            .summary = "Lists the keys of workflows and services for which starts and calls wait, "
                       "and the pending starts.",
            .query = {"workflow", "limit", "cursor"},
            .answer = "Queues",
            .errors = {"namespace.not_found", "workflow.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const size_t limit = TRY(limit_parameter(request));
              return store.queues(ns, limit, text_parameter(request, "cursor"),
                                  text_parameter(request, "workflow"));
            })});
}

void add_holder_list(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/queues/holders",
            .operation = "listSlotHolders",
            .summary = "Lists the instances or calls that hold slots of a workflow or service.",
            .query = {"workflow", "service", "image", "key", "limit", "cursor"},
            .answer = "SlotHolders",
            .errors = {"namespace.not_found", "workflow.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              return store.queue_holders(ns, TRY(holder_filter_of(request)));
            })});
}

}  // namespace

void add_queue_routes(Router& router, Service& service) {
  add_queue_list(router, service);
  add_holder_list(router, service);
}

}  // namespace millrace
