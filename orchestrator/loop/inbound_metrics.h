// The counter of requests for inbound webhooks, by the webhook and the outcome. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

namespace millrace {

/// What became of a request for an inbound webhook that exists.
enum class InboundOutcome : uint8_t {
  kAccepted,  ///< its event is durable
  kRepeated,  ///< its event was a duplicate
  kRefused,   ///< its signature is not valid
  kUnmapped,  ///< it became no event
  kDeferred,  ///< it was answered 429 or 503, so that the other service sends it again
};
inline constexpr size_t kInboundOutcomes = 5;

/// The name of the outcome in metric labels and in the API.
std::string_view to_string(InboundOutcome outcome);

/// The most inbound webhooks that the metric shows by their names. Each has kInboundOutcomes
/// series.
inline constexpr size_t kMostWebhookLabels = 100;

class InboundMetrics {
 public:
  /// Registers the metric in `registry`, which outlives the object. The series of kOtherNamespaces
  /// exist at once.
  explicit InboundMetrics(prometheus::Registry& registry);

  /// The first kMostWebhookLabels inbound webhooks with requests keep series of their own until
  /// they are removed, because a counter must not decrease; all others are counted together, with
  /// kOtherNamespaces for both names.
  void count(const std::string& ns, const std::string& webhook, InboundOutcome outcome);
  /// Removes the series of the inbound webhooks of the namespace for whose names `is_kept` is
  /// false.
  void remove(const std::string& ns, const std::function<bool(const std::string&)>& is_kept);

 private:
  using Counters = std::array<prometheus::Counter*, kInboundOutcomes>;

  Counters series_of(const std::string& ns, const std::string& webhook);

  prometheus::Family<prometheus::Counter>& family_;
  std::mutex lock_;  // guards webhooks_
  std::map<std::pair<std::string, std::string>, Counters> webhooks_;
  const Counters others_;
};

}  // namespace millrace
