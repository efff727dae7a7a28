// The event with which a stored event is replayed. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/json.h"
#include "base/own_attributes.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The event with these context attributes, which are set or replaced: extension attributes,
/// `type`, `source` and `subject`. Errors: `event.attribute_name` (another attribute, or no name of
/// one), `event.attribute_value` (`type`, `source` or `subject` is no text), and those of
/// check_event().
Result<Event> corrected(const Event& original,
                        const std::map<std::string, AttributeValue>& attributes);

/// The event to publish. An empty `id` leaves the event under its own id, without kReplayAttribute.
/// `target` is the text of kTargetAttribute (model/event_target.h); empty: none. Error
/// `event.too_large`: with its new attributes the event is too large.
Result<Event> replay_of(const Event& original, const std::string& id, const std::string& target);

/// The text of kTargetAttribute for the target in that namespace; empty: no target. Errors:
/// `workflow.not_found`, `instance.not_found`, `instance.ended`; `event.target` (a workflow and an
/// instance).
Result<std::string> target_text(const View& view, NamespaceNumber ns, std::string_view name,
                                const ReplayTarget& target);

/// The target with that text of kTargetAttribute, as a client names it: {"workflow": id} or
/// {"instance": id}. A workflow that was deleted has its number in place of its id.
Result<Json> shown_target(const View& view, NamespaceNumber ns, std::string_view target);

/// Why nothing can take an event with that text of kTargetAttribute any more: an error
/// `workflow.not_found`, `instance.not_found` or `instance.ended`; nullopt: the target exists, or
/// the text is empty. The errors of the result are those of the store.
Result<std::optional<Error>> lost_target(const View& view, NamespaceNumber ns,
                                         std::string_view target);

/// Whether the id of the event is known, so that the event would be a duplicate: it had an effect
/// within the deduplication window, or it is a kept event. Reads all remembered ids.
Result<bool> is_known(const View& view, std::string_view ns, const Event& event);

}  // namespace millrace
