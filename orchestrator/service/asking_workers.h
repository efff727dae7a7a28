// Asking workers: how many requests for tasks of each service the broker has from workers that have
// nothing to do. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

/// How many requests for tasks of a subject are open. May wait for the broker, at most that long.
using CountRequests = std::function<Result<uint64_t>(const std::string& subject, Duration at_most)>;

/// Adds "asking" to those of the services (Queries::functions) whose tasks workers pull. Asks for
/// 100 services and half a second at most, and no further after an error: the services behind lack
/// the member.
void add_asking(Json& services, const Clock& clock, const CountRequests& count);

}  // namespace millrace
