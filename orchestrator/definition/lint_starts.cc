#include "orchestrator/definition/lint_starts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"

namespace millrace {
namespace {

/// Whether the result of the jq program may depend on its input. Programs of the fast lane reach
/// their input by a path, by the short form of a member (`{customer}`), `length` or `not` only.
bool may_read_input(const Program& program) {
  const std::string_view text = program.text;
  return !key_paths_of(text).empty() ||
         std::any_of(text.begin(), text.end(), [](char c) { return c == '.'; }) ||
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

/// What is known of the data with which instances start.
struct StartData {
  std::set<std::string> members;
  std::string by;    ///< what makes the data, for a message
  std::string path;  ///< what to write before the key of a member; empty: no path reaches the data
};

/// The types of the events that start the workflow.
std::vector<std::string> types_of_start(const Node& start) {
  std::vector<std::string> types;
  const auto add = [&types](const Node& entry) {
    const Node* const event = value_of(entry, "event");
    types.push_back(text_of(event == nullptr ? entry : *event, "type"));
  };
  if (value_of(start, "event") != nullptr) add(start);
  for (const Node& entry : items_of(start, "events")) add(entry);
  return types;
}

/// The data of a start by the events or by the schedule of the workflow; nullopt: only calls start
/// it.
std::optional<StartData> data_of_starts(const Node& document) {
  const Node* const start = value_of(document, "start");
  if (start == nullptr) return std::nullopt;
  if (text_of(*start, "type") == "scheduled") return StartData{{}, "a start by the schedule", ""};
  const std::vector<std::string> types = types_of_start(*start);
  if (types.empty()) return std::nullopt;
  return StartData{{types.begin(), types.end()},
                   "a start by an event",
                   fmt::format(".[{}]", in_quotes(types.front()))};
}

/// The data of an instance that starts with a batch of such data.
StartData data_of_batches(const std::optional<StartData>& one) {
  return {{"events"}, "an instance with `batch`", ".events[0]" + (one ? one->path : "")};
}

/// A member that the value reads and the data does not have, if it reads no other member; nullopt:
/// it may depend on the data. lint.split_key reports the first part of a type with dots.
std::optional<std::string> missing_member(const Node& value, const StartData& data) {
  const std::optional<std::set<std::string>> members = members_read(value);
  if (!members || members->empty()) return std::nullopt;
  const auto is_there = [&data](const std::string& member) {
    return std::any_of(data.members.begin(), data.members.end(), [&](const std::string& one) {
      return one == member || one.starts_with(member + ".");
    });
  };
  if (std::any_of(members->begin(), members->end(), is_there)) return std::nullopt;
  return *members->begin();
}

/// Warns of a key, or a priority, that reads only members which the data does not have.
void warn_missing(const Node& value, std::string path, const std::optional<StartData>& data,
                  Findings& findings) {
  if (!data) return;
  const std::optional<std::string> member = missing_member(value, *data);
  if (!member) return;
  findings.warning(
      "lint.start_key", std::move(path), value.at,
      fmt::format("the data of {} has no member {}, so the value is the same for all of them",
                  data->by, in_quotes(*member)),
      data->path.empty() ? std::string("remove it")
                         : fmt::format("write {}[{}]", data->path, in_quotes(*member)));
}

/// Warns of keys and a priority of starts that are the same for all of them.
void lint_keys_of_starts(const Node& document, Findings& findings) {
  const std::optional<StartData> asked = data_of_starts(document);
  const bool has_batch = value_of(document, "batch") != nullptr;
  const std::optional<StartData> started =
      has_batch ? std::optional(data_of_batches(asked)) : asked;
  constexpr std::array<std::string_view, 3> kOfRequests = {"rateLimit", "debounce", "batch"};
  for (const std::string_view limit :
       {"rateLimit", "debounce", "batch", "concurrency", "throttle"}) {
    const Node* const written = value_of(document, limit);
    const Member* const key = written == nullptr ? nullptr : written->find("key");
    if (key == nullptr) continue;
    std::string path = path_of(std::string(limit), "key");
    if (may_read_input(key->value)) {
      const bool is_of_requests =
          std::find(kOfRequests.begin(), kOfRequests.end(), limit) != kOfRequests.end();
      warn_missing(key->value, std::move(path), is_of_requests ? asked : started, findings);
      continue;
    }
    findings.warning("lint.start_key", std::move(path), key->value.at,
                     "the key reads nothing of the input, so all starts of the workflow have the "
                     "same key",
                     "write a path such as jq(.customer), or remove the key");
  }
  if (const Member* const priority = document.find("priority")) {
    warn_missing(priority->value, "priority", started, findings);
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
  lint_keys_of_starts(document, findings);
  lint_queue(document, findings);
  lint_limits_of_calls(document, findings);
}

}  // namespace millrace
