// The seam of the room: which listeners does this event concern? NaiveMatcher is the meaning,
// ListenerIndex the speed; tests hold both to the same answers. One thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "base/result.h"
#include "matchers/event_filter.h"

namespace millrace {

class Matcher {
 public:
  /// Names a listener from its `add` to its `remove`; afterwards another may get the same.
  struct Handle {
    uint32_t slot = 0;

    bool operator==(const Handle&) const = default;
  };

  Matcher() = default;
  virtual ~Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Adds a listener; `target` is the caller's and may be that of other listeners too. Error
  /// `pattern.malformed` names the attribute; then nothing was added.
  virtual Result<Handle> add(std::string_view ns, const EventFilter& filter, uint64_t target) = 0;

  /// Removes a listener that is there.
  virtual void remove(Handle handle) = 0;

  /// Puts into `targets`, in place of what it held, one entry for each listener of the namespace
  /// that an event with these attributes concerns, ascending.
  virtual void match(std::string_view ns, const Attributes& event,
                     std::vector<uint64_t>& targets) = 0;

  /// How many runs of a pattern were given up at Pattern::kMatchLimit so far, each taken as no
  /// match. A matcher that shares runs counts fewer.
  virtual uint64_t over_limit() const = 0;
};

}  // namespace millrace
