// Silence: whether the log of a cluster is silent, so that a standby may take over. Only a standby
// that hears the broker, and has all that the broker has, can conclude that no active writes: a
// node that is cut off or behind never finds the log silent. Pure: the time is an argument. For one
// thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace millrace {

class Silence {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `takeover_after`: how long no message must come. The broker counts as heard for three quarters
  /// of that time after its latest word, so its heartbeats must come more often.
  explicit Silence(Duration takeover_after) : takeover_after_(takeover_after) {}

  // What the reader of the log sees.

  /// The reader was opened: the time without messages starts with the next word of the broker.
  void opened();
  /// The reader was closed, or its connection is lost.
  void closed();
  /// The stream of the log has another leader: the time without messages starts again, so that the
  /// active can append to the new leader first.
  void leader_changed(Time now);
  /// A message of the log came. `pending`: how many messages of the stream the broker has behind
  /// it.
  void message(bool is_end, uint64_t pending, Time now);
  /// The broker sent something else: a heartbeat, or a foreign message, with which no active shows
  /// that it runs.
  void broker_heard(uint64_t pending, Time now);
  /// A `begin` of this node was not taken: an `end` before it no longer makes the log silent at
  /// once.
  void begin_failed();

  /// Whether the reader is open and the broker is heard.
  bool is_heard(Time now) const;
  /// Whether the broker is heard, and has nothing that the reader has not.
  bool has_all(Time now) const { return is_heard(now) && pending_ == 0; }
  /// Whether no active writes, so far as this node can know: no message came for `takeover_after`,
  /// or the latest message is an `end`.
  bool is_silent(Time now) const;
  /// When the log becomes silent, if it is not, and nothing comes but heartbeats; nullopt: never.
  std::optional<Time> next_time() const;

 private:
  void note_word(uint64_t pending, Time now);

  const Duration takeover_after_;
  bool is_open_ = false;
  std::optional<Time> last_word_;  ///< of the broker, since the reader was opened
  Time since_{};                   ///< since when the node had all, and no message came
  uint64_t pending_ = 0;
  bool is_at_once_ = false;  ///< the latest message is an `end`
};

}  // namespace millrace
