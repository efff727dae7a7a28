// Joins what a text names: in the store, among the events of the event stream, and among the dead
// letters. find_events() waits for the broker; the other functions are pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/service/local_letter_desk.h"

namespace millrace {

/// The most items of an answer, and the most of them that are events with an id.
inline constexpr size_t kMostFound = 20;
inline constexpr size_t kMostFoundEvents = 2;

/// The events of the namespace that the text names by their sequence or their id, as
/// EventDesk::list() shows them. Errors: those of EventDesk::list().
Result<Json> find_events(EventDesk& desk, std::string_view ns, std::string_view text);

/// Adds the events and the dead letters to `found`, which is the answer of Queries::find().
/// `events` is that of find_events(). If the broker did not answer, only the items of the store are
/// found, the answer is not complete, and "notRead":{"code","msg"} has the error of the broker.
Result<Json> join_found(Json found, const Result<Json>& events, Result<FoundLetters> letters);

}  // namespace millrace
