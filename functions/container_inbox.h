// ContainerInbox: what other threads say to the thread of the containers.
#pragma once

#include <cstdint>
#include <variant>

#include "model/task.h"
#include "orchestrator/ports/task_runner.h"
#include "os/mailbox.h"

namespace millrace {

/// A task, and which run of it: what comes late for one that was stopped and run again is not its.
struct Ticket {
  InstanceId task;
  uint64_t number = 0;
};

struct RunTask {
  Task task;
};
struct StopContainerTask {
  InstanceId task;
};
/// The container of a call has sent something.
struct CallAlive {
  Ticket ticket;
};
struct CallDone {
  Ticket ticket;
  TaskEnded answer;
};
using ContainerMessage = std::variant<RunTask, StopContainerTask, CallAlive, CallDone>;

using ContainerInbox = PolledMailbox<ContainerMessage>;

}  // namespace millrace
