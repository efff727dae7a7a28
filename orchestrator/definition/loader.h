// The loader: a definition's text (YAML or JSON) → a Workflow, or all that is wrong with it, in one
// pass. Strict: a key that the grammar does not have is a mistake. What a state type's own fields
// are is in its file in states/. Pure; jq programs that the fast lane does not take are checked by
// the function it is given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "language/document.h"
#include "language/findings.h"
#include "states/workflow.h"

namespace millrace {

/// Says for each program whether it is jq: nullopt, or what is wrong with it.
using ProgramCheck =
    std::function<std::vector<std::optional<Error>>(std::span<const std::string> programs)>;

/// The same for JSON Schemas: whether a worker can work with them.
using SchemaCheck =
    std::function<std::vector<std::optional<Error>>(std::span<const std::string> schemas)>;

struct Loaded {
  std::shared_ptr<const Workflow> workflow;  ///< null if there are errors among the findings
  Findings findings;
};

/// Programs are given to `check` up to 200 at a time and no more after 20 wrong ones; then a
/// warning `jq.unchecked` says so. The checks may be empty for a text whose programs and schemas
/// were checked before: one from the store.
Loaded load_workflow(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr);

/// The same for a text that was parsed, with what was found then.
Loaded load_workflow(const Node& document, Findings findings, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr);

/// Loads a text from the store, which was checked when it came there. Error `definition.findings`.
Result<std::shared_ptr<const Workflow>> load_stored(std::string_view text);

}  // namespace millrace
