#include "orchestrator/definition/start_limits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// The query if the batch that commits a start can evaluate it.
std::optional<Template> of_a_start(StateFields& fields, std::string_view key,
                                   std::optional<Template> query) {
  if (!query) return std::nullopt;
  if (query->names_instance()) {
    fields.plain().report(key, "definition.query",
                          "the query sees the input of the instance, but not $instance, which does "
                          "not exist yet; read what it needs from the input");
    return std::nullopt;
  }
  const auto programs = query->programs();
  const auto slow = std::find_if(programs.begin(), programs.end(),
                                 [](const Program& one) { return one.fast == nullptr; });
  if (slow == programs.end()) return query;
  fields.plain().report(
      key, "definition.query",
      fmt::format("`{}` is not a simple jq program, and a start cannot wait for a jq worker; write "
                  "{}; send "
                  "a value that has to be computed with the start, and read it with a path",
                  excerpt(slow->text),
                  key == "priority"
                      ? "an integer, or a path such as jq(.rank // 0)"
                      : "a path such as jq(.customer), or several of them in a list"));
  return std::nullopt;
}

}  // namespace

std::optional<Template> read_start_key(StateFields& fields) {
  return of_a_start(fields, "key", fields.command("key"));
}

std::optional<Template> read_priority(StateFields& fields) {
  return of_a_start(fields, "priority", fields.query("priority"));
}

std::optional<StartLimit> read_rate_limit(Fields& workflow, LoadContext& context) {
  std::optional<StartLimit> limit;
  workflow.object("rateLimit", [&](Fields& fields) {
    StartLimit read;
    const auto most = fields.require("limit") ? fields.integer("limit") : std::nullopt;
    const auto period = fields.required_duration("period");
    StateFields queries(fields, context);
    read.key = read_start_key(queries);
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
    StateFields queries(fields, context);
    read.key = read_start_key(queries);
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

std::optional<StartBatch> read_start_batch(Fields& workflow, LoadContext& context) {
  std::optional<StartBatch> batch;
  const bool is_there = workflow.object("batch", [&](Fields& fields) {
    StartBatch read;
    const auto most = fields.require("maxSize") ? fields.integer("maxSize") : std::nullopt;
    const auto timeout = fields.required_duration("timeout");
    StateFields queries(fields, context);
    read.key = read_start_key(queries);
    if (!most || !timeout) return;
    read.max_size = static_cast<uint32_t>(*most);
    read.timeout = *timeout;
    batch = std::move(read);
  });
  if (is_there && workflow.has("debounce")) {
    workflow.report("batch", "definition.both_keys",
                    "a workflow has either `batch` or `debounce`: with `batch` all inputs count, "
                    "with `debounce` only the newest one; remove one of them");
  }
  return batch;
}

}  // namespace millrace
