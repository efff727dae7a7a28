// InboundWebhookDesk: requests of other services for the inbound webhooks of a namespace (setting
// `hooks`). The signature is checked over the bytes as they came; then the request is mapped to an
// event, which is published as any other. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/defaults.h"
#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/service/inbound_counts.h"
#include "orchestrator/service/service.h"
#include "orchestrator/service/tried_event.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Counts refused requests for the log, which has at most one line in a minute. For one thread.
class InboundRefusals {
 public:
  /// Notes a refused request at the time `now` of a clock that never goes back. Returns the line
  /// for the log, if one is due: how many requests were refused since the last one, and why the
  /// newest was.
  std::optional<std::string> note(const InboundRequest& request, std::string_view reason,
                                  Duration now);

 private:
  uint64_t count_ = 0;
  std::optional<Duration> last_line_;
};

class InboundWebhookDesk {
 public:
  using Publish = std::function<void(std::string ns, std::vector<Event> events,
                                     std::function<void(Result<Accepted>)> done)>;
  struct Parts {
    Environment& environment;
    const Clock& clock;
    Metrics& metrics;
    Evaluator evaluate;  ///< null: there are no jq workers
    Publish publish;     ///< is not called after the desk is destroyed
    /// How long the id of an event is remembered. A time stamp may be half of it from now, either
    /// way, so that a request that is sent again is known as the same while its stamp is valid.
    Duration known_for = defaults::kDedupeWindow;
  };
  using Done = std::function<void(Result<InboundAnswer>)>;

  explicit InboundWebhookDesk(Parts parts);
  ~InboundWebhookDesk();
  InboundWebhookDesk(const InboundWebhookDesk&) = delete;
  InboundWebhookDesk& operator=(const InboundWebhookDesk&) = delete;

  /// See Service::receive().
  void receive(const InboundRequest& request, const Done& done);
  /// See Service::inbound_webhooks().
  Result<Json> list(std::string_view ns);
  /// See Service::inbound_webhook().
  Result<Json> get(std::string_view ns, std::string_view name);
  /// See Service::try_inbound().
  Result<Json> try_request(const InboundRequest& request, const JudgeEvent& judge);
  /// The callback of a command that removes inbound webhooks: if the command succeeds, their counts
  /// are forgotten. It is `done` itself for other commands.
  std::function<void(Result<Json>)> with_removal(const Command& command,
                                                 std::function<void(Result<Json>)> done) const;

 private:
  /// Publishes until the desk is destroyed; results of jq workers may come later.
  class Gate;
  /// An inbound webhook, and the values of its secrets.
  struct Opened {
    NamespaceNumber ns{};
    InboundWebhook webhook;
    std::vector<std::string> secrets;
  };
  /// The settings from which the inbound webhooks of a namespace were read.
  struct Known {
    std::string settings;
    std::shared_ptr<const InboundWebhooks> webhooks;
  };

  /// The settings of the inbound webhooks of a namespace by name, as they are stored.
  struct Stored {
    NamespaceNumber ns{};
    Json webhooks = Json::object();
  };

  Result<Opened> open(const InboundRequest& request);
  Result<Stored> stored(std::string_view ns);
  std::shared_ptr<const InboundWebhooks> webhooks_of(std::string_view ns,
                                                     const NamespaceRecord& record);
  void refuse(const InboundRequest& request, const Error& why, const Done& done);
  void accept(const InboundRequest& request, const Opened& opened, const Done& done);
  Result<Event> event_of(const InboundRequest& request, const Opened& opened) const;

  const Parts parts_;
  const std::shared_ptr<Gate> gate_;
  const std::shared_ptr<InboundCounts> counts_;
  std::mutex mutex_;  // guards the members below
  std::map<NamespaceNumber, Known> known_;
  InboundRefusals refusals_;
};

}  // namespace millrace
