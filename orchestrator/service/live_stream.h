// LiveStream: one client that watches, and what it has got. Thread of the LiveHub.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/cursor.h"
#include "model/instance.h"
#include "orchestrator/service/live_request.h"
#include "orchestrator/service/live_sink.h"

namespace millrace {

struct LiveStream {
  LiveRequest request;
  std::shared_ptr<LiveSink> sink;
  NamespaceNumber ns{};
  WorkflowNumber workflow{};  ///< 0: all
  TimePoint created_at;       ///< of the namespace
  std::string key;            ///< equal for streams with the same messages
  bool is_found = false;      ///< its place exists, in this step
  bool is_new = true;
  bool has_counts = false;       ///< it got all numbers
  bool has_unread = true;        ///< the history may have records that were not sent
  std::optional<Cursor> events;  ///< it got the events up to this one; nullopt: not known yet
  bool has_letters = false;      ///< it got the number of dead letters
};

}  // namespace millrace
