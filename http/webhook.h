// Webhooks: sends CloudEvents to URLs, as the CloudEvents HTTP Webhook specification 1.0.2 has it.
// A target is asked first whether it wants them (section 4). A delivery is one attempt: when to try
// again, how often, and what outlives the process is up to the caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tl/expected.hpp>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "http/http_client.h"

namespace millrace {

// Errors of deliveries; beside them those of HttpClient.

/// The target did not say that it wants events of our origin.
inline constexpr std::string_view kWebhookNotAllowed = "webhook.not_allowed";
/// 410: it wants none any more, and must not be asked again.
inline constexpr std::string_view kWebhookGone = "webhook.gone";
/// 415: it does not take events in this form.
inline constexpr std::string_view kWebhookMediaType = "webhook.media_type";
/// 429: there are too many.
inline constexpr std::string_view kWebhookBusy = "webhook.busy";
/// Another status than 2xx, a redirect among them.
inline constexpr std::string_view kWebhookStatus = "webhook.status";

struct WebhookTarget {
  std::string url;
  std::string token;           ///< `Authorization: Bearer …`; empty: none
  bool is_structured = false;  ///< the event as one JSON text, not as headers and data
};

/// The target has taken the event.
struct WebhookReceipt {
  std::optional<uint32_t> per_minute;  ///< so many requests it allows; none: it sets no bound

  bool operator==(const WebhookReceipt&) const = default;
};

struct WebhookFailure {
  Error error;
  std::optional<Duration> retry_after;  ///< where the target says so: not before that

  bool operator==(const WebhookFailure&) const = default;
};

struct WebhookSettings {
  std::string origin;            ///< a DNS name: all of ours, whichever process it is
  std::optional<uint32_t> rate;  ///< requests per minute that targets are asked for
  Duration timeout{30'000};      ///< of each request
};

class Webhooks {
 public:
  using Done = std::function<void(tl::expected<WebhookReceipt, WebhookFailure>)>;

  /// `client` outlives it.
  Webhooks(HttpClient& client, WebhookSettings settings);

  /// What is under way ends with `http.cancelled`; no `done` is called after it. Not on the
  /// client's thread.
  ~Webhooks();
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  /// Any thread; never blocks. `done` is called just once, on the client's thread. An allowance is
  /// remembered for the URL for as long as this lives, a refusal is not.
  void deliver(const Event& event, const WebhookTarget& target, Done done);

 private:
  struct Delivery {
    HttpRequest request;
    Done done;
  };
  /// What is known of a URL: asked for while no answer has come.
  struct Permission {
    std::optional<WebhookReceipt> granted;
    std::vector<Delivery> waiting;
  };
  using Answered = std::function<void(Result<HttpAnswer>)>;

  // With the mutex held.
  void ask(const WebhookTarget& target);
  void post(Delivery delivery, const WebhookReceipt& receipt);
  void send(HttpRequest request, Answered done);

  void take_permission(const std::string& url, Result<HttpAnswer> answer);

  HttpClient& client_;
  const WebhookSettings settings_;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::unordered_map<std::string, Permission> permissions_;
  std::unordered_set<HttpClient::Ticket> under_way_;
  bool closing_ = false;
};

}  // namespace millrace
