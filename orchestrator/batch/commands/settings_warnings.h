// Warnings about settings of a namespace that are valid but probably not meant. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"

namespace millrace {

/// Returns `[{"path", "message"}]` for settings that parse_settings() accepts: durations without a
/// unit, error codes that millrace does not raise, webhook types that no event has, rules of
/// retention for a workflow that does not exist or with different `bytes`, and an archive without a
/// rule that deletes. Each message has a correction. `has_workflow`: whether the namespace has a
/// workflow with that id.
Json settings_warnings(const Json& settings,
                       const std::function<bool(std::string_view id)>& has_workflow);

}  // namespace millrace
