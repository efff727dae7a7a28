#include "http/webhook.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "cloudevents/http_binding.h"

namespace millrace {
namespace {

bool is_success(const HttpAnswer& answer) { return answer.status >= 200 && answer.status <= 299; }

/// The failure for an answer that is not a success, or for a request without an answer.
WebhookFailure failure(const Result<HttpAnswer>& answer) {
  if (!answer) return {.error = answer.error()};
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
  const std::string_view found = code(answer->status);
  return {.error = {std::string(found),
                    fmt::format("the target answered with HTTP {}", answer->status)},
          .retry_after = answer->retry_after,
          .is_final = found == kWebhookGone};
}

/// Whether the answer allows deliveries. The status of the answer is ignored (section 4.2), and so
/// is a rate that the answer requests.
bool allows(const HttpAnswer& answer, const std::string& origin) {
  const std::string* const allowed = find_header(answer.headers, "WebHook-Allowed-Origin");
  return allowed != nullptr && (*allowed == "*" || same_header(*allowed, origin));
}

/// Whether an answer that does not allow deliveries and has this status is a refusal, so that the
/// next answer would be the same. A target that does not implement webhooks answers with 405.
bool is_refusal(long status) { return status < 500 && status != 410 && status != 429; }

void authorize(HttpRequest& request, const std::string& token) {
  if (token.empty()) return;
  request.headers.emplace_back("Authorization", "Bearer " + token);
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

void Webhooks::deliver(const std::string& ns, const Event& event, const std::string& url,
                       const std::string& token, Done done) {
  HttpMessage message = encode_http_binary(event);
  HttpRequest request{.url = url,
                      .headers = std::move(message.headers),
                      .body = std::move(message.body),
                      .timeout = settings_.timeout,
                      .ns = ns};
  request.headers.emplace_back("WebHook-Request-Origin", settings_.origin);
  authorize(request, token);

  const std::lock_guard lock(mutex_);
  const Target target(ns, url);
  const auto [found, is_new] = permissions_.try_emplace(target);
  Permission& permission = found->second;
  if (permission.is_granted) {
    post({std::move(request), std::move(done)});
    return;
  }
  permission.waiting.push_back({std::move(request), std::move(done)});
  if (is_new) ask(target, token);
}

void Webhooks::ask(const Target& target, const std::string& token) {
  HttpRequest request{.method = "OPTIONS",
                      .url = target.second,
                      .headers = {{"WebHook-Request-Origin", settings_.origin}},
                      .timeout = settings_.timeout,
                      .ns = target.first};
  authorize(request, token);
  send(std::move(request),
       [this, target](Result<HttpAnswer> answer) { take_permission(target, std::move(answer)); });
}

void Webhooks::take_permission(const Target& target, Result<HttpAnswer> answer) {
  std::vector<Delivery> refused;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) answer = fail(std::string(kHttpCancelled), "the sender of webhooks stopped");
    Permission& permission = permissions_[target];
    if (answer) permission.is_granted = allows(*answer, settings_.origin);
    if (permission.is_granted) {
      for (Delivery& delivery : std::exchange(permission.waiting, {})) {
        post(std::move(delivery));
      }
      return;
    }
    refused = std::move(permission.waiting);
    permissions_.erase(target);
  }
  WebhookFailure why = failure(answer);
  if (answer && is_refusal(answer->status)) {
    why.error = {std::string(kWebhookNotAllowed),
                 fmt::format("the target answered with HTTP {} and does not allow events of \"{}\" "
                             "(WebHook-Allowed-Origin)",
                             answer->status, settings_.origin)};
  }
  for (const Delivery& delivery : refused) delivery.done(why);
}

void Webhooks::post(Delivery delivery) {
  send(std::move(delivery.request),
       [done = std::move(delivery.done)](const Result<HttpAnswer>& answer) {
         if (answer && is_success(*answer)) {
           done(std::nullopt);
         } else {
           done(failure(answer));
         }
       });
}

void Webhooks::send(HttpRequest request, Answered done) {
  // The mutex is held, so the callback cannot remove the ticket before the ticket is inserted
  // below.
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
