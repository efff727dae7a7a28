// What lint knows of the `key` of a limit and of a `priority`, of starts and of calls. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "expressions/template.h"
#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// The value of a `key` of calls or of a `priority`, as the loader reads it: a bare text is itself
/// a jq program. Its errors are the loader's.
Result<Template> limit_query(const Node& value);

/// Whether a part of the value may depend on the input; true if the loader has refused the value.
bool may_read_input(const Result<Template>& value);

/// The first keys that the value reads; nullopt if it may read all of its input, reads none, or the
/// loader has refused it.
std::optional<std::set<std::string>> members_of_input(const Result<Template>& value);

/// Whether the priority is no integer if all members that it reads are missing.
bool needs_members(const Result<Template>& priority);

/// The step of a jq path to a member: `.customer` or `["cart.left"]`.
std::string step_to(std::string_view member);

/// The jq path from the input to a member: `.customer` or `.["cart.left"]`.
std::string path_to(std::string_view member);

/// A jq program as a value that can be written after a key in YAML: `'jq(.["a"].b)'`.
std::string as_value(std::string_view program);

/// Warns of a `priority` of `owner` that is no integer for any input. `outcome` says what follows:
/// `each start is refused`.
void warn_no_integer(const Node& owner, const std::string& path, std::string_view outcome,
                     Findings& findings);

/// Warns of a `priority` of `owner` that is no integer if the member which it reads is missing: a
/// path, which is null then, or one with an alternative that is no integer. `outcome` as above:
/// `the start is refused`.
void warn_no_alternative(const Node& owner, const std::string& path, std::string_view outcome,
                         Findings& findings);

}  // namespace millrace
