// Synthetic stores of older formats, for tests of the migration. dumped_store.h has stores that
// programs of their formats wrote.
#pragma once

#include <cstdint>

#include "orchestrator/store/transaction.h"

namespace millrace {

/// The formats that make_older() can make.
inline constexpr uint64_t kOlderFormats[] = {1, 2, 3, 4, 5};

/// Turns the rows of a store of the current format into those of an older format. The caller
/// commits. The instances may have started, waited, been woken and completed. They must not use
/// what the older formats do not have: calls, retries, failed data, trimmed histories.
void make_older(Transaction& tx, uint64_t format);

}  // namespace millrace
