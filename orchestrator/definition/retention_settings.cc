#include "orchestrator/definition/retention_settings.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/quantity.h"
#include "language/findings.h"
#include "language/policy_fields.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

/// The lowest age, because instances and dead letters are looked through once in a minute.
constexpr Duration kLeastAge = std::chrono::minutes(1);

bool is_failure(InstanceStatus status) {
  return status == InstanceStatus::kFailed || status == InstanceStatus::kTimedOut;
}

Result<Span> parse_age(const std::string& where, const Json& value) {
  constexpr std::string_view kWanted = R"(write a duration of at least a minute, such as "30d")";
  if (!value.is_string()) return invalid_setting(where, kWanted);
  const auto& text = value.get_ref<const std::string&>();
  Result<Span> age = read_timeout(text);
  if (!age) return invalid_setting(where, age.error().message);
  if (age->months > 0 || age->fixed >= kLeastAge) return age;
  return invalid_setting(
      where, fmt::format("{} is {} ms; {}", in_quotes(text), age->fixed.count(), kWanted));
}

/// A whole number of at least 1.
std::optional<uint64_t> whole_number(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<int64_t>() < 0) return std::nullopt;
  const auto number = value.get<uint64_t>();
  return number > 0 ? std::optional(number) : std::nullopt;
}

Result<uint64_t> parse_count(const std::string& where, const Json& value) {
  if (const auto number = whole_number(value)) return *number;
  return invalid_setting(where, "write a whole number above zero");
}

Result<uint64_t> parse_bytes(const std::string& where, const Json& value) {
  const auto number =
      value.is_string() ? parse_quantity(value.get_ref<const std::string&>()) : whole_number(value);
  if (number) return *number;
  return invalid_setting(where, R"(write a whole number above zero, or a text such as "10GiB")");
}

Result<RetentionRule> parse_rule(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where,
                           R"(write an object with "age", "count" or "bytes"; {} keeps instances )"
                           "for ever");
  }
  RetentionRule rule;
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "age") {
      rule.age = TRY(parse_age(place, one));
    } else if (key == "count") {
      rule.count = TRY(parse_count(place, one));
    } else if (key == "bytes") {
      rule.bytes = TRY(parse_bytes(place, one));
    } else {
      return invalid_setting(place, "unknown key; valid: age, count, bytes");
    }
  }
  return rule;
}

Result<RetentionRules> parse_rules(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object with "ended" or "failed")");
  }
  RetentionRules rules;
  for (const auto& [key, rule] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "ended") {
      rules.ended = TRY(parse_rule(place, rule));
    } else if (key == "failed") {
      rules.failed = TRY(parse_rule(place, rule));
    } else {
      return invalid_setting(place, "unknown key; valid: ended, failed");
    }
  }
  return rules;
}

Result<std::map<std::string, RetentionRules, std::less<>>> parse_workflows(const std::string& where,
                                                                           const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, "write an object that maps ids of workflows to their rules");
  }
  std::map<std::string, RetentionRules, std::less<>> workflows;
  for (const auto& [id, rules] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, id);
    if (!is_identifier(id)) {
      return invalid_setting(where, fmt::format("{} is not the id of a workflow", in_quotes(id)));
    }
    workflows.emplace(id, TRY(parse_rules(place, rules)));
  }
  return workflows;
}

/// `wanted` unless `number` is at least `least`.
Status check_least(const std::string& where, uint64_t number, uint64_t least,
                   std::string_view wanted) {
  return number >= least ? Status() : Status(invalid_setting(where, wanted));
}

Result<HistoryLimits> parse_history(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object with "records" or "bytes")");
  }
  HistoryLimits limits;
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "records") {
      limits.records = TRY(parse_count(place, one));
      TRY(check_least(place, *limits.records, kLeastRecords, "write a number of at least 100"));
    } else if (key == "bytes") {
      limits.bytes = TRY(parse_bytes(place, one));
      TRY(check_least(place, *limits.bytes, kLeastHistoryBytes, "write at least 64KiB"));
    } else {
      return invalid_setting(place, "unknown key; valid: records, bytes");
    }
  }
  return limits;
}

Result<DeadLetterRule> parse_dead_letters(const std::string& where, const Json& value) {
  // An empty rule keeps dead letters no longer than no rule: the limits of their stream apply.
  if (!value.is_object() || value.empty()) {
    return invalid_setting(where, R"(write an object with "age" or "count")");
  }
  DeadLetterRule rule;
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "age") {
      rule.age = TRY(parse_age(place, one));
    } else if (key == "count") {
      rule.count = TRY(parse_count(place, one));
    } else {
      return invalid_setting(place, "unknown key; valid: age, count");
    }
  }
  return rule;
}

/// The rule of `rules` for that status; null: `rules` has none.
const RetentionRule* find_rule(const RetentionRules& rules, InstanceStatus status) {
  if (is_failure(status) && rules.failed) return &*rules.failed;
  return rules.ended ? &*rules.ended : nullptr;
}

}  // namespace

bool RetentionSettings::has_rules() const {
  const auto has_any = [](const RetentionRules& some) {
    return (some.ended && !some.ended->is_empty()) || (some.failed && !some.failed->is_empty());
  };
  return has_any(rules) || std::any_of(workflows.begin(), workflows.end(),
                                       [&](const auto& one) { return has_any(one.second); });
}

const RetentionRule* RetentionSettings::rule_of(std::string_view workflow,
                                                InstanceStatus status) const {
  const RetentionRule* rule = nullptr;
  if (const auto own = workflows.find(workflow); own != workflows.end()) {
    rule = find_rule(own->second, status);
  }
  if (rule == nullptr) rule = find_rule(rules, status);
  return rule == nullptr || rule->is_empty() ? nullptr : rule;
}

std::optional<uint64_t> RetentionSettings::least_bytes() const {
  std::optional<uint64_t> least;
  const auto see = [&](const std::optional<RetentionRule>& rule) {
    if (rule && rule->bytes) least = std::min(least.value_or(*rule->bytes), *rule->bytes);
  };
  const auto see_both = [&](const RetentionRules& some) {
    see(some.ended);
    see(some.failed);
  };
  see_both(rules);
  for (const auto& [id, some] : workflows) see_both(some);
  return least;
}

Result<RetentionSettings> parse_retention(const Json& value) {
  const std::string where = "retention";
  if (!value.is_object()) {
    return invalid_setting(where,
                           R"(write an object with "ended", "failed", "workflows", "history", )"
                           R"("deadLetters" or "archive")");
  }
  RetentionSettings settings;
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "ended") {
      settings.rules.ended = TRY(parse_rule(place, one));
    } else if (key == "failed") {
      settings.rules.failed = TRY(parse_rule(place, one));
    } else if (key == "workflows") {
      settings.workflows = TRY(parse_workflows(place, one));
    } else if (key == "history") {
      settings.history = TRY(parse_history(place, one));
    } else if (key == "deadLetters") {
      settings.dead_letters = TRY(parse_dead_letters(place, one));
    } else if (key == "archive") {
      if (!one.is_boolean()) return invalid_setting(place, "write true or false");
      settings.archive = one.get<bool>();
    } else {
      return invalid_setting(
          place, "unknown key; valid: ended, failed, workflows, history, deadLetters, archive");
    }
  }
  return settings;
}

}  // namespace millrace
