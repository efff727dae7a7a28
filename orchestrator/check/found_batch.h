// FoundBatch: a batch of starts, whose rows the check has found. Only for orchestrator/check.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/store/rows/pending_start_rows.h"

namespace millrace {

struct FoundBatch {
  PendingBatch batch;
  std::string key;      ///< of its row `pending-start/`
  uint64_t inputs = 0;  ///< the rows `pending-input/`
};

}  // namespace millrace
