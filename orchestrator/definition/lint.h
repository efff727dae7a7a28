// Lint: what is doubtful about a definition that loads. It works on the text's tree by the grammar,
// so that a new state type or key is looked at without being named here. Warnings are for what
// hardly does what was meant, notes for what is worth knowing; what is an error the loader says.
// A new check is one more line in Linter::run. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "model/document.h"
#include "model/findings.h"
#include "orchestrator/definition/loader.h"

namespace millrace {

/// Adds the findings on a document that the loader takes. Codes: `lint.…`. With a time a schedule's
/// next ticks are told.
void lint(const Node& document, Findings& findings, std::optional<TimePoint> now = std::nullopt);

/// load_workflow, and lint where that finds no error.
Loaded load_and_lint(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr,
                     std::optional<TimePoint> now = std::nullopt);

}  // namespace millrace
