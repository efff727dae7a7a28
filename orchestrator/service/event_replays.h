// EventReplays: publishes ranges of the event stream again, beside the engine thread. The progress
// of each replay is a row of the store, which a command writes after its events are in the stream.
// If the process ends in between, the next process sends the events of one page again, under the
// same ids: the stream or the engine drops them as duplicates.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class EventReplays {
 public:
  using Done = std::function<void(Result<Json>)>;
  /// All parts outlive the object.
  struct Parts {
    Environment& environment;
    const Clock& clock;
    StoredEvents& events;
    Publisher& publisher;
    /// Whether `count` more events of the namespace may be published now.
    std::function<Status(std::string_view ns, size_t count)> admit;
    /// Passes a command to the engine.
    std::function<void(Command command, Done done)> command;
  };

  explicit EventReplays(Parts parts) : parts_(std::move(parts)) {}
  ~EventReplays() { stop_thread(); }
  EventReplays(const EventReplays&) = delete;
  EventReplays& operator=(const EventReplays&) = delete;

  /// Starts the thread, which continues the replays of the store. To be called once, when this
  /// process owns the streams.
  void start_thread();
  /// Ends the thread; waits for the page that it publishes. The replays continue in the next
  /// process. The engine must still answer commands.
  void stop_thread();

  // As in EventDesk. `begin` and `stop` are answered by the engine.

  void begin(std::string_view ns, const RangeReplay& range, const Done& done);
  Result<Json> list(std::string_view ns) const;
  Result<Json> get(std::string_view ns, const std::string& id) const;
  void stop(std::string_view ns, const std::string& id, const Done& done);

  /// Publishes one page of the replay whose turn it is, or of none. Returns how long the thread may
  /// wait before the next turn; nullopt: until a replay begins. Not to be called after
  /// start_thread().
  std::optional<Duration> turn();

 private:
  /// A running replay.
  struct Running {
    ReplayPlace place;
    ReplayRecord record;
    std::string ns;  ///< the name of the namespace
  };
  /// What the thread remembers of a running replay.
  struct Pace {
    TimePoint due;      ///< when its next page may be sent
    uint64_t turn = 0;  ///< the number of its latest turn
  };

  /// The events that one page publishes, and the row when the stream has them.
  struct Portion {
    ReplayRecord after;
    std::vector<NatsMessage> messages;
  };

  void run();
  Result<ReplayRecord> prepare(std::string_view ns, const RangeReplay& range) const;
  Result<std::vector<Running>> running() const;
  Result<Duration> advance(const Running& replay);
  Result<ReplayRecord> send_page(const Running& replay, Duration& pause);
  Result<std::optional<Error>> target_loss(const Running& replay) const;
  Portion portion_of(const Running& replay, const ReplayRecord& before,
                     const StoredEvents::Page& page, size_t most) const;
  Status admit(const Running& replay, const ReplayRecord& before, const StoredEvents::Page& page,
               Portion& portion) const;
  void note_hindrance(const ReplayPlace& place, const Result<Duration>& page);
  void forget_ended(const std::vector<Running>& replays);
  Result<Json> shown(const View& view, const ReplayPlace& place, const ReplayRecord& record) const;
  std::optional<Error> hindrance_of(const ReplayPlace& place, const ReplayRecord& record) const;
  Status note_progress(const Running& replay, const ReplayRecord& after);

  const Parts parts_;

  // Only for the thread that calls turn().
  std::map<ReplayPlace, Pace> paces_;
  std::map<NamespaceNumber, uint64_t> turns_;  ///< the latest turn of each namespace
  uint64_t last_turn_ = 0;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<ReplayPlace, Error> hindrances_;  ///< why the latest page of a replay was not sent
  bool stopping_ = false;
  bool has_new_ = false;
  std::thread thread_;
};

/// The word for a state of a replay: "running", "done", "stopped" or "failed".
std::string_view name_of_state(ReplayRecord::State state);

/// A replay as it is shown: {"id","state","createdAt","dryRun","rate","since"?,"until"?,"first",
/// "last","type"?,"source"?,"to"?,"matched","sent","refused","lost","position","error"?,"waits"?}.
/// `error` says why a replay has failed; `waits` says why the latest page of a running one was not
/// sent. Such a page is tried again each second.
/// `target`: see shown_target(); null: there is none.
Json replay_json(const ReplayId& id, const ReplayRecord& record, Json target,
                 const std::optional<Error>& hindrance);

}  // namespace millrace
