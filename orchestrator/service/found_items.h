// Joins what a text names: in the store, among the events of the event stream, and among the dead
// letters. Pure.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/service/local_letter_desk.h"

namespace millrace {

/// The most items of an answer, and the most of them that are events with an id.
inline constexpr size_t kMostFound = 20;
inline constexpr size_t kMostFoundEvents = 2;

/// Adds the events and the dead letters to `found`, which is the answer of Queries::find().
/// `events` is that of EventDesk::list(). If the broker did not answer, only the items of the store
/// are found, and the answer is not complete.
Result<Json> join_found(Json found, const Result<Json>& events, Result<FoundLetters> letters);

}  // namespace millrace
