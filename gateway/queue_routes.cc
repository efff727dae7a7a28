// The route of the starts that wait for slots or throttles of their workflows, of those that
// `debounce` or `batch` has put off, and of the calls that wait for slots or throttles of their
// services.
#include <string>

#include "gateway/parameters.h"
#include "gateway/routes.h"

namespace millrace {

void add_queue_routes(Router& router, Service& service) {
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

}  // namespace millrace
