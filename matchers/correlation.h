// How eventsAnd and eventAnd put events together: which group an event belongs to, which entry it
// fills, and when all are filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attributes.h"

namespace millrace {

/// The group of an event: the canonical strings of these attributes (lower-case), in this order,
/// each as `length:bytes`, so that two keys are equal only if every value is. nullopt if the event
/// lacks one of them.
std::optional<std::string> correlation_key(const Attributes& event,
                                           const std::vector<std::string>& attributes);

/// Of the entries that an event matches (at least one, ascending), the one with the fewest events
/// waiting; the first among equals.
size_t choose_entry(std::span<const uint32_t> waiting_per_entry,
                    std::span<const size_t> matching_entries);

/// Whether every entry (there is at least one) has an event waiting.
bool is_complete(std::span<const uint32_t> waiting_per_entry);

}  // namespace millrace
