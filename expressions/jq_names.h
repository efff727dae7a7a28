// Whether the names that a jq program uses exist, as far as that is plain from its tokens. libjq
// finds it out for certain, but at 18 ms a compile and more: this spares most programs that.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace millrace {

/// Functions as `name/arity`.
using JqFunctions = std::set<std::string, std::less<>>;

/// Of a program that jq's grammar takes: true if every function that it calls is among these, and
/// every variable is bound by an `as $name |` before it, within the same brackets or outside of
/// them. False says nothing: of programs with functions of their own, destructuring, `reduce`,
/// `foreach`, `label`, `catch`, comments or interpolated strings nothing is said.
bool names_surely_exist(std::string_view program, const JqFunctions& functions);

}  // namespace millrace
