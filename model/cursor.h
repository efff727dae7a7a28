// Cursor: how far the event stream is applied.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace millrace {

/// How far the event stream was applied. It is written in the commit that applies it.
struct Cursor {
  int64_t stream_created = 0;  ///< nanoseconds; tells a stream from one made anew under its name
  uint64_t sequence = 0;       ///< the last applied message; 0: none
  TimePoint stamped;           ///< when the broker took that message

  bool operator==(const Cursor&) const = default;
};

}  // namespace millrace
