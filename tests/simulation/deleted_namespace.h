// Definitions of a namespace that a test deletes, and the keys of the rows in the store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kCallsAndGoesOn = R"(
id: calls
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, async: true, action: {function: charge}}
)";

inline constexpr const char* kWaitsInDeleted = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

inline std::string job(std::string_view id, std::string_view more = "") {
  return fmt::format("id: {}\nstates:\n- {{id: done, type: noop}}\n{}", id, more);
}

/// The keys of all rows except counters, messages and fingerprints.
inline std::vector<std::string> keys(const World& world) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : world.rows()) {
    const std::string table = key.substr(0, key.find('/'));
    const bool is_state =
        table != "outbox" && table != "sent" && table != "dedupe" && table != "effects";
    if (is_state &&
        (table != "meta" || key.starts_with("meta/purge/") || key.starts_with("meta/retired/"))) {
      keys.push_back(key);
    }
  }
  return keys;
}

inline bool is_purging(const World& world) {
  const auto rows = world.rows();
  const auto first = rows.lower_bound("meta/purge/");
  return first != rows.end() && first->first.starts_with("meta/purge/");
}

}  // namespace millrace
