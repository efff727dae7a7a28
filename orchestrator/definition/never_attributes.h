// Which values of a context attribute no event can have, whatever is published. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <string>

namespace millrace {

/// Why no event has an attribute that equals the text; empty: one may. `name` is in lower case.
std::string why_never_equal(const std::string& name, const std::string& text);

/// Why no event has an attribute that the pattern matches; empty: one may. `name` is in lower case.
std::string why_never_matches(const std::string& name, const std::string& pattern);

}  // namespace millrace
