// Webhooks: sends CloudEvents to URLs in binary mode, as the CloudEvents HTTP Webhook specification
// 1.0.2 has it. A target is asked first whether it wants them (section 4). A delivery is one
// attempt: when to try again, how often, and what outlives the process is up to the caller.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "http/http_client.h"
#include "orchestrator/ports/webhook_sender.h"

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

struct WebhookSettings {
  std::string origin;        ///< a DNS name, the same for every process of an installation
  Duration timeout{30'000};  ///< of each request
};

class Webhooks final : public WebhookSender {
 public:
  using Done = std::function<void(std::optional<WebhookFailure>)>;

  /// `client` outlives it.
  Webhooks(HttpClient& client, WebhookSettings settings);

  /// What is under way ends with `http.cancelled`; no `done` is called after it. Not on the
  /// client's thread.
  ~Webhooks() override;
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  /// `done` is called on the client's thread. `token` is sent as `Authorization: Bearer …`; empty:
  /// no such header. An allowance is remembered for the URL for as long as this lives, a refusal is
  /// not. Only kWebhookGone is a final failure.
  void deliver(const Event& event, const std::string& url, const std::string& token,
               Done done) override;

 private:
  struct Delivery {
    HttpRequest request;
    Done done;
  };
  /// What is known of a URL: asked for while no answer has come.
  struct Permission {
    bool is_granted = false;
    std::vector<Delivery> waiting;
  };
  using Answered = std::function<void(Result<HttpAnswer>)>;

  // With the mutex held.
  void ask(const std::string& url, const std::string& token);
  void post(Delivery delivery);
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
