// Messages of other programs that are CloudEvents already: they stay what they are, and are not
// mapped. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/limits.h"

namespace millrace {

/// The event in a message of NATS or HTTP that is a CloudEvent: in structured mode by its content
/// type, in binary mode by a header that begins with `ce-`, or as a JSON object with the members
/// `specversion`, `id`, `source` and `type`, if the content type is JSON or missing. nullopt: it is
/// no CloudEvent. Errors `event.*`: it is one, and not valid, or a batch.
std::optional<Result<Event>> carried_event(const Headers& headers, std::string_view body,
                                           const EventLimits& limits = {});

}  // namespace millrace
