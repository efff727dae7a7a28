// Timeouts: arms the timers of an instance, and applies the timers that fire and the passed
// deadlines of calls. Private to the engine.
#pragma once

#include <optional>

#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/engine/stimulus.h"
#include "policies/duration.h"

namespace millrace {

struct StepContext;

/// Adds the timer to the instance. While the instance is paused, a timer for which
/// waits_for_resume() is true is held and does not fire.
void arm(Instance& instance, const Timer& timer);
/// Adds a timer that is due after the span; does nothing without a span.
void arm(Instance& instance, TimerKind kind, const std::optional<Span>& span, TimePoint now);

/// Whether timers of that kind are held while the instance is paused.
bool waits_for_resume(TimerKind kind);

void apply(StepContext& step, const Fired& fired);
void apply(StepContext& step, const Overdue& overdue);

/// Fires the earliest passed timeout of the calls, the state and the instance, without continuing
/// the instance. Returns false if none has passed.
bool fire_overdue(StepContext& step);

/// Fires the timeouts that have passed, then returns whether the instance still waits for that
/// attempt of that call: a deadline that would have ended the call comes before any report of it.
/// If the instance no longer waits because of these timeouts, it is continued.
bool still_waits_for(StepContext& step, const Caller& call);

}  // namespace millrace
