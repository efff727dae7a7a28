// Times that a definition writes with jq or as `until`: how they are written, and what the
// reference model reads from them. See docs/language.md, "Durations and times from the data".
#pragma once

#include <optional>
#include <string>

#include "tests/model/case.h"
#include "tests/model/policies.h"

namespace millrace::reference {

// The end of a wait. One of both has a value.
struct WrittenTime {
  std::optional<Ms> span;   // counts from the entry into the state
  std::optional<Ms> until;  // counted as `Ms` is
};

// The value of `duration` of a delay, or of `timeout` of another state, at an entry into the state;
// `time` is the constant of the definition. nullopt: the value is not possible there.
std::optional<WrittenTime> read_time(const State& state, Ms time, const Json& data, int attempt,
                                     int run);

// The policy with the delay that its program yields after this failure. nullopt: the value is not a
// duration.
std::optional<Policy> with_delay(Policy policy, const Json& data, const Error& error);

// The line of that time in a definition: `  timeout: 5000ms`.
std::string time_line(const State& state, const std::string& key, Ms time);

// The value of the delay of a policy: `500ms`, or a text with jq in quotation marks.
std::string delay_text(const Retry& retry);

}  // namespace millrace::reference
