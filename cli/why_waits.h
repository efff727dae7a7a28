// What an instance waits for besides events, as text: the end of a delay, attempts and calls. Pure.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {

/// The items of `waits` that are events.
Json awaited_events(const Json& instance);

/// The other items of `waits`, each as a line, with the commands that show more or that answer a
/// call; and how many other calls have not ended. Empty: the instance waits for none.
std::string other_wait_lines(const Json& instance, const WhyTextOptions& options);

/// An item of `waits` of a list that is not an event, in a few words: `call approve`, `subflow
/// reminders, retrying`, `12 calls of ship`, `delay until 2026-09-01T12:00:00.000Z`.
std::string short_wait(const Json& wait);

}  // namespace millrace
