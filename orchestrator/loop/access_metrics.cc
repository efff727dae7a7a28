#include "orchestrator/loop/access_metrics.h"

namespace millrace {
namespace {

prometheus::Counter& refused_token(prometheus::Registry& registry, const char* reason) {
  return prometheus::BuildCounter()
      .Name("millrace_http_tokens_refused_total")
      .Help("HTTP requests that were refused because their token is missing or wrong.")
      .Register(registry)
      .Add({{"reason", reason}});
}

prometheus::Counter& inbound_requests(prometheus::Registry& registry, const char* signature) {
  return prometheus::BuildCounter()
      .Name("millrace_inbound_webhooks_total")
      .Help("HTTP requests for inbound webhooks, by whether their signature is valid.")
      .Register(registry)
      .Add({{"signature", signature}});
}

prometheus::Counter& callbacks(prometheus::Registry& registry, const char* key) {
  return prometheus::BuildCounter()
      .Name("millrace_callbacks_total")
      .Help("Callbacks of services that answer later, by whether their key is valid.")
      .Register(registry)
      .Add({{"key", key}});
}

}  // namespace

AccessMetrics::AccessMetrics(prometheus::Registry& registry)
    : tokens_missing(refused_token(registry, "missing")),
      tokens_wrong(refused_token(registry, "wrong")),
      signatures_valid(inbound_requests(registry, "valid")),
      signatures_refused(inbound_requests(registry, "refused")),
      keys_valid(callbacks(registry, "valid")),
      keys_refused(callbacks(registry, "refused")) {}

}  // namespace millrace
