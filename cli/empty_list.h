// What a verb says about a list without items. For one thread only.
#pragma once

#include <string_view>

#include "base/json.h"
#include "cli/client.h"
#include "cli/session.h"

namespace millrace {

/// Says on standard error, if the format is table, that the list which `call` returned has no
/// items: `no services in namespace shop`. `items`: what the list has. Adds which other namespaces
/// have some; if none has, that there are some without the conditions in the query of the call, or
/// how to make the first one.
void explain_empty_list(Session& session, const ApiCall& call, std::string_view items);

/// Says the same about the last page of a list, before which there are others; adds nothing.
void explain_empty_rest(Session& session, const ApiCall& call, std::string_view items);

/// Says on standard error which event has the values that were asked for apart from upper and lower
/// case, and which options find it. `found`: {"sequence","attributes":{…}}, the values that differ.
void explain_other_case(Session& session, const Json& found);

}  // namespace millrace
