// What an event that is only tried would do: the part that `try` of a source and of an inbound
// webhook have in common. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"

namespace millrace {

/// What an event would do (WhyDesk::of_test_event).
using JudgeEvent = std::function<Result<Json>(std::string_view ns, Event event)>;

/// How long the mappings that one request tries may take together.
inline constexpr std::chrono::seconds kTryTime(5);

/// The lane of mappings that are tried: slow ones delay no source, no inbound webhook and no
/// workflow.
inline constexpr uint64_t kTriedMappings = std::numeric_limits<uint64_t>::max() - 1;

/// The error of a mapping that was not evaluated within kTryTime.
Result<Event> tried_too_long();

/// {"event"?: in the JSON format,"cut"?,"error"?:{"code","msg"},"would"?:[{"verdict","workflow",
/// "instance"?}],"duplicate"?,"similarTypes"?} (SourceDesk::try_messages). Errors: those of
/// `judge`.
Result<Json> tried_event(std::string_view ns, Result<Event> event, const JudgeEvent& judge);

}  // namespace millrace
