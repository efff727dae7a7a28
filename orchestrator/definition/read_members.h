// The members of its input that a value of a definition reads, for lint. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "expressions/template.h"

namespace millrace {

/// The first keys of the paths that the jq programs of the value read: for `[jq(.a.b), jq(.["c"])]`
/// they are `a` and `c`. Empty: the value reads nothing. nullopt: it may read its whole input, or a
/// jq worker has to run one of its programs.
std::optional<std::set<std::string>> members_read(const Template& value);

}  // namespace millrace
