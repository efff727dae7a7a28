// What must hold for each event that a decoder accepts, for the fuzz targets that decode events.
#pragma once

#include "base/attributes.h"
#include "base/event.h"

namespace millrace::fuzz {

/// CHECKs that the event conforms to the rules for events, that its JSON form and its binary forms
/// decode to the same event, and that its attributes are those that matching sees.
void check_decoded(const Event& event);

/// CHECKs that `attributes`, which the fast path has read, are those of `event`, which a decoder
/// has read from the same bytes.
void check_same_attributes(const Attributes& attributes, const Event& event);

}  // namespace millrace::fuzz
