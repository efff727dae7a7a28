// How many file descriptors this process may have.
#pragma once

#include "base/result.h"

namespace millrace {

/// What a server needs at least: for its store, the broker, jq workers and connections of clients.
inline constexpr unsigned kLeastDescriptors = 256;
/// The limit is raised no further: programs that functions start inherit it, and some walk all of
/// it.
inline constexpr unsigned kMostDescriptors = 65'536;

/// Raises this process's limit of open files as far as the system allows, up to kMostDescriptors.
/// Errors: `system.descriptors` where it stays below kLeastDescriptors.
Status raise_descriptor_limit();

}  // namespace millrace
