#include "orchestrator/mapping/mapped_event.h"

#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"
#include "cloudevents/limits.h"

namespace millrace {
namespace {

tl::unexpected<Error> invalid_result(const MappedField& field, std::string_view what) {
  return fail("mapping.invalid", fmt::format("mapping.{}: {}", field.where(), what));
}

tl::unexpected<Error> failed_query(std::string_view where, std::string_view what) {
  return fail("mapping.failed", fmt::format("mapping.{}: {}", where, what));
}

/// The text of a string, number or boolean.
Result<std::string> mapped_text(const MappedField& field, const LazyJson& value) {
  if (value.is_string()) return value.string();
  if (value.is_object() || value.is_array()) {
    return invalid_result(
        field, fmt::format("the result is an {}; expected a text or a number", value.type_name()));
  }
  return value.text();
}

/// The value of an extension attribute: an Integer of CloudEvents has 32 bits, so a larger number
/// becomes a text.
Result<AttributeValue> mapped_attribute(const MappedField& field, const LazyJson& value) {
  if (!value.is_large()) {
    const Json& json = value.value();
    if (json.is_boolean()) return AttributeValue(json.get<bool>());
    if (const auto number = attribute_integer(json)) return AttributeValue(*number);
  }
  return AttributeValue(TRY(mapped_text(field, value)));
}

/// The core attribute that a mapping names.
std::string& core_attribute(std::string_view name, Event& event) {
  if (name == "type") return event.type;
  if (name == "source") return event.source;
  if (name == "id") return event.id;
  return name == "time" ? event.time.emplace() : event.subject.emplace();
}

/// Sets the data; null means that the event has none.
void set_data(const LazyJson& value, Event& event) {
  event.data.reset();
  event.data_json = {};
  event.datacontenttype.reset();
  if (value.is_null()) return;
  event.data = value.text();
  event.datacontenttype = "application/json";
}

/// The event, if it is valid and not too large.
Result<Event> checked(Event event) {
  if (const Status valid = check_event(event); !valid) {
    return fail("mapping.invalid",
                fmt::format("the mapping does not make a valid event: {}", valid.error().message));
  }
  if (most_encoded_bytes(event) <= kMaxEventBytes) return event;
  if (const size_t size = encode_json_event(event).size(); size > kMaxEventBytes) {
    return fail("event.too_large",
                fmt::format("the mapping makes an event of {} bytes, more than {}; map less data",
                            size, kMaxEventBytes));
  }
  return event;
}

}  // namespace

MappingRun::MappingRun(std::shared_ptr<const EventMapping> mapping, MappingInput input,
                       MappingDefaults defaults)
    : mapping_(std::move(mapping)),
      defaults_(std::move(defaults)),
      data_(std::move(input.data)),
      content_type_(std::move(input.content_type)) {
  size_t left = kLargeJson;
  for (const MappedField& field : mapping_->fields()) {
    parts_.push_back({.field = field, .first = results_.size()});
    for (const Program& program : field.value->programs()) {
      std::optional<QueryResult>& result = results_.emplace_back();
      if (program.fast != nullptr) result = program.fast->run_within(input.json, left, true);
      if (result) continue;
      queries_.push_back({.program = program.text, .input = input.json.shared_text()});
    }
  }
}

/// The place in the mapping that has the jq program with that index.
std::string MappingRun::place_of(size_t program) const {
  for (const Part& part : parts_) {
    if (program < part.first + part.field.value->programs().size()) return part.field.where();
  }
  return "";
}

/// The error of a jq program of the mapping. Most programs read members of `.data`, so that text
/// there is the likely cause.
std::string MappingRun::described(const Error& error) const {
  if (!data_ || !data_->starts_with('"')) return error.message;  // it is no JSON string
  return error.message + " (`.data` is a text: the data of the message is no JSON object)";
}

/// Puts the results of a jq worker to those of the fast lane.
Status MappingRun::take(EvaluationResult results) {
  size_t next = 0;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!results_[i]) {
      if (next == results.size()) return failed_query(place_of(i), "the evaluation ended early");
      results_[i] = std::move(results[next++]);
    }
    const QueryResult& result = *results_[i];
    if (!result) return failed_query(place_of(i), described(result.error()));
  }
  return {};
}

LazyJson MappingRun::value_of(const Part& part) const {
  std::vector<LazyJson> values;
  for (size_t i = 0; i < part.field.value->programs().size(); ++i) {
    values.push_back(**results_[part.first + i]);
  }
  return part.field.value->assemble(values);
}

/// Sets what the part maps; a result of null leaves the event as it is, except its data.
Status MappingRun::set(const Part& part, Event& event) const {
  const MappedField& field = part.field;
  const LazyJson value = value_of(part);
  if (field.is_attribute) {
    if (value.is_null()) return {};
    event.extensions.insert_or_assign(std::string(field.name), TRY(mapped_attribute(field, value)));
    return {};
  }
  if (field.name == "data") {
    set_data(value, event);
    return {};
  }
  if (value.is_null()) {
    if (field.name != "type") return {};
    return invalid_result(field, "the result is null; expected a text");
  }
  std::string text = TRY(mapped_text(field, value));
  if (text.empty()) return invalid_result(field, "the result is empty; expected a text");
  core_attribute(field.name, event) = std::move(text);
  return {};
}

Result<Event> MappingRun::finish(EvaluationResult results) && {
  TRY(take(std::move(results)));
  Event event{.id = std::move(defaults_.id), .source = std::move(defaults_.source)};
  event.time = std::move(defaults_.time);
  event.datacontenttype = std::move(content_type_);
  event.data = std::move(data_);
  for (const Part& part : parts_) TRY(set(part, event));
  return checked(std::move(event));
}

void map_event(MappingRun run, const MappingWork& work, const Evaluator& evaluate,
               std::function<void(Result<Event>)> done) {
  if (run.queries().empty()) return done(std::move(run).finish({}));
  Evaluation evaluation{.queries = run.queries(),
                        .now = work.now,
                        .timeout = work.timeout,
                        .lane = work.lane,
                        .space = work.space};
  const auto shared = std::make_shared<MappingRun>(std::move(run));
  evaluate(std::move(evaluation), [shared, done = std::move(done)](EvaluationResult results) {
    done(std::move(*shared).finish(std::move(results)));
  });
}

}  // namespace millrace
