// Settings of a namespace: what an operator says of it beside its workflows, as a JSON object. Pure
// values.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/task.h"
#include "policies/action_policy.h"
#include "policies/retry_policy.h"

namespace millrace {

/// A URL that gets CloudEvents about instances.
struct WebhookSetting {
  std::string url;
  std::string secret;              ///< name of a secret whose value is the bearer token
  std::vector<std::string> types;  ///< globs of event types; none: all
  RetryPolicy retries;
};

/// A service that functions name.
struct ServiceSetting {
  /// Where it is: by HTTP, by a NATS service, by workers; none: with those of its default_queue.
  std::optional<TaskTarget> target;
  ServicePolicy policy;  ///< of its calls where nothing nearer says otherwise
};

struct NamespaceSettings {
  std::map<std::string, ServiceSetting, std::less<>> services;
  /// Services whose calls wait.
  std::set<std::string, std::less<>> paused;

  /// What actions have that neither they nor their workflow give a policy.
  std::optional<RetryPolicy> default_retries;

  /// Which CloudEvents about instances are published.
  bool lifecycle = false;
  /// Where they are sent by HTTP.
  std::vector<WebhookSetting> webhooks;

  bool tells() const { return lifecycle || !webhooks.empty(); }
};

/// `{"services": {NAME: {"url": …, "request": SUBJECT or "queue": SUBJECT, one at most; "retries":
/// a policy, and the timeouts of actions}}, "paused": [NAME], "defaults": VOCABULARY, "lifecycle":
/// true, "webhooks": [{"url", "secret"?, "types"?, "retries"?: a policy}]}`. What is not there is
/// as it would be without settings. Error `settings.invalid` names the place and what to write
/// there.
Result<NamespaceSettings> parse_settings(const Json& settings);

/// The same from the text that is stored; an empty one is as no settings. Also the errors of
/// parse_own_json().
Result<NamespaceSettings> read_settings(std::string_view text);

/// Where a service is that no settings name: with the workers of `millrace.tasks.<space>.<name>`.
WorkQueue default_queue(std::string_view space, std::string_view service);

}  // namespace millrace
