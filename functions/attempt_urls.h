// AttemptUrls: the URLs at which a service reaches this server about an attempt of its task. All of
// them are made here, and the key of the attempt opens each of them. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "model/attempt_key.h"
#include "model/task.h"

namespace millrace {

struct AttemptUrls {
  AttemptKeys keys;
  std::function<std::string()> public_url;  ///< of this server, without a path; any thread

  /// Where the service reads and writes the files of the attempt, with the header
  /// kAttemptKeyHeader.
  std::string files_of(const InstanceId& task) const;
  /// Where the service answers the task later, without `/complete`, `/fail` or `/heartbeat`. The
  /// URL has `key`, that of the attempt or of its delivery. `ns`: the name of the namespace of the
  /// task.
  std::string callback_of(std::string_view ns, const InstanceId& task, std::string_view key) const;
  /// How the service of the task answers it later. A task with files has the key of its delivery.
  TaskCallback callback_of(const Task& task) const;
};

}  // namespace millrace
