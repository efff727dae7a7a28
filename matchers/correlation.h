// How eventsAnd and eventAnd combine events: the group that an event belongs to, the entry that it
// fills, and whether all entries are filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attributes.h"

namespace millrace {

/// The key of an event's group: the canonical strings of these attributes (lower-case names), in
/// this order, each as `length:bytes`, so that two keys are equal only if all values are equal.
/// nullopt if the event lacks one of the attributes.
std::optional<std::string> correlation_key(const Attributes& event,
                                           const std::vector<std::string>& attributes);

/// The entry that an event fills: of the entries that it matches, the one with the fewest waiting
/// events; if several entries have equally few, the first of them. Precondition: `matching_entries`
/// is ascending and not empty.
size_t choose_entry(std::span<const uint32_t> waiting_per_entry,
                    std::span<const size_t> matching_entries);

/// Whether every entry has a waiting event. Precondition: there is at least one entry.
bool is_complete(std::span<const uint32_t> waiting_per_entry);

}  // namespace millrace
