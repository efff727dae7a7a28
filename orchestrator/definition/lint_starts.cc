#include "orchestrator/definition/lint_starts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "expressions/template.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

/// Whether the result of the jq program may depend on its input. Programs of the fast lane reach
/// their input by a path, `length` or `not` only.
bool may_read_input(const Program& program) {
  const std::string_view text = program.text;
  return std::any_of(text.begin(), text.end(), [](char c) { return c == '.'; }) ||
         text.find("length") != std::string_view::npos ||
         text.find("not") != std::string_view::npos;
}

/// Whether a part of the value may depend on the input.
bool may_read_input(const Node& value) {
  const auto has = [](const auto& one) { return may_read_input(one); };
  if (std::any_of(value.items.begin(), value.items.end(), has)) return true;
  if (std::any_of(value.members.begin(), value.members.end(),
                  [](const Member& member) { return may_read_input(member.value); })) {
    return true;
  }
  if (value.kind != Node::Kind::kString) return false;
  const auto text = Template::literal_or_jq(value.text, Template::Dot::kIdentity);
  if (!text) return true;  // the loader reports it
  return std::any_of(text->programs().begin(), text->programs().end(), has);
}

void warn_never(const Member& key, std::string path, std::string_view why, Findings& findings) {
  findings.warning("lint.concurrency_never", std::move(path), key.at,
                   fmt::format("`{}` has no effect: {}", key.key, why),
                   "remove it, or write `onLimit: queue` in `concurrency`, or `throttle`");
}

/// Warns of keys that only starts in a queue read, if no start waits.
void lint_queue(const Node& document, Findings& findings) {
  const Node* const concurrency = value_of(document, "concurrency");
  const std::string on_limit = concurrency == nullptr ? "" : text_of(*concurrency, "onLimit");
  const bool drops = on_limit == "reject" || on_limit == "skip";
  if (const Member* const priority = document.find("priority")) {
    if (value_of(document, "throttle") != nullptr) {
      // The starts that wait for the throttle have an order.
    } else if (concurrency == nullptr) {
      warn_never(*priority, "priority", "without `concurrency` and `throttle` no start waits",
                 findings);
    } else if (drops) {
      warn_never(*priority, "priority", "with this `onLimit` no start waits", findings);
    }
  }
  if (concurrency == nullptr) return;
  const Member* const timeout = concurrency->find("timeout");
  if (timeout != nullptr && drops) {
    warn_never(*timeout, path_of("concurrency", "timeout"), "with this `onLimit` no start waits",
               findings);
  }
}

/// Warns of a `key` of calls that reads nothing of their input.
void warn_same_key(const Node& owner, const std::string& path, Findings& findings) {
  for (const std::string_view limit : {"concurrency", "throttle"}) {
    const Node* const written = value_of(owner, limit);
    const Member* const key = written == nullptr ? nullptr : written->find("key");
    if (key == nullptr || may_read_input(key->value)) continue;
    findings.warning("lint.call_key", path_of(path_of(path, limit), "key"), key->value.at,
                     "the key reads nothing of the input, so it is the same for all calls",
                     "write a path such as jq(.customer), or remove the key");
  }
}

/// A priority orders calls that wait, and without `concurrency` and `throttle` none does.
void warn_priority_of_calls(const Node& owner, const std::string& path, bool has_limit,
                            Findings& findings) {
  const Member* const priority = owner.find("priority");
  if (priority == nullptr || has_limit) return;
  findings.warning("lint.concurrency_never", path_of(path, "priority"), priority->at,
                   "`priority` has no effect: without `concurrency` and `throttle` no call waits",
                   "remove it, or write `concurrency` or `throttle` beside it");
}

void lint_limits_of_calls(const Node& document, Findings& findings) {
  const auto has_limit = [](const Node& owner) {
    return owner.find("concurrency") != nullptr || owner.find("throttle") != nullptr;
  };
  const std::vector<ActionSite> actions = actions_of(document);
  const std::vector<Node>& functions = items_of(document, "functions");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Node& function = functions[i];
    const std::string path = fmt::format("functions[{}]", i);
    const bool is_limited_by_action = std::any_of(
        actions.begin(), actions.end(),
        [&](const ActionSite& one) { return one.function == &function && has_limit(*one.action); });
    warn_same_key(function, path, findings);
    warn_priority_of_calls(function, path, has_limit(function) || is_limited_by_action, findings);
  }
  for (const ActionSite& one : actions) {
    const bool is_limited = one.function != nullptr && has_limit(*one.function);
    warn_same_key(*one.action, one.path, findings);
    warn_priority_of_calls(*one.action, one.path, has_limit(*one.action) || is_limited, findings);
  }
}

}  // namespace

void lint_starts(const Node& document, Findings& findings) {
  for (const std::string_view limit :
       {"rateLimit", "debounce", "batch", "concurrency", "throttle"}) {
    const Node* const written = value_of(document, limit);
    const Member* const key = written == nullptr ? nullptr : written->find("key");
    if (key == nullptr || may_read_input(key->value)) continue;
    findings.warning("lint.start_key", path_of(std::string(limit), "key"), key->value.at,
                     "the key reads nothing of the input, so all starts of the workflow have the "
                     "same key",
                     "write a path such as jq(.customer), or remove the key");
  }
  lint_queue(document, findings);
  lint_limits_of_calls(document, findings);
}

}  // namespace millrace
