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

#include "base/characters.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "orchestrator/definition/limit_values.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

/// The value of a `key` of starts, as the loader reads it. Its errors are the loader's.
Result<Template> command_of(const Node& value) {
  return Template::literal_or_jq(to_json(value), Template::Dot::kIdentity);
}

void warn_never(const Member& key, std::string path, std::string_view why, Findings& findings) {
  findings.warning("lint.concurrency_never", std::move(path), key.at,
                   fmt::format("`{}` has no effect: {}", key.key, why),
                   "remove it, or write `onLimit: queue` in `concurrency`, or `throttle`");
}

/// Whether starts beyond the limit of `concurrency` do not wait.
bool drops_starts(const Node& concurrency) {
  const std::string on_limit = text_of(concurrency, "onLimit");
  return on_limit == "reject" || on_limit == "skip";
}

/// Whether starts may wait for a slot or a throttle.
bool starts_wait(const Node& document) {
  const Node* const concurrency = value_of(document, "concurrency");
  return value_of(document, "throttle") != nullptr ||
         (concurrency != nullptr && !drops_starts(*concurrency));
}

/// Warns of keys that only starts in a queue read, if no start waits.
void lint_queue(const Node& document, Findings& findings) {
  const Node* const concurrency = value_of(document, "concurrency");
  const bool drops = concurrency != nullptr && drops_starts(*concurrency);
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
  std::string path;  ///< the path to the payload; empty: there is none
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
  return StartData{{types.begin(), types.end()}, "a start by an event", path_to(types.front())};
}

/// The data of an instance that starts with a batch of such data.
StartData data_of_batches(const std::optional<StartData>& one) {
  return {{"events"}, "an instance with `batch`", ".events[0]" + (one ? one->path : "")};
}

/// A member that the value reads and the data does not have, if it reads no other member; nullopt:
/// it may depend on the data. lint.split_key reports the first part of a type with dots.
std::optional<std::string> missing_member(const Result<Template>& value, const StartData& data) {
  const std::optional<std::set<std::string>> members = members_of_input(value);
  if (!members) return std::nullopt;
  const auto is_there = [&data](const std::string& member) {
    return std::any_of(data.members.begin(), data.members.end(), [&](const std::string& one) {
      return one == member || one.starts_with(member + ".");
    });
  };
  if (std::any_of(members->begin(), members->end(), is_there)) return std::nullopt;
  return *members->begin();
}

/// Whether a member has a name by which some take the event itself.
bool is_name_of_event(std::string_view member) { return member == "event" || member == "data"; }

/// The jq program of the value with the path to the data before the path that it reads: for
/// `.customer // "none"` it is `.["cart.left"].customer // "none"`. If the value is more than a
/// program that begins with its only path, the path to `member`.
std::string corrected(const Result<Template>& value, const std::string& member,
                      const StartData& data) {
  const Program* const program = value ? value->whole() : nullptr;
  const std::string_view text = program == nullptr ? "" : trimmed(program->text);
  const auto paths = key_paths_of(text);
  if (!text.starts_with('.') || paths.size() != 1) return data.path + step_to(member);
  std::string rest(text.starts_with(".[") ? text.substr(1) : text);
  const std::vector<std::string>& path = paths.front();
  const std::string wrong = "." + path.front();
  if (path.size() > 1 && is_name_of_event(path.front()) && rest.starts_with(wrong)) {
    rest.erase(0, wrong.size());
  }
  return data.path + rest;
}

/// Warns of a key, or a priority, that reads only members which the data does not have. Returns
/// whether it does.
bool warn_missing(const Result<Template>& value, Position at, const std::string& path,
                  const std::optional<StartData>& data, Findings& findings) {
  if (!data) return false;
  const std::optional<std::string> member = missing_member(value, *data);
  if (!member) return false;
  const bool refuses = path == "priority" && needs_members(value);
  std::string mend = "remove it";
  if (!data->path.empty()) {
    std::string program = corrected(value, *member, *data);
    if (refuses && is_path_to_member(program)) program += " // 0";
    mend = fmt::format("write {}", as_value(program));
  }
  findings.warning(
      "lint.start_key", path, at,
      fmt::format("the data of {} has no member {}, so {}", data->by, in_quotes(*member),
                  refuses ? "each of them is refused with millrace.concurrency.priority"
                          : "the value is the same for all of them"),
      std::move(mend));
  return true;
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
      warn_missing(value, key->value.at, path, is_of_requests ? asked : started, findings);
      continue;
    }
    findings.warning("lint.start_key", std::move(path), key->value.at,
                     "the key reads nothing of the input, so all starts of the workflow have the "
                     "same key",
                     "write a path such as jq(.customer), or remove the key");
  }
  if (const Member* const priority = document.find("priority")) {
    warn_no_integer(document, "", "each start is refused", findings);
    const bool is_missing = warn_missing(limit_query(priority->value), priority->value.at,
                                         "priority", started, findings);
    if (!is_missing && starts_wait(document)) {
      warn_no_alternative(document, "", "the start is refused", findings);
    }
  }
}

}  // namespace

void lint_starts(const Node& document, Findings& findings) {
  lint_keys_of_starts(document, findings);
  lint_queue(document, findings);
}

}  // namespace millrace
