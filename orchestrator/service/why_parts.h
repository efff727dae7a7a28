// What the answers of LocalWhyDesk about events and about instances share. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/judged_listener.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The instance with its input, data and calls. Error `instance.not_found`.
Result<Instance> whole_instance(const View& view, DefinitionCache& definitions, std::string_view ns,
                                NamespaceNumber number, const InstanceId& id);

/// {"id","type","source"}
Json json_of_event(const Event& event);

/// {"sequence","time"}
Json place_json(const StoredEvent& stored);

/// The text with its ASCII letters in lower case.
std::string in_small_letters(std::string_view text);

/// Notes the effects that concern no listener in particular.
void note_effects_of_all(const std::vector<EventEffect>& effects, EventStanding& standing);

}  // namespace millrace
