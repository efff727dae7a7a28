// The part of StateFields that reads the flow control of calls: `concurrency`, `throttle` and
// `priority` of a function or an action.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "states/state_fields.h"

namespace millrace {

std::optional<Template> StateFields::commit_query(std::string_view key, std::string_view of) {
  std::optional<Template> value = query(key);
  if (!value) return value;
  const auto programs = value->programs();
  const bool is_slow = std::any_of(programs.begin(), programs.end(),
                                   [](const Program& one) { return one.fast == nullptr; });
  if (!is_slow && !value->names_instance()) return value;
  fields_.report(
      key, "definition.query",
      fmt::format(
          "`{}` is evaluated while the {} is committed: write {}, with nothing else than "
          "literals, `//`, `+`, `-` and comparisons, and without `$instance`; compute another "
          "value in the `input` of the call, and read it with a path",
          key, of,
          key == "priority" ? "an integer, or a path of the input, such as jq(.rank // 0)"
                            : "a path of the input, such as jq(.customerId)"));
  return std::nullopt;
}

std::optional<Throttle> StateFields::throttle(std::optional<Template> key) {
  Throttle read;
  const auto most = fields_.require("limit") ? fields_.integer("limit") : std::nullopt;
  const auto period = fields_.required_duration("period");
  read.timeout = fields_.duration("timeout");
  if (!most || !period) return std::nullopt;
  read.rate.limit = static_cast<uint32_t>(*most);
  read.rate.period = *period;
  read.rate.key = std::move(key);
  return read;
}

CallFlow StateFields::call_flow(const Function* function) {
  CallFlow flow;
  if (function != nullptr && function->subflow() != nullptr) {
    for (const std::string_view key : {"concurrency", "throttle", "priority"}) {
      if (!fields_.has(key)) continue;
      fields_.report(
          key, "definition.not_here",
          fmt::format("`{}` of an action is for calls of services and containers, and "
                      "function {} is a subflow, whose workflow limits its own instances; remove "
                      "it here, and write `{}` in workflow {}",
                      key, in_quotes(function->id), key, in_quotes(function->subflow()->workflow)));
    }
  }
  fields_.object("concurrency", [&](Fields& nested) {
    StateFields keys(nested, context_);
    CallConcurrency& concurrency = flow.concurrency.emplace();
    if (nested.require("limit")) {
      concurrency.limit = static_cast<uint32_t>(nested.integer("limit").value_or(1));
    }
    concurrency.key = keys.commit_query("key", "call");
    concurrency.timeout = nested.duration("timeout");
  });
  fields_.object("throttle", [&](Fields& nested) {
    StateFields keys(nested, context_);
    flow.throttle = keys.throttle(keys.commit_query("key", "call"));
  });
  flow.priority = commit_query("priority", "call");
  if (function == nullptr) return flow;
  if (!flow.concurrency) flow.concurrency = function->flow.concurrency;
  if (!flow.throttle) flow.throttle = function->flow.throttle;
  if (!flow.priority) flow.priority = function->flow.priority;
  return flow;
}

}  // namespace millrace
