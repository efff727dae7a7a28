// The names of container images that a definition may have. Pure.
#pragma once

#include <string_view>

#include "base/result.h"

namespace millrace {

/// Checks `[registry[:port]/]path[:tag][@algorithm:digest]`, at most 512 characters. The runtime
/// must not take the name as an option or as a place on this machine: `dir:x` and `oci:x` are
/// folders, `docker-archive:x` is a file, and `containers-storage:x` an image of the runtime. Error
/// kFunctionUnavailable says what to write.
Status check_image_name(std::string_view name);

}  // namespace millrace
