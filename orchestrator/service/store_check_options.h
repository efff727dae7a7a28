// The functions that the store check needs from this program: one that loads a definition, and one
// that checks the settings of a namespace.
#pragma once

#include "orchestrator/check/store_check.h"

namespace millrace {

/// The options to check a store of this program.
StoreCheckOptions store_check_options();

}  // namespace millrace
