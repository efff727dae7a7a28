// Matcher: the interface of this folder: which listeners does an event match? NaiveMatcher defines
// the meaning, ListenerIndex is the fast implementation; tests check that both give the same
// results. Only one thread at a time may use a matcher.
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
  /// Identifies a listener from its `add` to its `remove`; after that, another listener may get the
  /// same handle.
  struct Handle {
    uint32_t slot = 0;

    bool operator==(const Handle&) const = default;
  };

  Matcher() = default;
  virtual ~Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// Adds a listener. `target` is a value of the caller's choice; several listeners may have the
  /// same one. Error `pattern.malformed` names the attribute; then nothing was added.
  virtual Result<Handle> add(std::string_view ns, const EventFilter& filter, uint64_t target) = 0;

  /// Removes a listener. Precondition: it was added and not removed yet.
  virtual void remove(Handle handle) = 0;

  /// Replaces the contents of `targets` with the targets of all listeners of the namespace that an
  /// event with these attributes matches: one entry for each listener, ascending.
  virtual void match(std::string_view ns, const Attributes& event,
                     std::vector<uint64_t>& targets) = 0;

  /// How many runs of a pattern have stopped at Pattern::kMatchLimit so far; each counts as no
  /// match. A matcher whose listeners share runs counts fewer.
  virtual uint64_t over_limit() const = 0;
};

}  // namespace millrace
