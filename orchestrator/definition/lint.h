// Lint: warnings and notes about a definition that loads. Lint walks the document by the grammar,
// so lint covers new state types and keys without changes here. A warning is for text that probably
// does not do what its author meant, a note for a useful fact. The loader reports errors. To add a
// check, add a line to Linter::run. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "language/document.h"
#include "language/findings.h"
#include "orchestrator/definition/call_limits.h"
#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/definition/lint_events.h"
#include "orchestrator/definition/loader.h"

namespace millrace {

/// Facts for lint that are not in the definition. A field without a value means that lint does not
/// know the fact.
struct LintContext {
  /// The time from which the next ticks of schedules are computed.
  std::optional<TimePoint> now = std::nullopt;
  /// Whether the settings of the workflow's namespace name a service.
  NamesService names_service = nullptr;
  /// Whether workers take the tasks of a service.
  HasWorkers has_workers = nullptr;
  /// Whether nothing serves a service now.
  IsUnserved is_unserved = nullptr;
  /// Whether something in the workflow's namespace makes events of a type.
  MakesType makes_type = nullptr;
  /// How the other workflows of the namespace limit the calls of services.
  LimitsBeside limits_beside = nullptr;
  /// Whether the loader found no error. Otherwise lint skips checks such as those for unreachable
  /// states and unused functions, because a misspelt name elsewhere may cause the finding.
  bool loads = true;
};

/// Adds the findings for a document. Codes: `lint.…`.
void lint(const Node& document, Findings& findings, const LintContext& context = {});

/// Calls load_workflow() and lint(). If the loader reports errors, lint reports findings only at
/// places where the loader reports none.
Loaded load_and_lint(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr, const LintContext& context = {});

}  // namespace millrace
