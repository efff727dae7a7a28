// Head fields: encodes and decodes the fields of a head that have several parts (head_rows.h). A
// field with a value that no release writes fails its Reader. Pure functions. Only for
// orchestrator/store/rows.
#pragma once

#include <vector>

#include "base/codec.h"
#include "model/instance.h"
#include "orchestrator/store/rows/fields.h"

namespace millrace::rows {

void put_listener(Writer& writer, const Listener& listener);
Listener get_listener(Reader& reader);

void put_timers(Writer& writer, const std::vector<Timer>& timers);
/// `last` is the highest kind that a timer of the record may have.
std::vector<Timer> get_timers(Reader& reader, TimerKind last);

/// What put_taken() has written of an instance that has consumed an event at least.
ConsumedEvents get_consumed(Reader& reader);

/// A duration, of at most 100 years.
void put_span(Writer& writer, const Span& span);
Span get_span(Reader& reader);

/// The fields of an instance that belong to its compensations.
void put_compensations(Writer& writer, const Instance& instance);
void get_compensations(Reader& reader, Instance& instance);

void put_slot(Writer& writer, const Slot& slot);
Slot get_slot(Reader& reader);

void put_throttled(Writer& writer, const Throttled& throttled);
Throttled get_throttled(Reader& reader);

}  // namespace millrace::rows
