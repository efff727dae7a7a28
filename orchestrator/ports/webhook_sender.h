// WebhookSender: the port that sends lifecycle events to URLs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// Why a URL did not accept a CloudEvent.
struct WebhookFailure {
  Error error;
  /// The receiver's Retry-After: the next attempt comes no sooner.
  std::optional<Duration> retry_after;
  bool is_final = false;  ///< another attempt would fail too
};

/// Sends CloudEvents to URLs. Any thread; never blocks.
class WebhookSender {
 public:
  virtual ~WebhookSender() = default;
  /// Sends an event of the namespace `ns`. `done` is called exactly once, on any thread, possibly
  /// within this call; with nullopt if the receiver accepted the event.
  virtual void deliver(const std::string& ns, const Event& event, const std::string& url,
                       const std::string& token,
                       std::function<void(std::optional<WebhookFailure>)> done) = 0;
};

/// A sender for a millrace without webhooks: accepts every event and drops it.
class NoWebhooks final : public WebhookSender {
 public:
  void deliver(const std::string&, const Event&, const std::string&, const std::string&,
               std::function<void(std::optional<WebhookFailure>)> done) override {
    done(std::nullopt);
  }
};

}  // namespace millrace
