// What the store check leaves to others: how a definition is loaded, and which settings of a
// namespace are right.
#pragma once

#include "orchestrator/check/store_check.h"

namespace millrace {

/// For the stores of this program.
StoreCheckOptions store_check_options();

}  // namespace millrace
