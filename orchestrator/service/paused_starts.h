// The starts that wait for the throttle of their workflow and are paused: they have no row in its
// queue, so others begin before them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "model/sealing.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Those of one key of the throttle.
struct PausedStartsOfKey {
  std::string key;  ///< Throttled::key
  Sealing sealed;   ///< whether the key may contain data of a secret
  uint64_t count = 0;
};
/// By the fingerprint of the key, in the order of the rows of the keys.
using PausedStarts = std::map<Fingerprint, PausedStartsOfKey>;

/// Those of the workflow among its first paused instances: at most `looks` are looked at, from
/// which their number is subtracted. Damaged heads are passed over. Errors: those of the view.
Result<PausedStarts> paused_throttled_starts(const View& view, NamespaceNumber ns,
                                             WorkflowNumber workflow, size_t& looks);

}  // namespace millrace
