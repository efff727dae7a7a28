// SourceRun: reads the messages of one source, has them mapped to events and publishes these to the
// event stream. The position is in the store (row `origin/`): after each interruption the origin
// stream is read again from there, and the engine drops what it has applied. For one thread, except
// figures().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/batch/source_consumer.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/ports/origin_streams.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/awaited_publish.h"
#include "orchestrator/service/definition_deadline.h"
#include "orchestrator/service/source_mapping.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// How many events of a source may be published and not yet applied while other events come: so a
/// source with many messages delays those by the time that the engine needs for so many.
inline constexpr size_t kLeastUnapplied = 256;
/// And how many otherwise: as many as the rate permits in a fiftieth of a second.
constexpr size_t most_unapplied(uint32_t rate) {
  constexpr uint32_t kInSecond = 50;
  return std::max<size_t>(kLeastUnapplied, rate / kInSecond);
}
/// How many messages of the origin stream are asked for at once: as many as the rate permits in a
/// twentieth of a second. So the lag of a slow source is known, and few messages of a consumed
/// stream wait in this process.
constexpr size_t batch_of(uint32_t rate) {
  constexpr uint32_t kInSecond = 20;
  return std::clamp<size_t>(rate / kInSecond, 1, 1'024);
}
/// How many bytes of them in both cases.
inline constexpr size_t kMostUnappliedBytes = size_t{8} << 20;
/// How long it counts that another event came.
inline constexpr Duration kOthersCount{1'000};

/// How many bytes of a source may wait for jq workers at the same time, besides one message.
inline constexpr size_t kMostMappedBytes = size_t{4} << 20;

/// How often the origin stream is asked whether sequences that were passed over are gone; and how
/// many runs of such sequences are noted until then. If there are more, it is asked at once.
inline constexpr Duration kBetweenGapChecks{10'000};
inline constexpr size_t kMostGapsNoted = 4'096;

/// What happened to all sources since startup; see SourceFigures.
struct SourceTotals {
  std::atomic<uint64_t> consumers = 0;
  std::atomic<uint64_t> recreated = 0;
  std::atomic<uint64_t> rolled_back = 0;
  std::atomic<uint64_t> gone = 0;
  std::atomic<uint64_t> lost_events = 0;
};

/// What sources use. All parts outlive them.
struct SourceParts {
  Environment& environment;
  const Clock& clock;
  OriginStreams& origins;
  Publisher& publisher;
  StoredEvents& events;
  /// Whether `count` more events of the namespace may be published now.
  std::function<Status(std::string_view ns, size_t count)> admit;
  /// Passes a command to the engine.
  std::function<void(Command command, std::function<void(Result<Json>)> done)> command;
  Evaluator evaluate = nullptr;            ///< of mappings; null: there are no jq workers
  TimedCheck check_programs = nullptr;     ///< of mappings; null: their jq programs are not checked
  DefinitionCache* definitions = nullptr;  ///< null: it is not known for which types one listens
  SourceTotals* totals = nullptr;          ///< null: nothing is counted for all together
  Duration patience{200};  ///< how long one turn waits for messages, or for jq workers
};

/// Passes a command to the engine and waits for its answer.
Result<Json> await_command(const SourceParts& parts, Command command);

/// What happened to a source in this process.
struct SourceFigures {
  bool is_read = false;         ///< whether the origin stream is read now
  uint64_t position = 0;        ///< the sequence that was read last
  std::optional<uint64_t> lag;  ///< messages that are not applied yet; nullopt: it is not known
  uint64_t consumers = 0;       ///< consumers that were created
  uint64_t interrupted = 0;     ///< how often the consumer or messages to this process were lost
  uint64_t recreated = 0;       ///< how often the origin stream had been created again
  uint64_t rolled_back = 0;     ///< how often it had lost messages that were applied
  uint64_t gone = 0;            ///< sequences that it removed before they were read
  uint64_t lost_events = 0;     ///< how often the event stream had lost events of the source
  std::optional<Error> waits;   ///< why nothing is read now
  std::optional<Error> notice;  ///< what happened last to the origin stream, or the event stream

  /// What stays when the source is no longer read: the counts, and the notice.
  SourceFigures past() const;
};

class SourceRun {
 public:
  /// `ns`: the name of the namespace. `consumer`: that of the source, as consumer_of() says; while
  /// the source has another one, this object reads nothing, so that no thread creates a consumer
  /// again that is to be deleted.
  SourceRun(const SourceParts& parts, SourcePlace place, std::string ns,
            std::optional<SourceConsumer> consumer);

  /// Counts on from these figures, of an earlier run of the source. Before the first turn.
  void count_on(const SourceFigures& past) { figures_ = past; }

  /// Reads and publishes one page. Returns how long to wait before the next turn.
  Duration turn();

  /// Any thread.
  SourceFigures figures() const;

 private:
  /// An event that is published and not yet applied.
  struct Published {
    uint64_t sequence = 0;  ///< of the message in the origin stream
    uint64_t event = 0;     ///< of the event in the event stream
    size_t bytes = 0;
  };
  /// A message of a consumed stream that is not acknowledged.
  struct Unacknowledged {
    uint64_t sequence = 0;
    std::string reply;
  };
  /// A message that was read, and what it becomes.
  struct Prepared {
    uint64_t previous = 0;
    OriginMessage message;
    /// Its event, or why it becomes a dead letter; nullopt: that is not asked yet.
    std::optional<MadeEvent> event = std::nullopt;

    bool is_ready() const { return event && event->is_known(); }
  };
  /// Messages whose events are published and not yet acknowledged.
  struct Sent {
    std::vector<Prepared> page;
    std::vector<size_t> sizes;  ///< of the events, in bytes
    size_t bytes = 0;           ///< of all together
    std::optional<AwaitedPublish> acks;
    std::vector<RefusedMessage> refused;  ///< messages between them that become dead letters
  };
  /// Sequences between two messages that were read one behind the other: no filter selects them,
  /// they were removed one by one, or they are gone.
  struct Gap {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  /// The rows of the source, as of one commit.
  struct Rows {
    SourceRecord source;
    OriginRecord origin;
    Cursor cursor;
  };

  Result<Duration> advance();
  Result<std::optional<Rows>> rows_to_read();
  Result<std::optional<Rows>> read_rows() const;
  bool has_settings_of(const Rows& rows) const;
  Status take_settings(const Rows& rows);
  Result<bool> open(const Rows& rows);
  Result<std::optional<OriginState>> origin_state();
  Result<std::optional<uint64_t>> rolled_back_to(const Rows& rows, const OriginState& state);
  Status move(const Rows& rows, uint64_t created, uint64_t floor, const Error& notice);
  Result<bool> forget_applied(const Rows& rows);
  Result<bool> is_lost(const Rows& rows);
  size_t unapplied() const;
  size_t most_now() const;
  size_t room() const;
  Result<Duration> read_page(const Rows& rows);
  bool is_of_rolled_back_queue(const Rows& rows, const OriginMessage& message) const;
  Status move_to_all(const Rows& rows);
  bool must_prepare(const Rows& rows, const OriginMessage& message);
  void acknowledge_applied(const Rows& rows);
  void note_gap(uint64_t sequence);
  Status check_gaps();
  void count_gaps(const OriginState& state);
  void count_gone(const Rows& rows, const OriginState& state);
  uint64_t add_gone(uint64_t first, uint64_t end);
  Prepared prepared(OriginMessage message);
  Evaluator counted() const;
  void map_prepared();
  size_t ready() const;
  NatsMessage event_of(const Prepared& one, const Event& event) const;
  Result<bool> publish(const Rows& rows, size_t count);
  static RefusedMessage refused(Prepared one, const Error& reason);
  Status take_acks();
  void note_others(uint64_t last, size_t count);
  Status refuse(std::vector<RefusedMessage> messages);
  void close();
  void note(const std::function<void(SourceFigures& figures)>& change);
  void count(uint64_t SourceFigures::*figure, std::atomic<uint64_t> SourceTotals::*total,
             uint64_t number = 1);
  void notice(const Error& what);
  void log_change(const Status& status);

  const SourceParts& parts_;
  const SourcePlace place_;
  const std::string ns_;
  const std::optional<SourceConsumer> consumer_;

  bool has_other_consumer_ = false;  ///< whether the source has another one than consumer_
  std::string settings_text_;
  SourceSettings settings_;
  SourceMapping mapping_;
  std::string stream_;   ///< the name of the origin stream
  OriginStream origin_;  ///< what reader_ reads
  std::unique_ptr<OriginReader> reader_;
  uint64_t position_ = 0;                  ///< the sequence that was read last
  uint64_t gone_to_ = 0;                   ///< what is gone before this sequence is counted
  std::vector<Gap> gaps_;                  ///< not checked yet; about kMostGapsNoted at most
  std::optional<TimePoint> gaps_checked_;  ///< when the origin stream was last asked about gaps
  std::deque<Prepared> prepared_;          ///< read, and not yet published; in their order
  /// The page that is being published while the next one is read and mapped.
  std::optional<Sent> sent_;
  std::deque<Published> published_;
  size_t published_bytes_ = 0;
  std::deque<Unacknowledged> unacknowledged_;  ///< at most kMostUnacknowledged
  /// The bytes that wait for jq workers, also of what is not prepared any more; results may come
  /// later than the object lives.
  const std::shared_ptr<std::atomic<size_t>> mapped_bytes_ =
      std::make_shared<std::atomic<size_t>>(0);
  uint64_t last_event_ = 0;             ///< the sequence of the event that was published last
  std::optional<TimePoint> others_at_;  ///< when another event was last seen before it
  /// How many events are published with an acknowledgement for each: the first ones after the
  /// origin stream was opened, as one of them may be the one that the broker refused.
  size_t careful_ = 0;
  int64_t event_stream_ = 0;   ///< the creation time of the event stream that has published_
  uint64_t attempt_ = 0;       ///< see origin_message_id()
  TimePoint progress_at_;      ///< when a published event was last found applied, or looked for
  TimePoint due_;              ///< when the rate permits the next page
  std::string logged_;         ///< the newest logged reason why nothing is read; empty: it is read
  std::optional<Error> held_;  ///< why what is prepared may not be published now

  mutable std::mutex mutex_;  // guards figures_
  SourceFigures figures_;
};

}  // namespace millrace
