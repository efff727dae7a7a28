#include "orchestrator/definition/retention_settings.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// A member of an object, and the function that parses its value.
struct Member {
  std::string_view key;
  std::function<Status(const std::string& where, const Json& value)> parse;
};

/// Assigns what `parse` returns to `to`.
template <class T, class Parse>
auto into(T& to, Parse parse) {
  return [&to, parse](const std::string& where, const Json& value) -> Status {
    auto parsed = parse(where, value);
    if (!parsed) return tl::unexpected(std::move(parsed).error());
    to = *std::move(parsed);
    return {};
  };
}

/// Parses each member of the object `value`. Error: a key that `known` does not have.
Status parse_members(const std::string& where, const Json& value,
                     const std::vector<Member>& known) {
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    const auto found =
        std::find_if(known.begin(), known.end(),
                     [name = std::string_view(key)](const Member& of) { return of.key == name; });
    if (found != known.end()) {
      TRY(found->parse(place, one));
      continue;
    }
    std::vector<std::string_view> keys;
    keys.reserve(known.size());
    for (const Member& of : known) keys.push_back(of.key);
    return invalid_setting(place, fmt::format("unknown key; valid: {}", fmt::join(keys, ", ")));
  }
  return {};
}

Result<RetentionRule> parse_rule(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where,
                           R"(write an object with "age", "count" or "bytes"; {} keeps instances )"
                           "for ever");
  }
  RetentionRule rule;
  TRY(parse_members(where, value,
                    {{"age", into(rule.age, parse_age)},
                     {"count", into(rule.count, parse_count)},
                     {"bytes", into(rule.bytes, parse_bytes)}}));
  return rule;
}

Result<uint64_t> parse_records(const std::string& where, const Json& value) {
  const uint64_t records = TRY(parse_count(where, value));
  if (records >= kLeastRecords) return records;
  return invalid_setting(where, "write a number of at least 100");
}

Result<uint64_t> parse_history_bytes(const std::string& where, const Json& value) {
  const uint64_t bytes = TRY(parse_bytes(where, value));
  if (bytes >= kLeastHistoryBytes) return bytes;
  return invalid_setting(where, "write at least 64KiB");
}

Result<HistoryLimits> parse_history(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object with "records" or "bytes")");
  }
  HistoryLimits limits;
  TRY(parse_members(where, value,
                    {{"records", into(limits.records, parse_records)},
                     {"bytes", into(limits.bytes, parse_history_bytes)}}));
  return limits;
}

Result<WorkflowRetention> parse_workflow(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object with "ended", "failed" or "history")");
  }
  WorkflowRetention workflow;
  TRY(parse_members(where, value,
                    {{"ended", into(workflow.rules.ended, parse_rule)},
                     {"failed", into(workflow.rules.failed, parse_rule)},
                     {"history", into(workflow.history, parse_history)}}));
  return workflow;
}

Result<std::map<std::string, WorkflowRetention, std::less<>>> parse_workflows(
    const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, "write an object that maps ids of workflows to their rules");
  }
  std::map<std::string, WorkflowRetention, std::less<>> workflows;
  for (const auto& [id, own] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, id);
    if (!is_identifier(id)) {
      return invalid_setting(where, fmt::format("{} is not the id of a workflow", in_quotes(id)));
    }
    workflows.emplace(id, TRY(parse_workflow(place, own)));
  }
  return workflows;
}

Result<DeadLetterRule> parse_dead_letters(const std::string& where, const Json& value) {
  // An empty rule keeps dead letters no longer than no rule: the limits of their stream apply.
  if (!value.is_object() || value.empty()) {
    return invalid_setting(where, R"(write an object with "age" or "count")");
  }
  DeadLetterRule rule;
  TRY(parse_members(
      where, value,
      {{"age", into(rule.age, parse_age)}, {"count", into(rule.count, parse_count)}}));
  return rule;
}

Result<bool> parse_flag(const std::string& where, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  return invalid_setting(where, "write true or false");
}

/// The rule of `rules` for that status; null: `rules` has none.
const RetentionRule* find_rule(const RetentionRules& rules, InstanceStatus status) {
  if (is_failure(status) && rules.failed) return &*rules.failed;
  return rules.ended ? &*rules.ended : nullptr;
}

}  // namespace

bool HistoryRules::is_empty() const {
  return others.is_empty() &&
         std::all_of(own.begin(), own.end(), [](const auto& one) { return one.second.is_empty(); });
}

bool RetentionSettings::has_rules() const {
  const auto has_any = [](const RetentionRules& some) {
    return (some.ended && !some.ended->is_empty()) || (some.failed && !some.failed->is_empty());
  };
  return has_any(rules) || std::any_of(workflows.begin(), workflows.end(),
                                       [&](const auto& one) { return has_any(one.second.rules); });
}

const RetentionRule* RetentionSettings::rule_of(std::string_view workflow,
                                                InstanceStatus status) const {
  const RetentionRule* rule = nullptr;
  if (const auto own = workflows.find(workflow); own != workflows.end()) {
    rule = find_rule(own->second.rules, status);
  }
  if (rule == nullptr) rule = find_rule(rules, status);
  return rule == nullptr || rule->is_empty() ? nullptr : rule;
}

const HistoryLimits& RetentionSettings::history_of(std::string_view workflow) const {
  const auto own = workflows.find(workflow);
  return own != workflows.end() && own->second.history ? *own->second.history : history;
}

HistoryRules RetentionSettings::history_rules() const {
  HistoryRules rules_of_all{.others = history, .own = {}};
  for (const auto& [id, one] : workflows) {
    if (one.history) rules_of_all.own.emplace(id, *one.history);
  }
  return rules_of_all;
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
  for (const auto& [id, own] : workflows) see_both(own.rules);
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
  TRY(parse_members(where, value,
                    {{"ended", into(settings.rules.ended, parse_rule)},
                     {"failed", into(settings.rules.failed, parse_rule)},
                     {"workflows", into(settings.workflows, parse_workflows)},
                     {"history", into(settings.history, parse_history)},
                     {"deadLetters", into(settings.dead_letters, parse_dead_letters)},
                     {"archive", into(settings.archive, parse_flag)}}));
  return settings;
}

}  // namespace millrace
