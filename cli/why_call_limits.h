// What the answer of `instance why` says of calls that wait for slots and throttles, and of what
// holds slots, as text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "cli/why_text.h"

namespace millrace {

/// The calls that wait for a slot or the throttle of their service; empty: none does.
std::string waiting_call_lines(const Json& instance, const WhyTextOptions& options);

/// `1 start waits`, `3 calls wait`
std::string those_that_wait(const Json& limit, std::string_view noun);

/// Why one that holds a slot does not end by itself; empty: nothing is known.
std::string hindrance_of_holder(const Json& holder);

/// The command that resumes the first holder that is paused; empty: none of them is.
std::string resume_of_holder(const Json& holders, const WhyTextOptions& options);

}  // namespace millrace
