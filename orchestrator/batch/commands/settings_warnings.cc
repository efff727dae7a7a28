#include "orchestrator/batch/commands/settings_warnings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "language/code_advice.h"
#include "language/document.h"
#include "language/grammar.h"
#include "language/walk.h"
#include "matchers/glob.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "policies/unit_advice.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;
using HasWorkflow = std::function<bool(std::string_view id)>;

/// The maximum number of warnings, since settings may have any number of services.
constexpr size_t kMostWarnings = 100;

class Warnings {
 public:
  /// Checks the policies and timeouts of a service.
  void check_policy(const Json& policy, const std::string& path) {
    Findings none;
    const std::optional<Node> node = parse_document(dump_json(policy), none);
    if (!node) return;
    walk(*node, service_grammar(), path, [&](const Place& place) {
      check_codes(place);
      const Node& value = place.member.value;
      if (value.kind != Node::Kind::kString) return;
      if (place.rule.kind == Kind::kDuration || place.rule.instead == Kind::kDuration) {
        add(place.path, advice_on_unit(value.text));
      } else if (place.rule.instead == Kind::kRetryText) {
        add(place.path, advice_on_unit_of_fixed(value.text));
      }
    });
  }

  void check_types(const Json& types, const std::string& path) {
    const auto known = lifecycle_types();
    for (size_t i = 0; i < types.size(); ++i) {
      const auto glob = types[i].get<std::string>();
      const bool is_sent = std::any_of(known.begin(), known.end(), [&](std::string_view type) {
        return glob_matches(glob, type);
      });
      if (is_sent) continue;
      const std::vector<std::string_view> names(known.begin(), known.end());
      const std::optional<std::string> meant = likely(glob, names);
      add(path_of(path, i),
          fmt::format("no event has the type {}, so the webhook sends none for it; {}",
                      in_quotes(glob),
                      meant ? fmt::format("did you mean {}?", in_quotes(*meant))
                            : fmt::format("write one of {}", fmt::join(known, ", "))));
    }
  }

  /// Checks the setting `retention`.
  void check_retention(const Json& retention, const HasWorkflow& has_workflow) {
    const std::string path = "retention";
    check_ages(retention, path);
    if (const auto own = retention.find("workflows"); own != retention.end()) {
      const std::string place = path_of(path, "workflows");
      for (const auto& [id, rules] : own->items()) {
        check_ages(rules, path_of(place, id));
        if (has_workflow(id)) continue;
        add(path_of(place, id),
            fmt::format("the namespace has no workflow {}, so these rules apply to no instance; "
                        "correct the id, or apply the workflow",
                        in_quotes(id)));
      }
    }
    const auto parsed = parse_retention(retention);
    if (!parsed) return;
    if (parsed->archive && !parsed->has_rules()) {
      add(path_of(path, "archive"),
          "no rule deletes ended instances, so the archive gets only those that `instance delete` "
          "deletes by a filter; write a rule, such as \"ended\": {\"age\": \"30d\"}");
    }
    check_bytes(*parsed);
  }

  Json take() && { return std::move(all_); }

 private:
  /// The first ended instances whose rule has no `bytes`, or that have no rule; empty: there are
  /// none.
  static std::string instances_without_bytes(const RetentionSettings& retention) {
    const auto among = [&](std::string_view workflow, const std::string& of) -> std::string {
      const auto has_bytes = [&](InstanceStatus status) {
        const RetentionRule* const rule = retention.rule_of(workflow, status);
        return rule != nullptr && rule->bytes;
      };
      if (!has_bytes(InstanceStatus::kComplete)) return "complete instances" + of;
      if (!has_bytes(InstanceStatus::kFailed)) return "failed instances" + of;
      return {};
    };
    std::string found = among("", "");
    for (const auto& [id, own] : retention.workflows) {
      if (found.empty()) found = among(id, " of workflow " + in_quotes(id));
    }
    return found;
  }

