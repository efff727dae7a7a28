#include "orchestrator/service/walk_back.h"

#include <algorithm>
#include <string>

namespace millrace {
namespace {

/// How many windows one walk reads. The last of them span many sequences, if few messages fit.
constexpr size_t kMostWindows = 24;

/// A window with fewer messages is followed by one that is eight times as wide, one with fewer than
/// a page by one that is twice as wide.
constexpr size_t kFew = 16;
constexpr size_t kMany = 250;

uint64_t next_width(uint64_t width, size_t found, bool was_too_wide) {
  constexpr uint64_t kWidest = uint64_t{1} << 40;
  if (was_too_wide && found * 2 >= width) return width;
  if (found < kFew) return std::min(width * 8, kWidest);
  return found < kMany ? std::min(width * 2, kWidest) : width;
}

}  // namespace

Result<BackwardEnd> walk_back(const BackwardRange& range, const ReadSequences& read,
                              const std::function<bool(StoredEvent&)>& see) {
  BackwardEnd end;
  uint64_t last = range.last;
  uint64_t width = std::max<uint64_t>(range.window, 1);
  const uint64_t first = std::max<uint64_t>(range.first, 1);
  bool was_too_wide = false;
  for (size_t windows = 0; last >= first; ++windows) {
    if (windows == kMostWindows || (windows > 0 && range.is_late())) {
      end.before = last + 1;
      return end;
    }
    const uint64_t from = last - std::min(width - 1, last - first);
    StoredEvents::Page page = TRY(read(from, last));
    if (page.next != 0 && page.next <= last && from < last) {
      width = std::max<uint64_t>((last - from + 1) / 2, 1);
      was_too_wide = true;
      continue;
    }
    for (auto event = page.events.rbegin(); event != page.events.rend(); ++event) {
      ++end.looked;
      if (see(*event) && end.looked < range.most) continue;
      end.before = event->sequence > first ? event->sequence : 0;
      return end;
    }
    if (from == first) return end;
    last = from - 1;
    width = next_width(width, page.events.size(), was_too_wide);
  }
  return end;
}

Result<uint64_t> last_before(StoredEvents& events, std::string_view ns, const BackwardRange& range,
                             TimePoint until) {
  if (range.last < range.first) return range.last;
  const StoredEvents::Page later = TRY(events.read({.ns = std::string(ns),
                                                    .first = range.first,
                                                    .since = until,
                                                    .last = range.last,
                                                    .limit = 1}));
  return later.events.empty() ? range.last : later.events.front().sequence - 1;
}

}  // namespace millrace
