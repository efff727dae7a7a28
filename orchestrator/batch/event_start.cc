#include "orchestrator/batch/event_start.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "states/event_pattern.h"

namespace millrace {
namespace {

/// Puts each payload under its event's type, in entry order; several payloads of one type become an
/// array.
LazyJson input_of(std::span<const StartEvent> entries, std::span<const Event> events) {
  if (events.size() == 1) {  // nearly every start
    LazyJson input = Json::object();
    input.set(entries.front().filter.type, captured(events.front(), entries.front().capture));
    return input;
  }
  std::map<std::string, std::vector<LazyJson>> by_type;
  for (size_t i = 0; i < events.size(); ++i) {
    by_type[entries[i].filter.type].push_back(captured(events[i], entries[i].capture));
  }
  std::map<std::string, LazyJson> input;
  for (auto& [type, values] : by_type) {
    input[type] = values.size() == 1 ? std::move(values.front()) : LazyJson::of_elements(values);
  }
  return LazyJson::of_members(std::move(input));
}

/// The attributes as JSON text: so many attributes as to make it large are never a tree here.
LazyJson attributes_of_one(const Event& event) {
  return LazyJson::of_text(encode_json_event({.id = event.id,
                                              .source = event.source,
                                              .type = event.type,
                                              .subject = event.subject,
                                              .time = event.time,
                                              .datacontenttype = event.datacontenttype,
                                              .dataschema = event.dataschema,
                                              .extensions = event.extensions}));
}

/// The value of Instance::start_event.
LazyJson attributes_of(Start::Kind kind, std::span<const Event> events) {
  if (kind != Start::Kind::kEventsAnd) return attributes_of_one(events.front());
  std::vector<LazyJson> all;
  all.reserve(events.size());
  for (const Event& event : events) all.push_back(attributes_of_one(event));
  return LazyJson::of_elements(all);
}

}  // namespace

StartSpec start_by_events(const Workflow& workflow, uint32_t revision,
                          std::span<const StartEvent> entries, std::span<const Event> events,
                          const Event& last) {
  // The text of the input is built directly: to build a JSON tree first would take as long as the
  // step that follows.
  const std::string event_json =
      object_text({{"type", last.type}, {"source", last.source}, {"id", last.id}});
  StartSpec spec{.data = input_of(entries, events),
                 .how = LazyJson::of_text(fmt::format(
                     R"({{"by":"event","event":{},"revision":{}}})", event_json, revision))};
  const auto attribute = [&](const std::string& name) {
    const auto found = last.extensions.find(name);
    const auto* const text =
        found == last.extensions.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
  };
  spec.traceparent = attribute("traceparent");
  spec.correlation = attribute("correlationid");
  for (const Event& event : events) spec.hops = std::max(spec.hops, hops_of(event));
  if (workflow.names_instance) spec.start_event = attributes_of(workflow.start.kind, events);
  return spec;
}

}  // namespace millrace
