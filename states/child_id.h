// The id of what runs an attempt of a call: the child instance, or the task.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// Made of the call and of when the attempt begins, so that the same inputs make the same
/// instances. The time and the index come first, for keys in order, then 62 bits of a fingerprint.
/// The answer to a task is known by this id alone, so the fingerprint is keyed (Lookup::id_key) and
/// the ids of other tasks cannot be guessed; an empty key leaves it unkeyed. The same on every
/// machine.
InstanceId child_id(std::string_view key, const Caller& caller, TimePoint now);

}  // namespace millrace
