// Webhooks: sends CloudEvents to URLs in binary mode, as the CloudEvents HTTP Webhook specification
// 1.0.2 defines. A target is first asked for its permission (section 4). A delivery is one attempt:
// the caller decides when and how often to retry, and stores what must survive the process.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "http/http_client.h"
#include "orchestrator/ports/webhook_sender.h"

namespace millrace {

// The errors of deliveries, in addition to those of HttpClient.

/// The target did not allow events from the origin of this installation.
inline constexpr std::string_view kWebhookNotAllowed = "webhook.not_allowed";
/// Status 410: the target accepts no more events, and must not be asked again.
inline constexpr std::string_view kWebhookGone = "webhook.gone";
/// Status 415: the target does not accept events in this format.
inline constexpr std::string_view kWebhookMediaType = "webhook.media_type";
/// Status 429: the target receives too many requests.
inline constexpr std::string_view kWebhookBusy = "webhook.busy";
/// Any other status outside 2xx, redirects included.
inline constexpr std::string_view kWebhookStatus = "webhook.status";

struct WebhookSettings {
  std::string origin;        ///< a DNS name; the same for all millrace servers of an installation
  Duration timeout{30'000};  ///< timeout of each request
};

class Webhooks final : public WebhookSender {
 public:
  using Done = std::function<void(std::optional<WebhookFailure>)>;

  /// `client` must outlive this object.
  Webhooks(HttpClient& client, WebhookSettings settings);

  /// Deliveries that have not ended end with `http.cancelled`; no `done` is called afterwards. Must
  /// not be called on the client's thread.
  ~Webhooks() override;
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  /// Delivers one event; `done` is called on the client's thread. `token` is sent as
  /// `Authorization: Bearer …`; if `token` is empty, that header is not sent. A permission is
  /// remembered for the namespace and the URL for the lifetime of this object, a refusal is not.
  /// Only kWebhookGone is a final failure.
  void deliver(const std::string& ns, const Event& event, const std::string& url,
               const std::string& token, Done done) override;

 private:
  struct Delivery {
    HttpRequest request;
    Done done;
  };
  /// A namespace and a URL. The namespaces do not share a permission: the request for it may wait
  /// for the share of its namespace, or have the wrong token.
  using Target = std::pair<std::string, std::string>;
  /// The permission of a target. While the permission is not granted, a request for the permission
  /// is running.
  struct Permission {
    bool is_granted = false;
    std::vector<Delivery> waiting;
  };
  using Answered = std::function<void(Result<HttpAnswer>)>;

  // These functions must be called with the mutex held.
  void ask(const Target& target, const std::string& token);
  void post(Delivery delivery);
  void send(HttpRequest request, Answered done);

  void take_permission(const Target& target, Result<HttpAnswer> answer);

  HttpClient& client_;
  const WebhookSettings settings_;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::map<Target, Permission> permissions_;
  std::unordered_set<HttpClient::Ticket> under_way_;
  bool closing_ = false;
};

}  // namespace millrace
