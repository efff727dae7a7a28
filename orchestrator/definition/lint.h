// Lint: what is doubtful about a definition that loads. It works on the text's tree by the grammar,
// so that a new state type or key is looked at without being named here. Warnings are for what
// hardly does what was meant, notes for what is worth knowing; what is an error the loader says.
// A new check is one more line in Linter::run. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "language/document.h"
#include "language/findings.h"
#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/definition/loader.h"

namespace millrace {

/// What lint knows beside the definition; what is absent is not known.
struct LintContext {
  /// Schedules show their next ticks from here on.
  std::optional<TimePoint> now = std::nullopt;
  /// Whether the settings of the workflow's namespace name a service.
  NamesService names_service = nullptr;
  /// Whether the loader has found no error. Else what follows from a name that is misspelt
  /// elsewhere (a state that nothing leads to, a function that nothing calls) is not looked for.
  bool loads = true;
};

/// Adds the findings on a document. Codes: `lint.…`.
void lint(const Node& document, Findings& findings, const LintContext& context = {});

/// load_workflow and lint. Beside errors lint reports what it finds in other places.
Loaded load_and_lint(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr, const LintContext& context = {});

}  // namespace millrace
