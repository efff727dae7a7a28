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

#include "base/excerpt.h"
#include "base/lazy_json.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"
#include "states/slot_values.h"

namespace millrace {
namespace {

/// The value of a `key` of starts, as the loader reads it. Its errors are the loader's.
Result<Template> command_of(const Node& value) {
  return Template::literal_or_jq(to_json(value), Template::Dot::kIdentity);
}

/// The value of a `key` of calls or of a `priority`, likewise: a bare text is itself a jq program.
Result<Template> query_of(const Node& value) { return Template::query(to_json(value)); }

/// Whether the result of the jq program may depend on its input. Programs of the fast lane reach
/// their input by a path, by the short form of a member (`{customer}`), `length` or `not` only.
bool may_read_input(const Program& program) {
  if (facts_of(program.text).value) return false;
  const std::string_view text = program.text;
  return !key_paths_of(text).empty() || text.find('.') != std::string_view::npos ||
         text.find("length") != std::string_view::npos ||
         text.find("not") != std::string_view::npos;
}

/// Whether a part of the value may depend on the input.
bool may_read_input(const Result<Template>& value) {
  if (!value) return true;  // the loader reports it
  const auto programs = value->programs();
  return std::any_of(programs.begin(), programs.end(),
                     [](const Program& one) { return may_read_input(one); });
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
std::optional<std::string> missing_member(const Result<Template>& value, const StartData& data) {
  if (!value) return std::nullopt;
  const std::optional<std::set<std::string>> members = members_read(*value);
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
void warn_missing(const Result<Template>& value, Position at, std::string path,
                  const std::optional<StartData>& data, Findings& findings) {
  if (!data) return;
  const std::optional<std::string> member = missing_member(value, *data);
  if (!member) return;
  findings.warning(
      "lint.start_key", std::move(path), at,
      fmt::format("the data of {} has no member {}, so the value is the same for all of them",
                  data->by, in_quotes(*member)),
      data->path.empty() ? std::string("remove it")
                         : fmt::format("write {}[{}]", data->path, in_quotes(*member)));
}

/// Warns of a priority that is no integer for any input.
void warn_no_integer(const Node& owner, const std::string& path, std::string_view outcome,
                     Findings& findings) {
  const Node* const priority = value_of(owner, "priority");
  if (priority == nullptr || priority->kind == Node::Kind::kNull) return;  // as if it were absent
  const Result<Template> query = query_of(*priority);
  if (!query) return;
  const ProgramFacts facts = facts_of(*query);
  std::string yielded;
  if (facts.value) {
    const LazyJson no_input;
    if (evaluated_priority(*query, no_input, "")) return;
    yielded = excerpt(dump_json(*facts.value));
  } else if (!facts.type.empty() && facts.type != "number") {
    yielded = fmt::format("a value of the type {}", facts.type);
  }
  if (yielded.empty()) return;
  findings.warning("lint.wrong_type", path_of(path, "priority"), priority->at,
                   fmt::format("this query never yields an integer of 32 bits: it yields {}, and "
                               "{} with millrace.concurrency.priority",
                               yielded, outcome),
                   "write a query that yields an integer, such as jq(.rank // 0)");
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
    const Result<Template> value = command_of(key->value);
    if (may_read_input(value)) {
      const bool is_of_requests =
          std::find(kOfRequests.begin(), kOfRequests.end(), limit) != kOfRequests.end();
      warn_missing(value, key->value.at, std::move(path), is_of_requests ? asked : started,
                   findings);
      continue;
    }
    findings.warning("lint.start_key", std::move(path), key->value.at,
                     "the key reads nothing of the input, so all starts of the workflow have the "
                     "same key",
                     "write a path such as jq(.customer), or remove the key");
  }
  if (const Member* const priority = document.find("priority")) {
    warn_no_integer(document, "", "each start is refused", findings);
    warn_missing(query_of(priority->value), priority->value.at, "priority", started, findings);
  }
}

/// Warns of a `key` of calls that reads nothing of their input.
void warn_same_key(const Node& owner, const std::string& path, Findings& findings) {
  for (const std::string_view limit : {"concurrency", "throttle"}) {
    const Node* const written = value_of(owner, limit);
    const Member* const key = written == nullptr ? nullptr : written->find("key");
    if (key == nullptr || may_read_input(query_of(key->value))) continue;
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
  constexpr std::string_view kCallFails = "each call fails";
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
    warn_no_integer(function, path, kCallFails, findings);
    warn_priority_of_calls(function, path, has_limit(function) || is_limited_by_action, findings);
  }
  for (const ActionSite& one : actions) {
    const bool is_limited = one.function != nullptr && has_limit(*one.function);
    warn_same_key(*one.action, one.path, findings);
    warn_no_integer(*one.action, one.path, kCallFails, findings);
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
