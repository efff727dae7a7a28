// The limit of open file descriptors of this process (RLIMIT_NOFILE).
#pragma once

#include "base/result.h"

namespace millrace {

/// The smallest limit that a server accepts: it needs descriptors for its store, the broker, jq
/// workers and connections of clients.
inline constexpr unsigned kLeastDescriptors = 256;
/// The largest limit that raise_descriptor_limit() sets. Programs that functions start inherit the
/// limit, and some of these programs loop over all descriptors up to the limit.
inline constexpr unsigned kMostDescriptors = 65'536;

/// Raises this process's limit of open files as far as the system allows, up to kMostDescriptors.
/// Error `system.descriptors`: the system allows fewer than kLeastDescriptors, or the limit cannot
/// be read or set.
Status raise_descriptor_limit();

}  // namespace millrace
