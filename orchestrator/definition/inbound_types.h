// The event types that inbound files make, for the lint of the workflows that are applied together
// with them: the server knows these types only afterwards. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "language/findings.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/definition/made_types.h"

namespace millrace {

/// The code of the finding about an event type that nothing in the namespace makes.
inline constexpr std::string_view kUnknownEventType = "lint.event_unknown";

/// Adds the types that the mappings of the entries make.
void add_made_types(const std::vector<InboundEntry>& entries, MadeTypes& made);

/// The places (Finding::path) at which the definition listens for a type that `made` may make.
/// Empty if the text does not parse.
std::set<std::string, std::less<>> places_of_made_types(std::string_view definition,
                                                        const MadeTypes& made);

/// The findings of the definition without the findings kUnknownEventType about types that `made`
/// may make. They stay as they are if some were only counted.
Findings without_made_types(const Findings& findings, std::string_view definition,
                            const MadeTypes& made);

}  // namespace millrace
