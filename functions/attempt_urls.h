// AttemptUrls: the URLs at which a service reaches this server about an attempt of its task. All of
// them are made here, and the key of the attempt opens each of them. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "model/attempt_key.h"

namespace millrace {

struct AttemptUrls {
  AttemptKeys keys;
  std::function<std::string()> public_url;  ///< of this server, without a path; any thread

  /// Where the service reads and writes the files of the attempt, with the header
  /// kAttemptKeyHeader.
  std::string files_of(const InstanceId& task) const;
  /// Where the service answers the task later, without `/complete`, `/fail` or `/heartbeat`. The
  /// URL has the key of the attempt. `ns`: the name of the namespace of the task.
  std::string callback_of(std::string_view ns, const InstanceId& task) const;
};

}  // namespace millrace
