#include "orchestrator/definition/lint_own_calls.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/lazy_json.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "language/grammar.h"
#include "language/walk.h"
#include "orchestrator/definition/lint_events.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"

namespace millrace {
namespace {

/// A call of the definition's own workflow whose result the instance waits for.
struct SelfCall {
  std::string path;
  const Node* call = nullptr;  ///< the action, or the `compensate`
  bool may_be_async = false;
  bool has_start_data = false;  ///< its input is made from the data that the instance started with
};

/// Whether a state, or a default, transforms the data.
bool has_transform(const Node& document) {
  bool found = false;
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    found = found || place.rule.is("transform") || place.rule.is("defaultTransform");
  });
  return found;
}

/// The calls that wait for an instance of the same workflow: those of states, and compensations.
std::vector<SelfCall> calls_of_itself(const Node& document) {
  const std::string id = text_of(document, "id");
  const bool keeps_data = !has_transform(document);
  std::vector<SelfCall> calls;
  for (const ActionSite& site : actions_of(document)) {
    if (site.is_async || !site.is_subflow() || text_of(*site.function, "workflow") != id) continue;
    const bool is_each = type_of_state(*site.state) == "foreach";
    const bool is_first = site.state_index == first_state(document);
    const bool may_be_async = type_of_state(*site.state) == "action";
    calls.push_back({site.path, site.action, may_be_async, !is_each && (is_first || keeps_data)});
  }
  std::set<std::string_view> own;  // the functions that call the workflow
  for (const Node& function : items_of(document, "functions")) {
    const Node* const name = value_of(function, "id");
    if (name != nullptr && text_of(function, "workflow") == id) own.insert(name->text);
  }
  const std::vector<Node>& states = items_of(document, "states");
  for (size_t i = 0; i < states.size(); ++i) {
    const Node* const undo = value_of(states[i], "compensate");
    if (undo == nullptr || !own.contains(text_of(*undo, "function"))) continue;
    calls.push_back({path_of(path_of("states", i), "compensate"), undo});
  }
  return calls;
}

/// Whether the value is the same for every input.
bool is_same_for_all(const Template& value) {
  const auto is_constant = [](const Program& one) { return facts_of(one.text).value.has_value(); };
  return std::all_of(value.programs().begin(), value.programs().end(), is_constant);
}

/// Whether a state puts a member of that name into the data.
bool is_set_by_states(const Node& document, std::string_view member) {
  if (member == "return" || member == "error" || member == "var") return true;
  bool is_set = false;
  each_awaited_type(document, [&](const Place& place) {
    is_set = is_set || (place.path.starts_with("states") && place.member.value.text == member);
  });
  return is_set;
}

/// Sample data in which each path that the value reads leads to a text of its own.
Json sample_data(const Template& value, std::string_view mark) {
  Json data = Json::object();
  size_t number = 0;
  for (const Program& program : value.programs()) {
    for (const std::vector<std::string>& path : key_paths_of(program.text)) {
      Json* place = &data;
      for (const std::string& step : path) {
        if (!place->is_object()) *place = Json::object();
        place = &(*place)[step];
      }
      if (place->is_null()) *place = fmt::format("{}{}", mark, ++number);
    }
  }
  return data;
}

/// The value over the input as JSON text; nullopt: only a jq worker can evaluate it, or it fails.
std::optional<std::string> text_over(const Template& value, const LazyJson& input) {
  const auto result = value.run_within(input, kLargeJson);
  if (!result || !*result) return std::nullopt;
  return (*result)->text();
}

/// Whether the subflow of the call certainly has the key of the instance that makes the call. For a
/// key that reads the input this is tried with samples.
bool has_same_key(const Node& document, const Node* key, const SelfCall& call) {
  if (key == nullptr) return true;
  const auto query = Template::literal_or_jq(to_json(*key), Template::Dot::kIdentity);
  if (!query) return false;  // the loader reports it
  if (is_same_for_all(*query)) return true;
  const auto members = members_read(*query);
  if (!call.has_start_data || !members) return false;
  if (std::any_of(members->begin(), members->end(),
                  [&](const std::string& member) { return is_set_by_states(document, member); })) {
    return false;
  }
  const Node* const input = value_of(*call.call, "input");
  for (const char* const mark : {"a", "b"}) {
    const LazyJson data = sample_data(*query, mark);
    std::optional<std::string> passed = data.text();
    if (input != nullptr) {
      const auto made = Template::literal_or_jq(to_json(*input), Template::Dot::kIdentity);
      if (made) passed = text_over(*made, data);
      if (!made || !passed) return false;
    }
    const auto own = text_over(*query, data);
    if (!own || own != text_over(*query, LazyJson::of_text(*passed))) return false;
  }
  return true;
}

/// What follows if a call of the workflow needs the slot that its own instance holds, and what to
/// do about it.
std::pair<std::string, std::string> outcome_without_slot(const Node& concurrency,
                                                         const SelfCall& call) {
  constexpr std::string_view kWhy =
      "the instance that makes the call holds the only slot of its key until it has ended";
  const std::string on_limit = text_of(concurrency, "onLimit");
  std::string what = "this call never gets a result, because the subflow waits for a slot";
  std::string mend = fmt::format("call another workflow, {}or write a higher `limit`",
                                 call.may_be_async ? "write `async: true` in the state, " : "");
  if (on_limit == "reject") {
    what = "this call is always refused with millrace.concurrency.limit";
  } else if (on_limit == "skip") {
    what = "this call starts nothing and returns null";
  } else if (on_limit == "replace") {
    what = "this call cancels the instance that makes it, because the subflow takes its slot";
    mend = "call another workflow, or write a higher `limit` or another `onLimit`";
  } else if (value_of(concurrency, "timeout") != nullptr) {
    what =
        "this call always fails with millrace.concurrency.timeout, because the subflow waits for a "
        "slot";
  }
  return {fmt::format("{}: {}", what, kWhy), std::move(mend)};
}

}  // namespace

void lint_own_calls(const Node& document, Findings& findings) {
  if (value_of(document, "batch") != nullptr) return;
  const bool is_singular = text_of(document, "singular") == "true";
  const Node* const concurrency = value_of(document, "concurrency");
  const bool has_one_slot = concurrency != nullptr && text_of(*concurrency, "limit") == "1";
  if (!is_singular && !has_one_slot) return;
  for (const SelfCall& call : calls_of_itself(document)) {
    const Node& function = *value_of(*call.call, "function");
    const std::string path = path_of(call.path, "function");
    if (is_singular) {
      findings.warning("lint.call_never", path, function.at,
                       "this call is always refused with direktiv.mutex: the workflow is singular, "
                       "and its instance that makes the call has not ended",
                       "call another workflow, or remove `singular`");
    } else if (has_same_key(document, value_of(*concurrency, "key"), call)) {
      auto [doubt, mend] = outcome_without_slot(*concurrency, call);
      findings.warning("lint.call_never", path, function.at, std::move(doubt), std::move(mend));
    }
  }
}

}  // namespace millrace
