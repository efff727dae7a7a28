// HttpCaller: how the container runner has a service called, without knowing how HTTP is spoken.
#pragma once

#include <functional>
#include <string>

#include "base/ids.h"
#include "model/task.h"

namespace millrace {

struct HttpCall {
  std::string url;
  Task task;           ///< without its files: they are laid out
  std::string folder;  ///< where the service finds them, for the header Direktiv-TempDir
  /// Something of the answer came. Any thread; may be called after stop().
  std::function<void()> alive;
  /// Once, on any thread: the body of the answer, or the error. After stop() it may be left out.
  std::function<void(TaskEnded)> done;
};

class HttpCaller {
 public:
  virtual ~HttpCaller() = default;
  /// Asks the service for the task. Any thread; never blocks.
  virtual void call(HttpCall call) = 0;
  /// Nobody waits for the answer any more: the service is asked to end it. Any thread; never
  /// blocks.
  virtual void stop(const InstanceId& task) = 0;
};

}  // namespace millrace
