// Timeouts: which timers an instance is given, and what it does when one of them, or a deadline of
// one of its calls, has passed. Private to the engine.
#pragma once

#include <optional>

#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/engine/stimulus.h"
#include "policies/duration.h"

namespace millrace {

struct StepContext;

/// Gives the instance the timer. While it is paused, timers of its step are held and do not count.
void arm(Instance& instance, const Timer& timer);
/// Gives it a timer that is due when the span is over; nothing without a span.
void arm(Instance& instance, TimerKind kind, const std::optional<Span>& span, TimePoint now);

/// Whether a timer of that kind does not count while the instance is paused.
bool waits_for_resume(TimerKind kind);

void apply(StepContext& step, const Fired& fired);
void apply(StepContext& step, const Overdue& overdue);

/// Fires the timeout that passed first, of those of the calls, of the state and of the whole, but
/// does not go on from there. False: none has passed.
bool fire_overdue(StepContext& step);

/// Whether the instance waits for that attempt of that call once the timeouts that have passed have
/// fired: a deadline that would have ended the call comes before any report of it. If they have
/// changed the instance so that it does not, it goes on.
bool still_waits_for(StepContext& step, const Caller& call);

}  // namespace millrace
