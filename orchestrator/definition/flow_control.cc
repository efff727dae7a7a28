#include "orchestrator/definition/flow_control.h"

#include <optional>
#include <string_view>
#include <utility>

#include "orchestrator/definition/start_limits.h"

namespace millrace {
namespace {

void read_concurrency(StateFields& fields, Concurrency& concurrency) {
  using enum Concurrency::OnLimit;
  Fields& plain = fields.plain();
  if (plain.require("limit")) {
    concurrency.limit = static_cast<uint32_t>(plain.integer("limit").value_or(1));
  }
  concurrency.key = read_start_key(fields);
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
  fields.object("throttle", [&](Fields& nested) {
    StateFields keys(nested, context);
    workflow.throttle = keys.throttle(read_start_key(keys));
  });
  StateFields keys(fields, context);
  workflow.priority = read_priority(keys);
}

}  // namespace millrace
