// Shapes that queries about several nouns share, and what of a sealed instance they withhold. Pure.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "matchers/event_filter.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// The value, or "(sealed)".
Json shown(const LazyJson& json, bool sealed);

/// `detail` of a sealed instance has "(sealed)" in the place of each member that may come from its
/// data; what the engine or the definition has put there stays.
Json shown_detail(Json detail, bool sealed);

/// {"code","msg"}
Json to_json(const Error& error);

/// {"type","context":{attribute:{"equals"|"pattern": text}}}; of a sealed instance without the
/// texts.
Json to_json(const EventFilter& filter, bool sealed = false);

/// The word of a definition for that kind of start.
std::string_view to_string(Start::Kind kind);

/// The first deadline of the instance that does not belong to its calls.
std::optional<TimePoint> first_deadline(const Instance& instance);

/// What is listed of an instance whose rows are damaged, with the error under "damage".
Json damaged_item(const InstanceId& id, const Error& error);

}  // namespace millrace
