#include "orchestrator/loop/inbound_metrics.h"

#include "orchestrator/loop/namespace_labels.h"

namespace millrace {

std::string_view to_string(InboundOutcome outcome) {
  constexpr std::array<std::string_view, kInboundOutcomes> kNames = {
      "accepted", "repeated", "refused", "unmapped", "deferred"};
  return kNames.at(static_cast<size_t>(outcome));
}

InboundMetrics::InboundMetrics(prometheus::Registry& registry)
    : family_(prometheus::BuildCounter()
                  .Name("millrace_inbound_webhook_requests_total")
                  .Help("Requests for inbound webhooks that exist, by webhook and outcome.")
                  .Register(registry)),
      others_(series_of(kOtherNamespaces, kOtherNamespaces)) {}

void InboundMetrics::count(const std::string& ns, const std::string& webhook,
                           InboundOutcome outcome) {
  const std::lock_guard lock(lock_);
  auto known = webhooks_.find({ns, webhook});
  if (known == webhooks_.end() && webhooks_.size() < kMostWebhookLabels) {
    known = webhooks_.emplace(std::pair(ns, webhook), series_of(ns, webhook)).first;
  }
  const Counters& counters = known == webhooks_.end() ? others_ : known->second;
  counters.at(static_cast<size_t>(outcome))->Increment();
}

void InboundMetrics::remove(const std::string& ns,
                            const std::function<bool(const std::string&)>& is_kept) {
  const std::lock_guard lock(lock_);
  for (auto next = webhooks_.lower_bound({ns, std::string()});
       next != webhooks_.end() && next->first.first == ns;) {
    if (is_kept(next->first.second)) {
      ++next;
      continue;
    }
    for (prometheus::Counter* const counter : next->second) family_.Remove(counter);
    next = webhooks_.erase(next);
  }
}

InboundMetrics::Counters InboundMetrics::series_of(const std::string& ns,
                                                   const std::string& webhook) {
  Counters counters{};
  for (size_t i = 0; i < counters.size(); ++i) {
    counters[i] = &family_.Add({{"namespace", ns},
                                {"webhook", webhook},
                                {"outcome", std::string(to_string(InboundOutcome(i)))}});
  }
  return counters;
}

}  // namespace millrace
