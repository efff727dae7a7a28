// The verbs `pause` and `resume` of a noun whose things have an id. One thread.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace millrace {

/// `of` is what is held, `example` an id, `id` the help of the argument. `control` is called with
/// the session, `pause` or `resume`, and the id.
void add_pausing(CommandLine& noun, const std::string& name, const std::string& of,
                 const std::string& example, const std::string& id,
                 Ended (*control)(Session&, const std::string& verb, const std::string& id));

}  // namespace millrace
