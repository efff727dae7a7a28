// ContainerInbox: messages of other threads to the containers thread.
#pragma once

#include <cstdint>
#include <variant>

#include "model/task.h"
#include "orchestrator/ports/task_runner.h"
#include "os/mailbox.h"

namespace millrace {

/// A task, and the number of the ContainerRunner::run() that brought it. If a task was stopped and
/// then brought again, messages for the earlier run() have an old number and are ignored.
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
struct CallHeartbeat {
  Ticket ticket;
};
struct CallDone {
  Ticket ticket;
  TaskEnded answer;
};
/// A reusable function has accepted a task, and answers it by a callback.
struct CallAccepted {
  Ticket ticket;
};
/// Containers may be started again.
struct ContainersAllowed {};
using ContainerMessage = std::variant<RunTask, StopContainerTask, CallHeartbeat, CallDone,
                                      CallAccepted, ContainersAllowed>;

using ContainerInbox = PolledMailbox<ContainerMessage>;

}  // namespace millrace
