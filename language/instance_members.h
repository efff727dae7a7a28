// The members of `$instance`, the variable by which jq programs name the instance that they run
// for. `explain` prints this table, and lint holds programs against it; states/instance_value.h
// makes the value. docs/language.md describes the members. Pure.
#pragma once

#include <array>
#include <string_view>

namespace millrace {

struct InstanceMember {
  std::string_view name;
  std::string_view meaning;  ///< a sentence without its period
};

inline constexpr std::array<InstanceMember, 11> kInstanceMembers = {{
    {"id", "the id of the instance"},
    {"namespace", "the name of its namespace"},
    {"workflow", "the id of its workflow"},
    {"revision", "the number of the revision that it runs"},
    {"run", "the number of its run, from 1"},
    {"state", "the id of the current state"},
    {"attempt", "the number of the attempt of this state, from 1"},
    {"startedAt", "when the instance was started, as RFC 3339"},
    {"key", "the idempotency key of the call that started it; null without one"},
    {"parent", "the id of the instance that waits for this subflow; null if none waits"},
    {"event",
     "the attributes of the event that started it, for an eventsAnd start an array of them; null "
     "without one"},
}};

}  // namespace millrace
