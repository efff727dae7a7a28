// The answers of `event why`, `event try` and `instance why` as text for people: what was asked for
// and what the event has side by side, the probable mistake, and what to do. Pure.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

struct WhyTextOptions {
  std::string ns = "default";  ///< for the commands that the text names
  /// Show all misses whole; otherwise only the nearest three are, and each other one is a line.
  bool shows_all = false;
  /// Of an instance: the events are those of a window of time, not the newest ones.
  bool has_window = false;
  std::string since;  ///< the begin of that window, as a time; empty: it has none
};

/// The answer about an event: which listeners were near.
std::string why_of_event_text(const Json& answer, const WhyTextOptions& options = {});

/// The answer about an instance: which events were near.
std::string why_of_instance_text(const Json& answer, const WhyTextOptions& options = {});

}  // namespace millrace
