// The dead letter that an event became. Any thread; waits for the broker.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/ports/stored_letters.h"

namespace millrace {

/// {"id","reason","detail"} as in letter_item(); null: it is not among the newest 1 000 dead
/// letters of the namespace, or they could not be read within half a second. Errors: those of
/// StoredLetters.
Result<Json> letter_of_event(StoredLetters& letters, const Clock& clock, const StoredEvent& event);

}  // namespace millrace
