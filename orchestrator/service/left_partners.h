// Left partners: an event that would have completed a group of an eventsAnd start together with the
// event that is judged, and whose lifespan ended before. Any thread.
#pragma once

#include "base/result.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/judged_listener.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Looks for the left partner of an event of the stream, and sets `one.left_partner` if there is
/// one; `one.partners` says what it is. Looks at the effects of the 1 000 messages before the event
/// and the 1 000 after it, and reads the nearest eight events that left a group of the workflow. An
/// event that the broker does not give is passed over. Errors: those of the store.
Status add_left_partner(const View& view, StoredEvents& events, const EventStanding& standing,
                        JudgedListener& one);

}  // namespace millrace
