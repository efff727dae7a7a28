// ContainerInbox: what other threads say to the loop of the containers; whoever comes in waits for
// nothing.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "model/task.h"
#include "orchestrator/runtime/seams.h"

namespace millrace {

/// A task, and which run of it: what comes late for one that was stopped and run again is not its.
struct Ticket {
  InstanceId task;
  uint64_t number = 0;
};

struct RunTask {
  Task task;
};
struct StopTask {
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
using ContainerMessage = std::variant<RunTask, StopTask, CallAlive, CallDone>;

class ContainerInbox {
 public:
  ContainerInbox();

  void put(ContainerMessage message);
  /// What comes from now on is thrown away.
  void close();
  /// What has come; nullopt: it is closed.
  std::optional<std::vector<ContainerMessage>> take();
  /// Readable once there is something to take.
  int fd() const { return wake_.fd(); }

 private:
  void wake();

  const Descriptor wake_;
  std::mutex mutex_;
  std::vector<ContainerMessage> messages_;
  bool is_closed_ = false;
};

}  // namespace millrace
