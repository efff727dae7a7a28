// walk_back: visits the messages of a range of a stream from the newest to the oldest, although the
// broker reads streams only forwards. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// The sequences of a range, and the bounds of one walk.
struct BackwardRange {
  uint64_t first = 1;
  uint64_t last = 0;
  size_t most = kMostStoredEvents;  ///< messages that are visited
  size_t window = 64;               ///< how many sequences the first read spans
  std::function<bool()> is_late = [] { return false; };  ///< true: no further read begins
};

/// Where a walk ended.
struct BackwardEnd {
  uint64_t before = 0;  ///< the walk continues with lower sequences; 0: the range has ended
  size_t looked = 0;    ///< how many messages were visited
};

/// Reads the messages with the sequences from `first` to `last`, the oldest first.
using ReadSequences = std::function<Result<StoredEvents::Page>(uint64_t first, uint64_t last)>;

/// Visits the messages until `see` returns false. Reads windows of sequences, which grow where few
/// messages fit and shrink where a window has more than one page.
Result<BackwardEnd> walk_back(const BackwardRange& range, const ReadSequences& read,
                              const std::function<bool(StoredEvent&)>& see);

/// The highest sequence of the range that was stored before `until`, or a higher one without a
/// message of the namespace in between.
Result<uint64_t> last_before(StoredEvents& events, std::string_view ns, const BackwardRange& range,
                             TimePoint until);

}  // namespace millrace
