// Why probes: the values by which the wait index is asked for listeners that an event nearly
// matches, so that a near miss is found however many instances wait. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "matchers/listener_index.h"
#include "orchestrator/service/why_desk.h"
#include "orchestrator/why/judged_event.h"

namespace millrace {

/// The most probes of one answer, of these the most typos of one value, and the longest value of a
/// probe, in bytes.
inline constexpr size_t kMostProbes = 128;
inline constexpr size_t kMostTypos = 32;
inline constexpr size_t kMostOfAProbe = 256;

/// The value that the filter names; and for each attribute of the event, and each member of its
/// data whose name an attribute may have, the value as it is, in lower case, in upper case, without
/// white space at the ends and without leading zeros; then, for the subject and each extension
/// attribute, values that differ from it in a typo. Each probe occurs once.
std::vector<ListenerIndex::Probe> probes_of(const JudgedEvent& event, const WhyFilter& filter);

/// The value as it is, in lower case, in upper case, without white space at the ends, and without
/// leading zeros if it has some.
std::vector<std::string> variants_of(std::string_view value);

}  // namespace millrace
