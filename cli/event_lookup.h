// Finds a stored event by what a user names it: its sequence, or its id. For one thread only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/session.h"

namespace millrace {

/// The answer of a call about one stored event. `named` is the sequence of the event; if it is no
/// number, or no event has this sequence, it is the id of one of the newest 5 000 events of the
/// namespace. Calls `ask` with the sequence. Fails as `ask` does; exit kNotFound: no such event has
/// the id; exit kFailed: several have it, which the message lists.
Fallible<Reply> ask_about_event(
    Session& session, const std::string& named,
    const std::function<Fallible<Reply>(const std::string& sequence)>& ask);

}  // namespace millrace
