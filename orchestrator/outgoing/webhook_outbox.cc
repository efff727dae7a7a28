#include "orchestrator/outgoing/webhook_outbox.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// The maximum number of deliveries in flight.
constexpr size_t kWindow = 64;

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

Status WebhookOutbox::load(const View& view) {
  due_.clear();
  undo_.take();
  return each_webhook(
      view,
      [&](uint64_t number, const WebhookRecord& record) {
        if (!catalog_.has_namespace(record.ns)) return;
        if (!under_way_.contains(number)) due_.emplace(record.at, number);
      },
      damages_.noting());
}

void WebhookOutbox::add(Transaction& tx, uint64_t number, const WebhookRecord& record) {
  write_webhook(tx, number, record);
  due_.emplace(record.at, number);
  note({.number = number, .added = record.at});
}

void WebhookOutbox::drop(uint64_t number, TimePoint due) {
  if (due_.erase({due, number}) > 0) note({.number = number, .dropped = due});
}

void WebhookOutbox::note(const Undo& change) {
  if (auto* const undo = undo_.now()) undo->push_back(change);
}

void WebhookOutbox::undo() {
  const std::vector<Undo> undo = undo_.take();
  for (auto one = undo.rbegin(); one != undo.rend(); ++one) {
    if (one->added) due_.erase({*one->added, one->number});
    if (one->dropped) due_.emplace(*one->dropped, one->number);
    if (one->settled) under_way_.insert(one->number);
  }
}

Result<std::optional<WebhookRecord>> WebhookOutbox::on_result(Transaction& tx,
                                                              const WebhookResult& outcome,
                                                              TimePoint now) {
  auto record = TRY(damages_.pass_over(read_webhook(tx, outcome.number)));
  if (under_way_.erase(outcome.number) > 0) {
    note({.number = outcome.number, .settled = true});
  }
  if (!record) return std::optional<WebhookRecord>();
  const WebhookSetting* const setting = find_setting(catalog_.settings(record->ns), record->url);
  const auto& failure = outcome.failure;
  const bool again = failure && !failure->is_final && setting != nullptr &&
                     setting->retries.allows_after(record->attempt);
  if (failure && catalog_.has_unreadable_settings(record->ns)) {
    due_.emplace(now + kSettingsAgain, outcome.number);
    note({.number = outcome.number, .added = now + kSettingsAgain});
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
  due_.emplace(record->at, outcome.number);
  note({.number = outcome.number, .added = record->at});
  return std::optional<WebhookRecord>();
}

Status WebhookOutbox::pump(const View& view, TimePoint now) {
  Status done;
  std::vector<std::pair<TimePoint, uint64_t>> again;
  while (!due_.empty() && due_.begin()->first <= now && under_way_.size() < kWindow) {
    const auto first = *due_.begin();
    due_.erase(due_.begin());
    const Status sent = send(view, first.second, now);
    if (sent) continue;
    if (is_damaged_row(sent.error())) {  // the damaged row stays in the store, and its delivery is
                                         // not tried again
      damages_.note(sent.error());
      continue;
    }
    again.push_back(first);
    if (done) done = sent;
  }
  due_.insert(again.begin(), again.end());
  return done;
}

Status WebhookOutbox::send(const View& view, uint64_t number, TimePoint now) {
  const auto record = TRY(read_webhook(view, number));
  if (!record) return {};
  const WebhookSetting* const setting = find_setting(catalog_.settings(record->ns), record->url);
  if (setting == nullptr && catalog_.has_unreadable_settings(record->ns)) {
    due_.emplace(now + kSettingsAgain, number);
    return {};
  }
  if (setting == nullptr) {  // the webhook was removed from the settings
    under_way_.insert(number);
    on_result_({number, std::nullopt});
    return {};
  }
  std::optional<std::string> token = "";
  if (!setting->secret.empty()) {
    token = TRY(read_secret(view, record->ns, setting->secret));
  }
  const Event event = TRY(event_of(number, *record));
  under_way_.insert(number);
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
  if (due_.empty() || under_way_.size() >= kWindow) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace millrace
