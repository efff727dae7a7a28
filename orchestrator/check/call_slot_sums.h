// CallSlotSums: the counts of the slots of calls, and how many rows of their tasks the store check
// found.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "orchestrator/store/rows/call_slot_rows.h"

namespace millrace {

struct CallSlotSums {
  struct Sum {
    uint64_t held = 0;
    uint64_t queued = 0;
    uint64_t paused = 0;

    bool operator==(const Sum&) const = default;
  };
  std::map<CallSlotKey, Sum> counted;
  std::map<CallSlotKey, Sum> found;
  std::set<CallSlotKey> unreadable;  ///< the keys whose row of counts has a finding
};

}  // namespace millrace
