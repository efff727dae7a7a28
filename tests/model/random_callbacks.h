// Random callbacks: services that accept their tasks, and answer them later.
#pragma once

#include "tests/model/case.h"
#include "tests/model/random.h"

namespace millrace::reference {

// Gives some actions a heartbeat timeout.
void add_heartbeats(Random& r, Definition& d);

// Changes a step of a worker into one of a service that answers by callbacks.
void add_callback(Random& r, Step& step);

}  // namespace millrace::reference
