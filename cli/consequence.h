// What the texts of the command line say of the consequence of a timer. Pure.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

/// What follows, by the members `causes`, `then`, `error`, `ends`, `compensates` and `caller` of
/// the item: `late`, `another attempt of wait`, `fails with direktiv.stateTimeout; its caller calls
/// again`. Empty: the item does not say it.
std::string consequence_text(const Json& item);

}  // namespace millrace
