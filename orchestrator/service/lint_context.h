// What lint knows of the namespace of a definition. Any thread.
#pragma once

#include <string_view>

#include "orchestrator/definition/lint.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The services in the current settings of the namespace; and, if a source or an inbound webhook of
/// it has a mapping, the event types that something in the namespace makes; and, read when lint
/// asks for them, the limits of the calls of its workflows. What cannot be read is not known, so
/// that lint does not guess. The arguments outlive the result.
LintContext lint_context(Environment& environment, DefinitionCache& definitions,
                         std::string_view ns);

}  // namespace millrace
