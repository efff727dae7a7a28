// LogRestored: how a restoration of the end of the log has ended (log_restore.h). Pure value.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

/// How a restoration has ended.
struct LogRestored {
  enum class What : uint8_t {
    kWhole,    ///< the stream ends where the tail does, or behind that
    kForked,   ///< the stream has another message in the place of one of the tail
    kGone,     ///< the tail does not have all that the stream lacks
    kExpired,  ///< the time is over
  };
  What what = What::kWhole;
  uint64_t count = 0;    ///< how many messages the log has taken
  std::string why = {};  ///< a sentence; empty if it is whole
};

}  // namespace millrace
