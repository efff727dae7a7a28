// The extension attributes that millrace adds to events. They do not count for the limit of
// attributes of an event, so that an event which is accepted can also be passed on and replayed.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace millrace {

/// The number of generated events before the event in its chain (model/hops.h).
inline constexpr std::string_view kHopsAttribute = "millracehops";
/// What alone may take a replayed event (model/event_target.h).
inline constexpr std::string_view kTargetAttribute = "millraceonly";
/// The id of the event that the event replays.
inline constexpr std::string_view kReplayAttribute = "replayof";

/// Whether it is one of the attributes above.
inline bool is_own_attribute(std::string_view name) {
  constexpr std::array kOwn = {kHopsAttribute, kTargetAttribute, kReplayAttribute};
  return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
}

}  // namespace millrace
