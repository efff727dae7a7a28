// The loader: turns the text of a definition (YAML or JSON) into a Workflow, or reports all its
// errors in one pass. The loader is strict: a key that the grammar does not have is an error. The
// keys of a state type are read by the file of that type in states/. Pure; the caller's
// ProgramCheck checks jq programs that the fast lane does not accept.
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

/// Checks jq programs. Returns for each program its error, or nullopt if it is valid.
using ProgramCheck =
    std::function<std::vector<std::optional<Error>>(std::span<const std::string> programs)>;

/// Checks JSON Schemas. Returns for each schema its error, or nullopt if a jq worker can use it.
using SchemaCheck =
    std::function<std::vector<std::optional<Error>>(std::span<const std::string> schemas)>;

struct Loaded {
  std::shared_ptr<const Workflow> workflow;  ///< null if there are errors among the findings
  Findings findings;
};

/// Loads a definition. `check` receives up to 200 programs at a time. After 20 jq programs with
/// errors, all further jq programs stay unchecked, and the warning `jq.unchecked` says so. `check`
/// and `check_schemas` may be null for a text from the store, because the jq programs and schemas
/// of such a text were checked before it was stored.
Loaded load_workflow(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr);

/// Loads a definition that was parsed already. `findings` are the findings of the parser.
Loaded load_workflow(const Node& document, Findings findings, const ProgramCheck& check,
                     const SchemaCheck& check_schemas = nullptr);

/// Loads a text from the store, which was checked before it was stored. Error
/// `definition.findings`.
Result<std::shared_ptr<const Workflow>> load_stored(std::string_view text);

}  // namespace millrace
