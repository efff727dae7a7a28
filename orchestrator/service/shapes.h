// JSON forms that queries about several nouns share, and what they show of a sealed instance.
// Pure.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "matchers/event_filter.h"
#include "model/instance.h"
#include "model/variable.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "states/workflow.h"

namespace millrace {

/// The JSON value as it is disclosed.
Json shown(const LazyJson& json, const Disclosure& disclosure);

/// Each member of `detail` that may come from the data of an instance as it is disclosed; members
/// that the engine or the definition has set stay.
Json shown_detail(Json detail, const Disclosure& disclosure);

/// {"code","msg"}
Json to_json(const Error& error);

/// {"type","context":{attribute:{"equals"|"pattern": text}}}, with the texts as they are disclosed.
Json to_json(const EventFilter& filter, const Disclosure& disclosure = false);

/// Adds to the list item of an instance what it waits for: "waits", the first four events with
/// together at most 512 bytes, each as to_json(EventFilter) or, if its texts are too long, without
/// "context"; and "moreWaits", how many others there are. Adds nothing if it waits for no event.
void add_waits(Json& item, const Instance& instance, const Disclosure& disclosure);

/// The list item of a variable, without its value: {"key","size","contentType"}, and "sealed":true
/// if a sealed instance set the variable. `size` is in bytes.
Json variable_item(std::string_view key, const VariableHead& variable);
/// The list item of a variable with its value: `data` as text ("encoding":"utf-8") or in Base64
/// ("base64"). The value of a sealed variable is withheld.
Json whole_variable(std::string_view key, const Variable& variable);

/// The name of a kind of start in a definition.
std::string_view to_string(Start::Kind kind);

/// The earliest deadline of the instance that does not belong to its calls.
std::optional<TimePoint> first_deadline(const Instance& instance);

/// What the instance has left of its compensations, and whether it makes them:
/// {"left","making","ends"?,"error"?}. Precondition: it has some.
Json compensation_json(const Instance& instance, const Disclosure& disclosure);

/// The list item of an instance with damaged rows; the error is under "damage".
Json damaged_item(const InstanceId& id, const Error& error);

}  // namespace millrace
