// Recognises values of a context attribute that no valid event can have. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <string>

namespace millrace {

/// Why no event can have an attribute that equals the text; empty: an event can. `name` is in lower
/// case.
std::string why_never_equal(const std::string& name, const std::string& text);

/// Why no event can have an attribute that the pattern matches; empty: an event can. `name` is in
/// lower case.
std::string why_never_matches(const std::string& name, const std::string& pattern);

}  // namespace millrace
