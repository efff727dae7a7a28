// Warnings about settings of a namespace that are valid but probably not meant. Pure.
#pragma once

#include "base/json.h"

namespace millrace {

/// Returns `[{"path", "message"}]` for settings that parse_settings() accepts: durations without a
/// unit, error codes that millrace does not raise, and webhook types that no event has. Each
/// message has a correction.
Json settings_warnings(const Json& settings);

}  // namespace millrace
