// Settings of a namespace as JSON: they are parsed, their targets are checked, and they are shown
// and sent back with the parts of URLs masked.
//
// Covers: orchestrator/definition/namespace_settings.cc
// Covers: orchestrator/definition/quota_settings.cc
// Covers: orchestrator/definition/retention_settings.cc
// Covers: orchestrator/definition/shown_settings.cc orchestrator/definition/settings_targets.cc
// Covers: model/service_url.cc model/request_subjects.cc policies/action_policy.cc
// Covers: policies/retry_policy.cc policies/timeout_policy.cc
#include <string>

#include "model/request_subjects.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/definition/quota_settings.h"
#include "orchestrator/definition/settings_targets.h"
#include "orchestrator/definition/shown_settings.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// The place in the settings that a message names may have names of any length.
constexpr size_t kMostMessageBytes = 262'144;

void check_retention(const RetentionSettings& retention) {
  for (const InstanceStatus status : {InstanceStatus::kComplete, InstanceStatus::kFailed}) {
    const RetentionRule* const rule = retention.rule_of("order", status);
    CHECK(rule == nullptr || !rule->is_empty(), "an empty rule applies");
    CHECK(rule == nullptr || retention.has_rules(), "a rule applies, but there is none");
    if (rule != nullptr && rule->bytes) {
      CHECK(retention.least_bytes() <= rule->bytes, "a rule has fewer bytes than the least");
    }
  }
  const HistoryLimits& history = retention.history_of("order");
  CHECK(history.is_empty() || !retention.history_rules().is_empty(),
        "a history is limited, but no history is");
  CHECK(history.records.value_or(kLeastRecords) >= kLeastRecords &&
            history.bytes.value_or(kLeastHistoryBytes) >= kLeastHistoryBytes,
        "a limit of a history is too low");
}

void check_shown_settings(const Json& json) {
  const Json shown = shown_settings(json);
  CHECK(shown_settings(shown) == shown, "settings that are shown twice are masked twice");
  Json sent = shown;
  if (const Status restored = restore_urls(sent, json); !restored) {
    check_shown_error(restored.error(), kMostMessageBytes);
    return;
  }
  CHECK(shown_settings(sent) == shown, "settings that were sent back are shown otherwise");
  CHECK(parse_settings(sent).has_value() == parse_settings(json).has_value(),
        "settings that were sent back are other settings");
}

}  // namespace

FUZZ_TARGET(settings) {
  if (bytes.size() > 65'536) return;
  const Result<Json> json = parse_json(bytes);
  if (!json) return;
  check_shown_settings(*json);
  const Result<NamespaceSettings> settings = parse_settings(*json);
  const Result<NamespaceSettings> stored = read_settings(dump_json(*json));
  CHECK(stored.has_value() == settings.has_value(), "stored settings are read otherwise: {}",
        excerpt(bytes));
  for (const Status& status : {settings ? Status() : Status(tl::unexpected(settings.error())),
                               settings ? check_targets(*settings, RequestSubjects{}) : Status()}) {
    if (!status) check_shown_error(status.error(), kMostMessageBytes);
  }
  if (settings) check_retention(settings->retention);
  if (const Result<QuotaLimits> quotas = parse_quotas(*json); !quotas) {
    check_shown_error(quotas.error(), kMostMessageBytes);
  }
  if (const Result<RetentionSettings> retention = parse_retention(*json)) {
    check_retention(*retention);
  } else {
    check_shown_error(retention.error(), kMostMessageBytes);
  }
}

}  // namespace millrace::fuzz
