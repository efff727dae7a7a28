// LiveReads: reads of the broker for live messages: the events that the engine has applied, and the
// dead letters. A read may wait for the broker for some seconds, so it is asked for, and its answer
// is taken later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/cursor.h"
#include "model/dead_letter.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/ports/stored_letters.h"

namespace millrace {

/// The most items of one live message.
inline constexpr size_t kMostLiveItems = 50;

/// Which events of a namespace are read: those from `first` up to `last`, which the engine has
/// applied.
struct LiveEventsQuestion {
  std::string ns;
  NamespaceIdentity identity;
  uint64_t first = 0;
  Cursor last;
};

struct LiveEvent {
  uint64_t sequence = 0;
  std::string type;  ///< empty: the message is not an event
  Json item;         ///< event_item()
};

/// What was read. Events of an earlier namespace with the name are left out.
struct LiveEvents {
  std::vector<LiveEvent> events;  ///< ascending; at most kMostStoredEvents
  uint64_t unread = 0;            ///< how many further events the range may have
};

/// The dead letters of a namespace at one time.
struct LettersState {
  int64_t created = 0;  ///< when the queue was created
  uint64_t last = 0;    ///< the newest dead letter that the queue ever had, of any namespace
  uint64_t count = 0;   ///< of all dead letters under the name of the namespace
  uint64_t newest = 0;  ///< of the namespace; 0: there is none, or it is behind too many others

  bool operator==(const LettersState&) const = default;
};

/// Which dead letters of a namespace are read: those that came since `before`.
struct LiveLettersQuestion {
  std::string ns;
  NamespaceIdentity identity;
  std::optional<LettersState> before;  ///< nullopt: none, only the state
};

struct LiveLetters {
  LettersState now;
  std::vector<Json> letters;  ///< letter_head(), newest first; at most kMostLiveItems
  uint64_t unread = 0;        ///< how many further dead letters may have come
};

/// Errors of both: those of the broker. `broker.protocol` of the first one: the broker has another
/// stream than the one that the engine has applied.
Result<LiveEvents> read_live_events(StoredEvents& events, const LiveEventsQuestion& asked);
Result<LiveLetters> read_live_letters(StoredLetters& letters, const Clock& clock,
                                      const LiveLettersQuestion& asked);

using LiveQuestion = std::variant<LiveEventsQuestion, LiveLettersQuestion>;

struct LiveEventsAnswer {
  LiveEventsQuestion asked;
  Result<LiveEvents> read;
};
struct LiveLettersAnswer {
  LiveLettersQuestion asked;
  Result<LiveLetters> read;
};
using LiveAnswer = std::variant<LiveEventsAnswer, LiveLettersAnswer>;

class LiveReads {
 public:
  virtual ~LiveReads() = default;

  /// Each question gets one answer. Never waits.
  virtual void ask(LiveQuestion question) = 0;
  /// The answers since the last call.
  virtual std::vector<LiveAnswer> take() = 0;
};

}  // namespace millrace
