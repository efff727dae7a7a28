#include "orchestrator/definition/flow_control.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

/// A query over the input of a start. The engine evaluates it in the batch that commits the start,
/// so only programs of the fast lane are possible, and `$instance` has no value yet.
std::optional<Template> start_query(StateFields& fields, std::string_view key) {
  std::optional<Template> query = fields.query(key);
  if (!query) return query;
  const auto programs = query->programs();
  const bool is_slow = std::any_of(programs.begin(), programs.end(),
                                   [](const Program& one) { return one.fast == nullptr; });
  if (!is_slow && !query->names_instance()) return query;
  fields.plain().report(
      key, "definition.query",
      fmt::format("`{}` is evaluated while the start is committed: write a path of the input, such "
                  "as jq(.customerId), with nothing else than literals, `//`, `+`, `-` and "
                  "comparisons, and without `$instance`",
                  key));
  return std::nullopt;
}

void read_concurrency(StateFields& fields, Concurrency& concurrency) {
  using enum Concurrency::OnLimit;
  Fields& plain = fields.plain();
  if (plain.require("limit")) {
    concurrency.limit = static_cast<uint32_t>(plain.integer("limit").value_or(1));
  }
  concurrency.key = start_query(fields, "key");
  concurrency.on_limit =
      plain
          .one_of<Concurrency::OnLimit>(
              "onLimit",
              {{"queue", kQueue}, {"reject", kReject}, {"skip", kSkip}, {"replace", kReplace}})
          .value_or(kQueue);
  concurrency.timeout = plain.duration("timeout");
}

}  // namespace

void read_flow_control(Fields& fields, LoadContext& context, Workflow& workflow) {
  fields.object("concurrency", [&](Fields& nested) {
    StateFields keys(nested, context);
    read_concurrency(keys, workflow.concurrency.emplace());
  });
  if (workflow.concurrency && workflow.singular) {
    fields.report("concurrency", "definition.both_keys",
                  "`singular` is `concurrency: {limit: 1, onLimit: reject}` with the error "
                  "direktiv.mutex; remove one of the two keys");
  }
  StateFields keys(fields, context);
  workflow.priority = start_query(keys, "priority");
}

}  // namespace millrace
