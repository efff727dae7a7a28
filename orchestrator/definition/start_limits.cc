#include "orchestrator/definition/start_limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// Reads the `key` of a limit. nullopt if it is absent, or after a finding.
std::optional<Template> read_start_key(Fields& fields, LoadContext& context) {
  const bool named_instance = context.names_instance;
  std::optional<Template> key = StateFields(fields, context).command("key");
  if (!key) return std::nullopt;
  if (key->names_instance()) {
    context.names_instance = named_instance;
    fields.report("key", "definition.value",
                  "the jq program of a `key` sees the input of the instance, but not $instance, "
                  "which does not exist yet; read what the key needs from the input");
    return std::nullopt;
  }
  const auto programs = key->programs();
  const auto slow = std::find_if(programs.begin(), programs.end(),
                                 [](const Program& one) { return one.fast == nullptr; });
  if (slow == programs.end()) return key;
  fields.report(
      "key", "definition.value",
      fmt::format("`{}` is not a simple jq program, and a start cannot wait for a jq worker; write "
                  "a path such as jq(.customer), or several of them in a list",
                  excerpt(slow->text)));
  return std::nullopt;
}

}  // namespace

std::optional<StartLimit> read_rate_limit(Fields& workflow, LoadContext& context) {
  std::optional<StartLimit> limit;
  workflow.object("rateLimit", [&](Fields& fields) {
    StartLimit read;
    const auto most = fields.require("limit") ? fields.integer("limit") : std::nullopt;
    const auto period = fields.required_duration("period");
    read.key = read_start_key(fields, context);
    if (!most || !period) return;
    read.limit = static_cast<uint32_t>(*most);
    read.period = *period;
    limit = std::move(read);
  });
  return limit;
}

std::optional<Debounce> read_debounce(Fields& workflow, LoadContext& context) {
  std::optional<Debounce> debounce;
  workflow.object("debounce", [&](Fields& fields) {
    Debounce read;
    const auto period = fields.required_duration("period");
    read.timeout = fields.duration("timeout");
    read.key = read_start_key(fields, context);
    if (!period) return;
    if (read.timeout && read.timeout->after(TimePoint()) < period->after(TimePoint())) {
      fields.report("timeout", "definition.value",
                    fmt::format("{} is shorter than the period {}, so no start would ever be put "
                                "off for the whole period; write a longer timeout",
                                read.timeout->text, period->text));
    }
    read.period = *period;
    debounce = std::move(read);
  });
  return debounce;
}

}  // namespace millrace
