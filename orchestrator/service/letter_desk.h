// LetterDesk: what the gateway may request about dead letters. Any thread. Each call may wait for
// the broker for some seconds, so it belongs in a lane of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"

namespace millrace {

/// Which dead letters a list shows, newest first.
struct LetterFilter {
  size_t limit = 50;
  uint64_t before = 0;      ///< only dead letters with lower ids; 0: all
  std::string reason;       ///< empty: all
  std::string source = {};  ///< only of messages that this source read; empty: all
};

/// How many dead letters one request replays.
inline constexpr size_t kMostLettersReplayed = 100;

/// The namespace need not exist if there are dead letters under its name. Errors of all functions:
/// `namespace.not_found`, those of StoredLetters, and `dlq.not_found` if `id` is not the id of a
/// dead letter of the namespace.
class LetterDesk {
 public:
  virtual ~LetterDesk() = default;

  /// {"items":[…],"reasons":[{"reason","count"}],"complete","next"}, the items as letter_item()
  /// (letter_json.h). `reasons` counts all dead letters under the name of the namespace, also those
  /// of an earlier namespace with that name and of all sources. `complete` is always true
  /// (store_reads.h); `next` becomes `before` of the next page.
  virtual Result<Json> list(std::string_view ns, const LetterFilter& filter) = 0;

  /// A dead letter as whole_letter().
  virtual Result<Json> get(std::string_view ns, uint64_t id) = 0;

  /// Publishes the event of the dead letter, or `corrected` in its place, and deletes the dead
  /// letter when the event stream has the event: {"id","event","sequence"}. Errors: those of
  /// event_of_letter(); the namespace must exist.
  virtual Result<Json> replay(std::string_view ns, uint64_t id,
                              const std::optional<Event>& corrected) = 0;

  /// Replays the next dead letters with that reason as they are, the oldest first, at most
  /// kMostLettersReplayed, and no more than the quota of the namespace permits now:
  /// {"done","refused":[{"id","code","msg"}],"left","next"}. `from` is `next` of the call before,
  /// at first 0; `next` is null when all dead letters have been tried. `left` is the number that
  /// the queue then has, with those that were refused. An empty reason: all.
  virtual Result<Json> replay_all(std::string_view ns, const std::string& reason,
                                  uint64_t from) = 0;

  /// {"id","deleted":true}
  virtual Result<Json> remove(std::string_view ns, uint64_t id) = 0;

  /// Deletes the dead letters with that reason, also those of an earlier namespace with that name:
  /// {"done","refused":[],"left","next":null}. An empty reason: all.
  virtual Result<Json> remove_all(std::string_view ns, const std::string& reason) = 0;
};

}  // namespace millrace
