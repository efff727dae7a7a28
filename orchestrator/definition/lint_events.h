// Lint checks of the events that a definition waits for. Private to orchestrator/definition/. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "language/document.h"
#include "language/findings.h"
#include "language/walk.h"
#include "orchestrator/definition/made_types.h"

namespace millrace {

/// Whether a source, an inbound webhook or a workflow of the namespace may make events of the type,
/// as far as their settings and definitions say. Empty if that is not known.
using MakesType = std::function<bool(std::string_view type)>;

/// Calls `visit` for each place at which the definition names a type of events that it starts on or
/// waits for.
void each_awaited_type(const Node& document, const std::function<void(const Place&)>& visit);

/// Adds the types of the events that the definition generates.
void add_generated_types(const Node& document, MadeTypes& made);

/// Adds `lint.event_unknown` for each type for which the definition listens, and of which neither
/// `makes_type` nor the definition itself makes events. Other programs may publish them, so this is
/// no error. `where`: what `makes_type` looks at, for the message, such as `the namespace`.
void lint_makers(const Node& document, const MakesType& makes_type, std::string_view where,
                 Findings& findings);

/// Adds `lint.literal_type`, `lint.never_starts` for a `correlate` whose groups can never be
/// complete, `lint.group_unbounded`, and `lint.event_unknown` for types that nothing makes.
void lint_events(const Node& document, const MakesType& makes_type, Findings& findings);

}  // namespace millrace
