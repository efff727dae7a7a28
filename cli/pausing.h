// Adds the verbs `pause` and `resume` to a noun. For one thread only.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace millrace {

/// Adds `pause ID` and `resume ID` to the noun `name`. For the help: `of` names the object that is
/// paused (`the calls of a service`), `example` is an id, and `id` describes the argument.
/// `control` is called with the session, `pause` or `resume`, and the id.
void add_pausing(CommandLine& noun, const std::string& name, const std::string& of,
                 const std::string& example, const std::string& id,
                 Ended (*control)(Session&, const std::string& verb, const std::string& id));

}  // namespace millrace
