// The messages of the event stream as queries and live messages show them, without what became of
// them (event_effects.h). Pure.
#pragma once

#include <cstddef>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// The event in a message, without its data, which the message loses. Errors: those of
/// decode_nats().
Result<Event> read_attributes(NatsMessage& message);

/// {"id","type","source","subject"?,"attributes":{…}}
Json attributes_item(const Event& event);

/// The value of a context attribute.
Json attribute_json(const AttributeValue& value);

/// {"sequence","time","size"} with attributes_item(), or with {"error":{"code","msg"}} if the
/// message is not an event. `size`: the bytes of its data, which `stored` need no longer have.
Json event_item(const StoredEvent& stored, size_t size, const Result<Event>& event);

}  // namespace millrace