  /// Checks the ages in the rules of a namespace, or in those of a workflow.
  void check_ages(const Json& rules, const std::string& path) {
    for (const auto& [key, rule] : rules.items()) {
      if (key == "workflows" || !rule.is_object() || !rule.contains("age")) continue;
      const auto age = rule["age"].get<std::string>();
      add(path_of(path_of(path, key), "age"), advice_on_unit(age));
    }
  }

  /// Checks the rules with `bytes`, which are all compared with the bytes of the whole namespace.
  void check_bytes(const RetentionSettings& retention) {
    std::vector<std::pair<std::string, uint64_t>> limits;  // by path
    const auto see = [&](const RetentionRules& rules, const std::string& path) {
      const auto see_one = [&](const std::optional<RetentionRule>& rule, std::string_view key) {
        if (!rule || !rule->bytes) return;
        limits.emplace_back(path_of(path_of(path, key), "bytes"), *rule->bytes);
      };
      see_one(rules.ended, "ended");
      see_one(rules.failed, "failed");
    };
    see(retention.rules, "retention");
    for (const auto& [id, own] : retention.workflows) {
      see(own.rules, path_of("retention.workflows", id));
    }
    if (limits.empty()) return;
    const auto lowest =
        std::min_element(limits.begin(), limits.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [path, bytes] : limits) {
      if (bytes == lowest->second) continue;
      add(path, fmt::format("this limit and the lower one in {} are both compared with the bytes "
                            "of the whole namespace, so until the namespace has more than this, "
                            "only instances with the lower limit are deleted, if necessary all of "
                            "them; write the same limit in both, or use \"age\" and \"count\"",
                            lowest->first));
    }
    const std::string others = instances_without_bytes(retention);
    if (others.empty()) return;
    add(lowest->first,
        fmt::format(
            "{} have no limit \"bytes\", but this limit is compared with the bytes of the whole "
            "namespace, so if they have more than this, each instance with this limit is "
            "deleted within a minute of its end; write the same limit for them, or use \"age\" and "
            "\"count\" here",
            others));
  }

  void check_codes(const Place& place) {
    const bool is_pattern = place.rule.is("codes");
    const bool is_whole =
        place.rule.is("nonRetryableErrors") || place.rule.is("nonRetryableErrorTypes");
    if (!is_pattern && !is_whole) return;
    const std::vector<Node>& codes = place.member.value.items;
    for (size_t i = 0; i < codes.size(); ++i) {
      add(path_of(place.path, i),
          is_pattern ? advice_on_code_pattern(codes[i].text) : advice_on_whole_code(codes[i].text));
    }
  }

  /// If `advice` is set, adds a warning with the problem and its correction.
  template <typename Advice>
  void add(const std::string& path, const std::optional<Advice>& advice) {
    if (advice) add(path, fmt::format("{}; {}", advice->doubt, advice->mend));
  }

  void add(const std::string& path, const std::string& message) {
    if (all_.size() < kMostWarnings) all_.push_back({{"path", path}, {"message", message}});
  }

  Json all_ = Json::array();
};

}  // namespace

Json settings_warnings(const Json& settings,
                       const std::function<bool(std::string_view id)>& has_workflow) {
  Warnings warnings;
  if (const auto services = settings.find("services"); services != settings.end()) {
    for (const auto& [name, service] : services->items()) {
      warnings.check_policy(service, path_of("services", name));
    }
  }
  if (const auto webhooks = settings.find("webhooks"); webhooks != settings.end()) {
    for (size_t i = 0; i < webhooks->size(); ++i) {
      const Json& webhook = (*webhooks)[i];
      const std::string path = path_of("webhooks", i);
      if (webhook.contains("retries")) {
        warnings.check_policy({{"retries", webhook["retries"]}}, path);
      }
      if (webhook.contains("types")) warnings.check_types(webhook["types"], path_of(path, "types"));
    }
  }
  if (const auto retention = settings.find("retention"); retention != settings.end()) {
    warnings.check_retention(*retention, has_workflow);
  }
  return std::move(warnings).take();
}

}  // namespace millrace
