// Recognises values of a context attribute that no valid event can have. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <string>

namespace millrace {

/// Why no event can have the attribute `name` with the value `text`; empty: an event can have it.
/// `name` is in lower case.
std::string why_never_equal(const std::string& name, const std::string& text);

/// Why no event can have a value of the attribute `name` that the pattern matches; empty: an event
/// can have one. `name` is in lower case.
std::string why_never_matches(const std::string& name, const std::string& pattern);

}  // namespace millrace
