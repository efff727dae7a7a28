#include "orchestrator/definition/lint_starts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "orchestrator/definition/limit_values.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/start_data.h"

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
  const std::optional<StartData> started = data_of_instances(document);
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
