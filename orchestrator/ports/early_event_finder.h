// EarlyEventFinder: the port to the search for early events in the event stream.
#pragma once

#include <functional>

#include "model/early_events.h"
#include "model/effect.h"

namespace millrace {

/// Searches the event stream beside the engine thread, and calls `done` once, on any thread; while
/// the broker cannot be reached, the search waits. Any thread; never blocks. After the end of the
/// process the next one asks again.
using EarlyEventFinder = std::function<void(LookBack asked, std::function<void(EarlyEvents)> done)>;

}  // namespace millrace
