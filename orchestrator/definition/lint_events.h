// Lint checks of the events that a definition waits for. Private to orchestrator/definition/. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Whether a source, an inbound webhook or a workflow of the namespace may make events of the type,
/// as far as their settings and definitions say. Empty if that is not known.
using MakesType = std::function<bool(std::string_view type)>;

/// Adds `lint.literal_type`, `lint.never_starts` for a `correlate` whose groups can never be
/// complete, `lint.group_unbounded`, and `lint.event_unknown` for types that nothing makes.
void lint_events(const Node& document, const MakesType& makes_type, Findings& findings);

}  // namespace millrace
