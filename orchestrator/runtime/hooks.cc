#include "orchestrator/runtime/hooks.h"

#include <algorithm>

#include "base/crash_point.h"
#include "cloudevents/json_format.h"
#include "orchestrator/store/secrets.h"

namespace millrace {
namespace {

/// So many deliveries are under way at once.
constexpr size_t kWindow = 64;

const WebhookSetting* find_setting(const NamespaceSettings& settings, const std::string& url) {
  const auto found = std::find_if(settings.webhooks.begin(), settings.webhooks.end(),
                                  [&](const WebhookSetting& one) { return one.url == url; });
  return found == settings.webhooks.end() ? nullptr : &*found;
}

}  // namespace

Status Hooks::load(const View& view) {
  due_.clear();
  return each_hook(view, [&](uint64_t number, const HookRecord& record) {
    if (!under_way_.contains(number)) due_.emplace(record.at, number);
  });
}

void Hooks::add(Transaction& tx, uint64_t number, const HookRecord& record) {
  write_hook(tx, number, record);
  due_.emplace(record.at, number);
}

Result<std::optional<HookRecord>> Hooks::settle(Transaction& tx, const DeliveryOutcome& outcome,
                                                TimePoint now) {
  auto record = TRY(read_hook(tx, outcome.number));
  under_way_.erase(outcome.number);
  if (!record) return std::optional<HookRecord>();
  const WebhookSetting* const setting = find_setting(catalog_.settings(record->space), record->url);
  const auto& failure = outcome.failure;
  const bool again = failure && !failure->is_final && setting != nullptr &&
                     setting->retries.allows_after(record->attempt);
  if (!again) {
    erase_hook(tx, outcome.number);
    if (!failure || setting == nullptr) return std::optional<HookRecord>();
    return record;
  }
  const double draw = draw_from({record->event, record->url, std::to_string(record->attempt)});
  record->at = setting->retries.next_at(record->attempt, now, draw);
  if (failure->retry_after) record->at = std::max(record->at, now + *failure->retry_after);
  ++record->attempt;
  write_hook(tx, outcome.number, *record);
  due_.emplace(record->at, outcome.number);
  return std::optional<HookRecord>();
}

Status Hooks::pump(const View& view, TimePoint now) {
  while (!due_.empty() && due_.begin()->first <= now && under_way_.size() < kWindow) {
    const uint64_t number = due_.begin()->second;
    due_.erase(due_.begin());
    const auto record = TRY(read_hook(view, number));
    if (!record) continue;
    const WebhookSetting* const setting =
        find_setting(catalog_.settings(record->space), record->url);
    under_way_.insert(number);
    if (setting == nullptr) {  // nobody wants it any more
      settled_({number, std::nullopt});
      continue;
    }
    std::string token;
    if (!setting->secret.empty()) {
      token = TRY(read_secret(view, record->space, setting->secret)).value_or("");
    }
    crash_point(CrashPoint::kDelivering);
    sender_.deliver(TRY(decode_json_event(record->event)), record->url, token,
                    [settled = settled_, number](std::optional<DeliveryFailure> failure) {
                      settled({number, std::move(failure)});
                    });
  }
  return {};
}

std::optional<TimePoint> Hooks::next_due() const {
  if (due_.empty() || under_way_.size() >= kWindow) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace millrace
