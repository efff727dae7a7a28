// Which services nothing serves, for the lint of a definition that calls them. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/asking_workers.h"

namespace millrace {

/// A service of the namespace `ns`, or with `global` of `default`, is not served if the settings do
/// not name it and no worker asks for the tasks of its default queue. The function may wait for the
/// broker: for 20 services and half a second in all, and no further after an error; the services
/// behind count as served. It is for one thread; `clock` outlives it. Null if `names_service` or
/// `count` is null.
IsUnserved unserved_check(NamesService names_service, std::string_view ns, const Clock& clock,
                          CountRequests count);

}  // namespace millrace
