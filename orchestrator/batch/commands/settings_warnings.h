// What is valid in the settings of a namespace and does not do what it seems to. Pure.
#pragma once

#include "base/json.h"

namespace millrace {

/// `[{"path", "message"}]` for settings that parse_settings() takes: durations without a unit,
/// codes that millrace does not raise, and types of webhooks that no event has. Each message says
/// what to write instead.
Json settings_warnings(const Json& settings);

}  // namespace millrace
