// generateEvent (Direktiv's GenerateEventState): publishes a CloudEvent, at once or after `delay`.
// The instance does not wait for the delay.

#include "base/bytes.h"
#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "model/hops.h"
#include "states/evaluate_time.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// The templates from which a generated event is made.
struct EventTemplate {
  Template type;
  Template source;
  std::optional<Template> data;  ///< nullopt: all data of the instance is the payload
  std::optional<std::string> content_type;
  std::vector<std::pair<std::string, Template>> context;  ///< lower-case names
};

/// The value of an attribute as text.
std::string text_of(const LazyJson& value) {
  return value.is_string() ? value.string() : value.text();
}

/// The value of an extension attribute. An Integer of CloudEvents has 32 bits; a larger number
/// becomes a string.
AttributeValue attribute_value(const LazyJson& json) {
  if (json.is_large()) return text_of(json);
  const Json& value = json.value();
  if (value.is_boolean()) return value.get<bool>();
  if (const auto number = attribute_integer(value)) return *number;
  return text_of(json);
}

/// Sets an attribute that `context` may contain.
void set_attribute(Event& event, const std::string& name, const LazyJson& value) {
  if (value.is_null()) return;  // as in the JSON format, null means that the attribute is absent
  if (name == "subject") {
    event.subject = text_of(value);
  } else if (name == "dataschema") {
    event.dataschema = text_of(value);
  } else {
    event.extensions[name] = attribute_value(value);
  }
}

/// Sets the payload and content type of the event. With a content type that is not JSON, a string
/// is decoded from Base64, or used unchanged if it is not Base64. A value that is not a string is
/// always published as JSON.
void set_payload(Event& event, const LazyJson& value,
                 const std::optional<std::string>& content_type) {
  if (is_json_content_type(content_type) || !value.is_string()) {
    event.datacontenttype = is_json_content_type(content_type)
                                ? content_type.value_or("application/json")
                                : "application/json";
    event.data = value.text();
    return;
  }
  std::string text = value.string();
  event.datacontenttype = content_type;
  std::optional<std::string> bytes = base64_decode(text);
  event.data = bytes ? std::move(*bytes) : std::move(text);
}

class GenerateEvent final : public State {
 public:
  GenerateEvent(StateCommon common, EventTemplate event, std::optional<WrittenTime> delay)
      : State(std::move(common)), event_(std::move(event)), delay_(std::move(delay)) {}

  Outcome enter(Visit& visit) const override {
    std::vector<const Template*> templates{&event_.type, &event_.source};
    for (const auto& [name, value] : event_.context) templates.push_back(&value);
    if (event_.data) templates.push_back(&*event_.data);
    auto values = visit.evaluate(templates);
    if (!values) return std::move(values).error();

    Event event{.source = text_of((*values)[1]), .type = text_of((*values)[0])};
    for (size_t i = 0; i < event_.context.size(); ++i) {
      set_attribute(event, event_.context[i].first, (*values)[2 + i]);
    }
    set_payload(event, event_.data ? values->back() : visit.data(), event_.content_type);

    const auto at = publish_at(visit);
    if (!at) return at.error();
    if (auto raised = visit.publish(std::move(event), *at)) return *raised;
    return Leave{};
  }

  const Template* generated_type() const override { return &event_.type; }

 private:
  /// When the event is published; nullopt: at once.
  Evaluated<std::optional<TimePoint>> publish_at(Visit& visit) const {
    if (!delay_) return std::nullopt;
    const auto* const constant = std::get_if<Span>(&*delay_);
    Span span = constant == nullptr ? Span{} : *constant;
    if (constant == nullptr) {
      auto time = evaluate_time(visit, std::get<EvaluatedTime>(*delay_));
      if (!time) return tl::unexpected(std::move(time).error());
      span = *time->span;
    }
    return span.is_zero() ? std::nullopt : std::optional(span.after(visit.now()));
  }

  EventTemplate event_;
  std::optional<WrittenTime> delay_;
};

/// Whether `context` must not contain the attribute, because another key or millrace sets it.
bool is_set_elsewhere(const std::string& name) {
  return name == "id" || name == "source" || name == "type" || name == "specversion" ||
         name == "time" || name == "datacontenttype" || name == "data" || name == kHopsAttribute;
}

constexpr const char* kBadAttribute = "definition.attribute_value";

/// Checks an attribute that is known at load. `set` adds it to an event that is otherwise valid.
Status check_attribute(const std::function<void(Event&)>& set) {
  Event event{.id = "1", .source = "/", .type = "t"};
  set(event);
  return check_event(event);
}

/// Checks an attribute that has its own key, if it is a constant.
void check_constant(StateFields& fields, std::string_view key, const Template& value,
                    std::string Event::*attribute) {
  if (!value.is_constant()) return;
  const LazyJson text = value.assemble({});
  if (!text.is_string()) return;  // already reported
  const Status status = check_attribute([&](Event& event) { event.*attribute = text.string(); });
  if (!status) fields.plain().report(key, kBadAttribute, status.error().message);
}

void load_context(StateFields& fields, EventTemplate& event) {
  Findings& findings = fields.plain().findings();
  AttributeNames names(findings);
  fields.texts("context", [&](const Member& member, const std::string& path, Template value) {
    std::string name = to_lower(member.key);
    names.add(member, path);
    if (!is_attribute_name(name)) {
      findings.error(
          "definition.attribute_name", path, member.at,
          "this cannot be the name of a context attribute; write letters and digits only");
    } else if (is_set_elsewhere(name)) {
      findings.error("definition.attribute_name", path, member.at,
                     "this cannot be set in context: type, source, datacontenttype and data have "
                     "keys of their own, and millrace sets id, time and specversion; remove it");
    } else if (value.is_constant()) {
      const Status status =
          check_attribute([&](Event& sample) { set_attribute(sample, name, value.assemble({})); });
      if (!status) {
        findings.error(kBadAttribute, path, member.value.at, status.error().message);
      }
    }
    event.context.emplace_back(std::move(name), std::move(value));
  });
}

std::unique_ptr<const State> load_generate_event(StateFields& fields, StateCommon common) {
  EventTemplate event;
  fields.required_object("event", [&](StateFields& definition) {
    event.type = definition.required_text("type");
    check_constant(definition, "type", event.type, &Event::type);
    event.source = definition.required_text("source");
    check_constant(definition, "source", event.source, &Event::source);
    event.data = definition.command("data");
    event.content_type = definition.content_type("datacontenttype");
    load_context(definition, event);
  });
  return std::make_unique<GenerateEvent>(std::move(common), std::move(event),
                                         fields.duration("delay"));
}

}  // namespace

const StateType kGenerateEventState{.name = "generateEvent", .load = load_generate_event};

}  // namespace millrace
