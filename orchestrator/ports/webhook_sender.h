// WebhookSender: the port to URLs that lifecycle events are sent to.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// Why a CloudEvent was not taken by the URL that it was sent to.
struct WebhookFailure {
  Error error;
  std::optional<Duration> retry_after;  ///< the receiver says: not before that
  bool is_final = false;                ///< it is of no use to try again
};

/// Sends CloudEvents to URLs. Any thread; never blocks.
class WebhookSender {
 public:
  virtual ~WebhookSender() = default;
  /// `done` is called just once, on any thread, this call's included; nullopt: it was taken.
  virtual void deliver(const Event& event, const std::string& url, const std::string& token,
                       std::function<void(std::optional<WebhookFailure>)> done) = 0;
};

/// Where there are no webhooks: takes all.
class NoWebhooks final : public WebhookSender {
 public:
  void deliver(const Event&, const std::string&, const std::string&,
               std::function<void(std::optional<WebhookFailure>)> done) override {
    done(std::nullopt);
  }
};

}  // namespace millrace
