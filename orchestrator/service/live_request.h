// LiveRequest: what a client wants to see as it happens. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/instance.h"

namespace millrace {

struct LiveRequest {
  std::string ns;
  bool counts = false;     ///< numbers of instances by workflow and status
  bool levels = false;     ///< gauges and rates of the server
  bool instances = false;  ///< instances that change
  bool events = false;     ///< events that the engine has applied
  bool dead = false;       ///< dead letters
  /// The instance whose history is shown, from the record after `after` on.
  std::optional<InstanceId> history_of;
  uint64_t after = 0;
  std::string workflow;                  ///< of `instances` and `counts`; empty: all
  std::vector<InstanceStatus> statuses;  ///< of `instances`; empty: any
  std::string type;                      ///< of `events`: a glob; empty: any
  std::string last_id;  ///< the id of the last message that the client has; empty: it has none
};

}  // namespace millrace
