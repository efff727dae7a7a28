#include "orchestrator/outgoing/webhook_outbox.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// The maximum number of deliveries in flight; half of them if only one namespace has deliveries.
constexpr size_t kWindow = 128;

/// The delay of a delivery whose namespace has settings that cannot be read.
constexpr Duration kSettingsAgain{10'000};

const WebhookSetting* find_setting(const NamespaceSettings& settings, const std::string& url) {
  const auto found = std::find_if(settings.webhooks.begin(), settings.webhooks.end(),
                                  [&](const WebhookSetting& one) { return one.url == url; });
  return found == settings.webhooks.end() ? nullptr : &*found;
}

/// The error of a delivery whose webhook names a secret that is not set. Such a delivery is not
/// sent, because without the token the receiver could not authenticate the event.
Error no_secret(const std::string& name) {
  return {"webhook.no_secret",
          fmt::format("the namespace has no secret \"{}\" for the webhook's token; set it "
                      "(`millrace secret set {}`)",
                      name, name)};
}

}  // namespace

WebhookOutbox::WebhookOutbox(WebhookSender& sender, const Catalog& catalog, Damages& damages,
                             const BatchCount& batches, OnResult on_result)
    : sender_(sender),
      catalog_(catalog),
      damages_(damages),
      on_result_(std::move(on_result)),
      queue_(kWindow),
      undo_(batches) {}

Status WebhookOutbox::load(const View& view) {
  queue_.clear_due();
  undo_.take();
  return each_webhook(
      view,
      [&](uint64_t number, const WebhookRecord& record) {
        if (!catalog_.has_namespace(record.ns)) return;
        if (!queue_.is_in_flight(number)) make_due({record.ns, record.at, number});
      },
      damages_.noting());
}

void WebhookOutbox::add(Transaction& tx, uint64_t number, const WebhookRecord& record) {
  write_webhook(tx, number, record);
  put({record.ns, record.at, number});
}

void WebhookOutbox::drop(const DueWebhook& delivery) {
  if (queue_.remove(delivery)) note(Undo::What::kDropped, delivery);
}

void WebhookOutbox::make_due(const DueWebhook& delivery) {
  queue_.put(delivery);
  has_due_ = true;
}

/// During a batch: makes the delivery due.
void WebhookOutbox::put(const DueWebhook& delivery) {
  make_due(delivery);
  note(Undo::What::kAdded, delivery);
}

void WebhookOutbox::note(Undo::What what, const DueWebhook& delivery) {
  if (auto* const undo = undo_.now()) undo->push_back({what, delivery});
}

void WebhookOutbox::undo() {
  const std::vector<Undo> undo = undo_.take();
  for (auto one = undo.rbegin(); one != undo.rend(); ++one) {
    const DueWebhook& delivery = one->delivery;
    switch (one->what) {
      case Undo::What::kAdded:
        queue_.remove(delivery);
        break;
      case Undo::What::kDropped:
        make_due(delivery);
        break;
      case Undo::What::kSettled:
        queue_.put_in_flight(delivery.number, delivery.ns);
        break;
    }
  }
}

Result<std::optional<WebhookRecord>> WebhookOutbox::on_result(Transaction& tx,
                                                              const WebhookResult& outcome,
                                                              TimePoint now) {
  auto record = TRY(damages_.pass_over(read_webhook(tx, outcome.number)));
  if (const auto ns = queue_.end(outcome.number)) {
    note(Undo::What::kSettled, {.ns = *ns, .number = outcome.number});
  }
  if (!record) return std::optional<WebhookRecord>();
  const WebhookSetting* const setting = find_setting(catalog_.settings(record->ns), record->url);
  const auto& failure = outcome.failure;
  const bool again = failure && !failure->is_final && setting != nullptr &&
                     setting->retries.allows_after(record->attempt);
  if (failure && catalog_.has_unreadable_settings(record->ns)) {
    put({record->ns, now + kSettingsAgain, outcome.number});
    return std::optional<WebhookRecord>();
  }
  if (!again) {
    erase_webhook(tx, outcome.number);
    if (!failure || setting == nullptr) return std::optional<WebhookRecord>();
    return record;
  }
  const double draw = draw_from({record->event, record->url, std::to_string(record->attempt)});
  record->at = setting->retries.next_at(record->attempt, now, draw);
  if (failure->retry_after) record->at = std::max(record->at, now + *failure->retry_after);
  ++record->attempt;
  write_webhook(tx, outcome.number, *record);
  put({record->ns, record->at, outcome.number});
  return std::optional<WebhookRecord>();
}

Status WebhookOutbox::pump(const View& view, TimePoint now) {
  Status done;
  if (!has_due_) return done;
  std::vector<DueWebhook> again;
  // A delivery that is not sent does not use the window, so the number of deliveries is bounded,
  // too.
  for (size_t left = kWindow; left > 0; --left) {
    const auto next = queue_.take(now);
    if (!next) break;
    const Status sent = send(view, next->number, now);
    if (sent) continue;
    queue_.end(next->number);
    if (is_damaged_row(sent.error())) {  // the damaged row stays in the store, and its delivery is
                                         // not tried again
      damages_.note(sent.error());
      continue;
    }
    again.push_back(*next);
    if (done) done = sent;
  }
  for (const DueWebhook& delivery : again) queue_.put(delivery);
  has_due_ = queue_.has_due();
  return done;
}

/// Sends a delivery that was taken from the queue. After an error it has not been sent.
Status WebhookOutbox::send(const View& view, uint64_t number, TimePoint now) {
  const auto record = TRY(read_webhook(view, number));
  if (!record) {
    queue_.end(number);
    return {};
  }
  const WebhookSetting* const setting = find_setting(catalog_.settings(record->ns), record->url);
  if (setting == nullptr && catalog_.has_unreadable_settings(record->ns)) {
    queue_.end(number);
    make_due({record->ns, now + kSettingsAgain, number});
    return {};
  }
  if (setting == nullptr) {  // the webhook was removed from the settings
    on_result_({number, std::nullopt});
    return {};
  }
  std::optional<std::string> token = "";
  if (!setting->secret.empty()) {
    token = TRY(read_secret(view, record->ns, setting->secret));
  }
  const Event event = TRY(event_of(number, *record));
  if (!token) {
    on_result_({number, WebhookFailure{.error = no_secret(setting->secret), .retry_after = {}}});
    return {};
  }
  crash_point(CrashPoint::kDelivering);
  sender_.deliver(catalog_.name_of(record->ns), event, record->url, *token,
                  [on_result = on_result_, number](std::optional<WebhookFailure> failure) {
                    on_result({number, std::move(failure)});
                  });
  return {};
}

std::optional<TimePoint> WebhookOutbox::next_due() const {
  return has_due_ ? queue_.next_due() : std::nullopt;
}

}  // namespace millrace
