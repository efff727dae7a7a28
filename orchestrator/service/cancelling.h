// What an answer shows of an instance that is being cancelled and waits for its running tasks. Any
// thread.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Adds {"cancelling":{"tasks","since"?}}: how many running tasks must end before the instance ends
/// as cancelled, and when the cancel came, if the newest rows of its history say that; nothing if
/// the instance is not being cancelled. `instance` has its calls. Errors: those of the view.
Status add_cancelling(const View& view, const Instance& instance, Json& item);

}  // namespace millrace
