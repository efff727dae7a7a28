#include "http/webhook.h"

#include <charconv>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "cloudevents/http_binding.h"

namespace millrace {
namespace {

bool is_success(const HttpAnswer& answer) { return answer.status >= 200 && answer.status <= 299; }

/// What an answer that is no success, or no answer at all, means.
WebhookFailure failure(const Result<HttpAnswer>& answer) {
  if (!answer) return {answer.error(), std::nullopt};
  const auto code = [](long status) {
    switch (status) {
      case 410:
        return kWebhookGone;
      case 415:
        return kWebhookMediaType;
      case 429:
        return kWebhookBusy;
      default:
        return kWebhookStatus;
    }
  };
  return {Error{std::string(code(answer->status)),
                fmt::format("the target answered with HTTP {}", answer->status)},
          answer->retry_after};
}

/// Whether the answer allows deliveries, and how many. Its status does not count (section 4.2).
std::optional<WebhookReceipt> permission_in(const HttpAnswer& answer, const std::string& origin) {
  const std::string* const allowed = find_header(answer.headers, "WebHook-Allowed-Origin");
  if (allowed == nullptr || (*allowed != "*" && !same_header(*allowed, origin))) {
    return std::nullopt;
  }
  WebhookReceipt receipt;
  if (const std::string* const rate = find_header(answer.headers, "WebHook-Allowed-Rate")) {
    uint32_t per_minute = 0;
    const char* const end = rate->data() + rate->size();
    const auto [stop, error] = std::from_chars(rate->data(), end, per_minute);
    if (error == std::errc() && stop == end && per_minute > 0) receipt.per_minute = per_minute;
  }
  return receipt;
}

/// Of an answer that allows nothing: whether it will be the same the next time. 405 is that of a
/// target that knows nothing of webhooks.
bool is_refusal(long status) { return status < 500 && status != 410 && status != 429; }

void authorize(HttpRequest& request, const WebhookTarget& target) {
  if (target.token.empty()) return;
  request.headers.emplace_back("Authorization", "Bearer " + target.token);
}

}  // namespace

Webhooks::Webhooks(HttpClient& client, WebhookSettings settings)
    : client_(client), settings_(std::move(settings)) {}

Webhooks::~Webhooks() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  for (const HttpClient::Ticket ticket : under_way_) client_.cancel(ticket);
  answered_.wait(lock, [this] { return under_way_.empty(); });
}

void Webhooks::deliver(const Event& event, const WebhookTarget& target, Done done) {
  HttpMessage message =
      target.is_structured ? encode_http_structured(event) : encode_http_binary(event);
  HttpRequest request{.url = target.url,
                      .headers = std::move(message.headers),
                      .body = std::move(message.body),
                      .timeout = settings_.timeout};
  request.headers.emplace_back("WebHook-Request-Origin", settings_.origin);
  authorize(request, target);

  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = permissions_.try_emplace(target.url);
  Permission& permission = found->second;
  if (permission.granted) {
    post({std::move(request), std::move(done)}, *permission.granted);
    return;
  }
  permission.waiting.push_back({std::move(request), std::move(done)});
  if (is_new) ask(target);
}

void Webhooks::ask(const WebhookTarget& target) {
  HttpRequest request{.method = "OPTIONS",
                      .url = target.url,
                      .headers = {{"WebHook-Request-Origin", settings_.origin}},
                      .timeout = settings_.timeout};
  if (settings_.rate) {
    request.headers.emplace_back("WebHook-Request-Rate", std::to_string(*settings_.rate));
  }
  authorize(request, target);
  send(std::move(request), [this, url = target.url](Result<HttpAnswer> answer) {
    take_permission(url, std::move(answer));
  });
}

void Webhooks::take_permission(const std::string& url, Result<HttpAnswer> answer) {
  std::vector<Delivery> refused;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) answer = fail(std::string(kHttpCancelled), "the sender of webhooks ends");
    Permission& permission = permissions_[url];
    if (answer) permission.granted = permission_in(*answer, settings_.origin);
    if (permission.granted) {
      for (Delivery& delivery : std::exchange(permission.waiting, {})) {
        post(std::move(delivery), *permission.granted);
      }
      return;
    }
    refused = std::move(permission.waiting);
    permissions_.erase(url);
  }
  WebhookFailure why = failure(answer);
  if (answer && is_refusal(answer->status)) {
    why.error = {std::string(kWebhookNotAllowed),
                 fmt::format("the target answered with HTTP {} and does not allow events of \"{}\" "
                             "(WebHook-Allowed-Origin)",
                             answer->status, settings_.origin)};
  }
  for (const Delivery& delivery : refused) delivery.done(tl::unexpected(why));
}

void Webhooks::post(Delivery delivery, const WebhookReceipt& receipt) {
  send(std::move(delivery.request),
       [done = std::move(delivery.done), receipt](const Result<HttpAnswer>& answer) {
         if (answer && is_success(*answer)) {
           done(receipt);
         } else {
           done(tl::unexpected(failure(answer)));
         }
       });
}

void Webhooks::send(HttpRequest request, Answered done) {
  // Nobody hears of it before its ticket is known: the mutex is held.
  const auto ticket = std::make_shared<HttpClient::Ticket>();
  *ticket =
      client_.send(std::move(request),
                   {.done = [this, ticket, done = std::move(done)](Result<HttpAnswer> answer) {
                     done(std::move(answer));
                     const std::lock_guard lock(mutex_);
                     under_way_.erase(*ticket);
                     answered_.notify_all();
                   }});
  under_way_.insert(*ticket);
}

}  // namespace millrace
