// InboundCounts: what became of the requests for each inbound webhook, since this process started.
// Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/loop/inbound_metrics.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// An inbound webhook of a namespace.
struct WebhookPlace {
  NamespaceNumber ns{};
  std::string ns_name;
  std::string name;
};

/// What became of the requests for one inbound webhook.
struct InboundFigures {
  struct Failure {
    TimePoint at;
    Error error;
  };

  TimePoint since;                                     ///< since when requests are counted
  std::array<uint64_t, kInboundOutcomes> counts = {};  ///< by InboundOutcome
  std::optional<TimePoint> accepted_at = {};  ///< of the latest accepted request, or repeated one
  std::optional<Failure> refusal = {};        ///< of the latest request that was refused
  std::optional<Failure> failure = {};        ///< of the latest request that was not accepted
                                              ///< although its signature is valid
};

class InboundCounts {
 public:
  using Done = std::function<void(Result<InboundAnswer>)>;

  /// The clock and the metrics outlive the object, or the call of close().
  InboundCounts(const Clock& clock, Metrics& metrics);

  /// Counts a request whose signature is not valid.
  void count_refused(const WebhookPlace& place, const Error& why);
  /// Notes a request whose signature is valid, before count_answer(), which may come much later.
  void note_request(const WebhookPlace& place);
  /// Counts the answer to a request whose signature is valid. A challenge is not counted, and
  /// neither is a request for an inbound webhook that was forgotten since note_request().
  void count_answer(const WebhookPlace& place, const Result<InboundAnswer>& answer);
  /// Forgets the inbound webhooks of the namespace for whose names `is_kept` is false, also in the
  /// metrics.
  void forget(const std::string& ns, const std::function<bool(const std::string&)>& is_kept);
  InboundFigures figures(NamespaceNumber ns, const std::string& name) const;
  /// Counts nothing from now on.
  void close();

 private:
  struct Counted {
    std::string ns_name;
    InboundFigures figures;
  };

  /// The figures of the inbound webhook, which are new unless it has some. `mutex_` is held.
  InboundFigures& figures_of(const WebhookPlace& place);
  void count(const WebhookPlace& place, InboundOutcome outcome, const Error* why);

  mutable std::mutex mutex_;  // guards the members below
  const Clock* clock_;        // null after close()
  Metrics* metrics_;          // null after close()
  TimePoint since_;
  std::map<std::pair<NamespaceNumber, std::string>, Counted> figures_;
};

/// {"name","path","form","secrets","type","paused","countedSince","accepted","repeated","refused",
/// "unmapped","deferred","lastAcceptedAt"?,"lastRefusal"?:{"code","msg","at"},"lastError"?:{"code",
/// "msg","at"}}. `settings`: what parse_inbound_webhooks() accepts for one.
Json inbound_json(std::string_view ns, const std::string& name, const Json& settings,
                  const InboundFigures& figures);

}  // namespace millrace
