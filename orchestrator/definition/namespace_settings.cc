#include "orchestrator/definition/namespace_settings.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cloudevents/subject.h"
#include "language/findings.h"
#include "language/grammar.h"
#include "language/policy_fields.h"
#include "orchestrator/definition/invalid_setting.h"
#include "orchestrator/definition/quota_settings.h"
#include "policies/vocabularies.h"

namespace millrace {
namespace {

constexpr std::array kSettings = {"services", "paused", "defaults",  "sealed", "lifecycle",
                                  "webhooks", "hooks",  "retention", "quotas"};

/// The default retry policy of webhooks: Stevora's default with more attempts and longer waits,
/// because a receiver may be unavailable for a day.
constexpr std::string_view kWebhookRetries =
    R"({"maxAttempts": 20, "backoffMs": 1000, "backoffMultiplier": 3, "maxBackoffMs": 7200000})";

constexpr std::array kPlaces = {"url", "request", "queue"};

/// The names that the keys of a service may have.
std::vector<std::string_view> service_keys() {
  std::vector<std::string_view> names(kPlaces.begin(), kPlaces.end());
  for (const KeyRule* const key : service_grammar().keys()) {
    for (const std::string_view name : key->names()) names.push_back(name);
  }
  return names;
}

tl::unexpected<Error> unknown_setting(std::string_view where, std::string_view what,
                                      std::string_view key,
                                      const std::vector<std::string_view>& valid) {
  return invalid_setting(where, fmt::format("unknown {}; valid: {}{}", what, fmt::join(valid, ", "),
                                            did_you_mean(key, valid)));
}

Result<TaskTarget> parse_place(const std::string& where, const std::string& key,
                               const Json& place) {
  if (!place.is_string()) return invalid_setting(where, "write a string");
  std::string value = place.get<std::string>();
  if (key == "url") {
    if (!value.starts_with("http://") && !value.starts_with("https://")) {
      return invalid_setting(where, "this is not an HTTP URL; write http://… or https://…");
    }
    return HttpService{std::move(value)};
  }
  if (!is_publish_subject(value)) {
    return invalid_setting(where, "this is not a valid subject to publish to");
  }
  if (key == "request") return NatsService{std::move(value)};
  if (!value.starts_with(kTaskSubjectPrefix)) {
    return invalid_setting(
        where, fmt::format("a work queue's subject begins with {}", kTaskSubjectPrefix));
  }
  return WorkQueue{std::move(value)};
}

Result<ServiceSetting> parse_service(const std::string& where, const Json& service) {
  constexpr std::string_view kWanted =
      R"(write {"url": "http://…"}, {"request": "subject"} or {"queue": "subject"}, )"
      R"(and optionally "retries" and the timeouts of its calls)";
  if (!service.is_object() || service.empty()) return invalid_setting(where, kWanted);
  const std::vector<std::string_view> known = service_keys();
  for (const auto& [key, value] : service.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return unknown_setting(fmt::format("{}.{}", where, key), "key", key, known);
  }
  ServiceSetting setting;
  Json policy = service;
  for (const char* const key : kPlaces) {
    if (!service.contains(key)) continue;
    if (setting.target) return invalid_setting(where, kWanted);
    setting.target = TRY(parse_place(where + "." + key, key, service[key]));
    policy.erase(key);
  }
  Result<ServicePolicy> read = read_service_policy(dump_json(policy));
  if (!read) return invalid_setting(where, read.error().message);
  setting.policy = std::move(*read);
  return setting;
}

Result<std::vector<std::string>> parse_names(const std::string& where, const Json& value) {
  if (!value.is_array()) return invalid_setting(where, "write a list of names");
  std::vector<std::string> names;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_string())
      return invalid_setting(fmt::format("{}[{}]", where, i), "write a name");
    names.push_back(value[i]);
  }
  return names;
}

Result<WebhookSetting> parse_webhook(const std::string& where, const Json& value) {
  if (!value.is_object()) return invalid_setting(where, R"(write an object with a "url")");
  WebhookSetting webhook;
  webhook.retries = TRY(read_retry_policy(kWebhookRetries));
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "types") {
      webhook.types = TRY(parse_names(place, one));
    } else if (key == "retries") {
      Result<RetryPolicy> policy = read_retry_policy(dump_json(one));
      if (!policy) return invalid_setting(place, policy.error().message);
      webhook.retries = std::move(*policy);
    } else if (key != "url" && key != "secret") {
      return unknown_setting(place, "key", key, {"url", "secret", "types", "retries"});
    } else if (!one.is_string()) {
      return invalid_setting(place, "write a string");
    } else {
      (key == "url" ? webhook.url : webhook.secret) = one;
    }
  }
  if (!webhook.url.starts_with("http://") && !webhook.url.starts_with("https://")) {
    return invalid_setting(where + ".url", "write the HTTP URL that receives the events");
  }
  return webhook;
}

}  // namespace

Result<NamespaceSettings> parse_settings(const Json& settings) {
  if (!settings.is_object()) return invalid_setting("settings", "write an object");
  NamespaceSettings parsed;
  for (const auto& [key, value] : settings.items()) {
    if (key == "services") {
      if (!value.is_object())
        return invalid_setting(key, "write an object that maps names of services to their targets");
      for (const auto& [name, service] : value.items()) {
        parsed.services.emplace(name, TRY(parse_service(fmt::format("{}.{}", key, name), service)));
      }
    } else if (key == "paused") {
      for (const std::string& name : TRY(parse_names(key, value))) parsed.paused.insert(name);
    } else if (key == "defaults") {
      const auto vocabulary =
          value.is_string() ? vocabulary_named(value.get<std::string>()) : std::nullopt;
      if (!vocabulary)
        return invalid_setting(key, "write stevora, temporal, steep, zart or direktiv");
      parsed.default_retries = default_policy(*vocabulary);
    } else if (key == "lifecycle") {
      if (!value.is_boolean()) return invalid_setting(key, "write true or false");
      parsed.lifecycle = value;
    } else if (key == "sealed") {
      if (!value.is_boolean()) return invalid_setting(key, "write true or false");
      parsed.hides_sealed = value;
    } else if (key == "webhooks") {
      if (!value.is_array()) return invalid_setting(key, "write a list");
      for (size_t i = 0; i < value.size(); ++i) {
        parsed.webhooks.push_back(TRY(parse_webhook(fmt::format("webhooks[{}]", i), value[i])));
      }
    } else if (key == "hooks") {
      parsed.inbound = TRY(parse_inbound_webhooks(key, value));
    } else if (key == "retention") {
      parsed.retention = TRY(parse_retention(value));
    } else if (key == "quotas") {
      parsed.quotas = TRY(parse_quotas(value));
    } else {
      return unknown_setting(key, "setting", key, {kSettings.begin(), kSettings.end()});
    }
  }
  return parsed;
}

Result<NamespaceSettings> read_settings(std::string_view text) {
  if (text.empty()) return NamespaceSettings();
  return parse_settings(TRY(parse_own_json(text)));
}

WorkQueue default_queue(std::string_view ns, std::string_view service) {
  return {fmt::format("{}{}.{}", kTaskSubjectPrefix, subject_token(ns), subject_token(service))};
}

}  // namespace millrace
