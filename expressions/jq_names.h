// Checks whether the names in a jq program exist, as far as its tokens show that. Only libjq can
// check the names of every jq program, but a compile takes 18 ms or more; this check makes the
// compile unnecessary for most programs.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace millrace {

/// A set of functions, each as `name/arity`.
using JqFunctions = std::set<std::string, std::less<>>;

/// True if every function that the jq program calls is in `functions`, and every variable is bound
/// by an `as $name |` before it, within the same brackets or outside of them, or is the `$instance`
/// that millrace binds (instance_name.h). False means that the
/// names are not surely known to exist, which is the result for every jq program with functions of
/// its own, destructuring, `reduce`, `foreach`, `label`, `catch`, comments or interpolated strings.
/// Precondition: the jq program is valid by jq's grammar.
bool names_surely_exist(std::string_view program, const JqFunctions& functions);

}  // namespace millrace
