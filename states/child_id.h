// The id of the child instance or task that executes an attempt of a call.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// Makes the id from the call and from the time at which the attempt starts, so that the same
/// inputs make the same ids, on every machine. The time and the index come first, so that ids sort
/// by time and index; 62 bits of a fingerprint follow. This id alone identifies the result of a
/// task, so the fingerprint is keyed (Lookup::id_key), and the ids of other tasks cannot be
/// guessed. With an empty key the fingerprint is not keyed.
InstanceId child_id(std::string_view key, const Caller& caller, TimePoint now);

}  // namespace millrace
