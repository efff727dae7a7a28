#include "orchestrator/service/event_item.h"

#include <utility>
#include <variant>

#include "cloudevents/encoded_event.h"
#include "orchestrator/service/shapes.h"

namespace millrace {

Result<Event> read_attributes(NatsMessage& message) {
  const EncodedEvent encoded = TRY(EncodedEvent::take(message));
  return encoded.attributes().event();
}

Json attribute_json(const AttributeValue& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);
}

Json attributes_item(const Event& event) {
  Json others = Json::object();
  if (event.time) others["time"] = *event.time;
  if (event.datacontenttype) others["datacontenttype"] = *event.datacontenttype;
  if (event.dataschema) others["dataschema"] = *event.dataschema;
  for (const auto& [name, value] : event.extensions) others[name] = attribute_json(value);
  Json item = {{"id", event.id}, {"type", event.type}, {"source", event.source}};
  if (event.subject) item["subject"] = *event.subject;
  item["attributes"] = std::move(others);
  return item;
}

Json event_item(const StoredEvent& stored, size_t size, const Result<Event>& event) {
  Json item = {{"sequence", stored.sequence}, {"time", format_rfc3339(stored.stamped)}};
  if (event) {
    item.update(attributes_item(*event));
  } else {
    item["error"] = to_json(event.error());
  }
  item["size"] = size;
  return item;
}

}  // namespace millrace
