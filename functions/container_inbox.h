// ContainerInbox: what other threads say to the loop of the containers; whoever comes in waits for
// nothing.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/task.h"
#include "orchestrator/ports/task_runner.h"
#include "os/descriptor.h"

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

class ContainerInbox {
 public:
  void put(ContainerMessage message);
  /// What comes from now on is thrown away.
  void close();
  /// What has come; nullopt: it is closed.
  std::optional<std::vector<ContainerMessage>> take();
  /// Readable once there is something to take. -1 where no descriptor is left: then take() must be
  /// called every now and then. The thread that takes calls it.
  int fd();

 private:
  void wake();

  std::mutex mutex_;  // guards what follows
  Descriptor wake_;   ///< an eventfd, made by fd()
  std::vector<ContainerMessage> messages_;
  bool is_closed_ = false;
};

}  // namespace millrace
