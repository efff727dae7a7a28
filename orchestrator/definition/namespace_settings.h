// Settings of a namespace: services, defaults, lifecycle events, webhooks, retention and quotas,
// which an operator sets as a JSON object. Pure values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/quota.h"
#include "model/task.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/definition/retention_settings.h"
#include "policies/action_policy.h"
#include "policies/retry_policy.h"

namespace millrace {

/// A webhook: a URL that receives lifecycle events.
struct WebhookSetting {
  std::string url;
  std::string secret;              ///< name of the secret with the bearer token
  std::vector<std::string> types;  ///< globs of event types; empty: all types
  RetryPolicy retries;
};

/// A service that functions can name.
struct ServiceSetting {
  /// How the service is reached: over HTTP, as a NATS service, or by workers; nullopt: by workers
  /// of the queue default_queue().
  std::optional<TaskTarget> target;
  ServicePolicy policy;  ///< for its calls; a function or an action may have its own policy
};

struct NamespaceSettings {
  std::map<std::string, ServiceSetting, std::less<>> services;
  /// Paused services: their calls wait.
  std::set<std::string, std::less<>> paused;

  /// The retry policy of actions for which no policy is set: not by the action itself, its state,
  /// its function, its workflow or its service.
  std::optional<RetryPolicy> default_retries;

  /// Whether lifecycle events are published to NATS.
  bool lifecycle = false;
  /// The webhooks that receive lifecycle events over HTTP.
  std::vector<WebhookSetting> webhooks;

  /// The inbound webhooks, by name: the setting `hooks`.
  InboundWebhooks inbound;

  /// Whether the API hides data of secrets as a whole, instead of masking their values.
  bool hides_sealed = false;

  /// How long ended instances and dead letters are kept.
  RetentionSettings retention;

  /// How much the namespace and its instances may have.
  QuotaLimits quotas;

  bool has_lifecycle_events() const { return lifecycle || !webhooks.empty(); }
};

/// Parses settings: `{"services": {NAME: {at most one of "url": URL, "request": SUBJECT and
/// "queue": SUBJECT; "retries": a policy, and the timeouts of actions}}, "paused": [NAME],
/// "defaults": VOCABULARY, "sealed": true, "lifecycle": true, "webhooks": [{"url", "secret"?,
/// "types"?, "retries"?: a policy}], "hooks": see parse_inbound_webhooks(), "retention": see
/// parse_retention(), "quotas": see parse_quotas()}`. A missing key means that this setting is not
/// set. Error `settings.invalid` has the place in the settings, and what to write there.
Result<NamespaceSettings> parse_settings(const Json& settings);

/// Parses settings from their stored text; an empty text means no settings. Errors: those of
/// parse_settings() and parse_own_json().
Result<NamespaceSettings> read_settings(std::string_view text);

/// The work queue of a service that the settings do not name: its workers take tasks from
/// `millrace.tasks.<namespace>.<name>`.
WorkQueue default_queue(std::string_view ns, std::string_view service);

}  // namespace millrace
