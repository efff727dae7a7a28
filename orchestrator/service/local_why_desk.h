// LocalWhyDesk: the WhyDesk of the millrace in this process. Reads events from the broker, asks the
// engine thread which instances listen for a value, and judges on a snapshot that it takes
// afterwards. Any thread except the engine thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/loop/evaluation_levels.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/ports/stored_letters.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/judged_listener.h"
#include "orchestrator/service/listener_judging.h"
#include "orchestrator/service/why_desk.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class LocalWhyDesk final : public WhyDesk {
 public:
  /// All parts outlive the object.
  struct Parts {
    Environment& environment;
    const Clock& clock;
    DefinitionCache& definitions;
    const StartedTasks& started;  ///< the tasks that a worker has started
    StoredEvents& events;
    StoredLetters& letters;
    AskIndex ask_index;
    std::function<Status()> reads_events;  ///< ok, or why the event stream is not being read
    /// How far the engine has applied the event stream (Intake::applied()).
    std::function<Cursor()> applied;
    /// The evaluations of the namespaces that wait for a jq worker or have one.
    std::function<std::map<NamespaceNumber, EvaluationLevels>()> evaluations;
    JudgingBounds bounds = {};
  };

  explicit LocalWhyDesk(Parts parts) : parts_(std::move(parts)) {}

  Result<Json> of_event(std::string_view ns, uint64_t sequence, const WhyFilter& filter) override;
  Result<Json> of_test_event(std::string_view ns, Event event, const WhyFilter& filter) override;
  Result<Json> of_instance(std::string_view ns, const InstanceId& id,
                           const std::optional<uint64_t>& sequence,
                           const WhyFilter& filter) override;

 private:
  /// An event as the stream has it, and which stream that is.
  struct Found {
    StoredEvent stored;
    int64_t stream_created = 0;
  };
  /// The events that are judged for an instance, newest first.
  struct Newest {
    bool is_search = true;  ///< false: the one event that the caller named
    std::vector<Found> events;
    size_t looked = 0;              ///< messages that were read
    bool is_complete = true;        ///< the namespace has no older messages in the window
    uint64_t before = 0;            ///< older messages have lower sequences; 0: there are none
    std::optional<TimePoint> from;  ///< when the oldest message that was read was stored
  };
  /// What the engine thread knows about an event.
  struct Asked {
    NearListeners near;
    bool is_known =
        false;  ///< an event with its source and id had an effect, or still may have one
  };
  struct Judged;

  /// How many events are judged for an instance.
  static constexpr size_t kMostEventsOfAnInstance = 200;

  Result<Snapshot> snapshot() const { return Snapshot::take(parts_.environment); }
  Result<NamespaceRecord> find_namespace(std::string_view ns) const;
  /// What an instance waits for.
  struct Awaited {
    std::vector<std::string>
        types;  ///< for which it listens, or a state of its workflow may listen
    std::vector<EventFilter> filters;  ///< of its listeners
  };
  Result<Awaited> find_awaited(std::string_view ns, const InstanceId& id) const;
  Result<Json> judge_newest(std::string_view ns, const InstanceId& id, const Newest& newest,
                            const WhyFilter& filter) const;
  /// The event. Error `event.not_found`, also for an event of another namespace, or of an earlier
  /// namespace with this name.
  Result<Found> find_event(std::string_view ns, uint64_t sequence, const WhyFilter& filter);
  /// The error for an event of a namespace that does not exist: `error`, and what became of the
  /// event.
  Error error_of_missing(std::string_view ns, uint64_t sequence, Error error) const;
  /// The newest events of these types in the window, apart from upper and lower case; at most
  /// `most`.
  Result<Newest> find_newest(std::string_view ns, const WhyWindow& window,
                             const std::vector<std::string>& types, size_t most);
  /// The namespaces in which events are looked for that belong to an answer.
  struct SearchedNamespaces {
    TimePoint created;                ///< when the own namespace was created
    std::vector<std::string> others;  ///< none if the caller may not see them
  };
  Result<SearchedNamespaces> searched_namespaces(std::string_view ns,
                                                 const WhyFilter& filter) const;
  /// Which of the newest events of a namespace are read.
  struct NewestRange {
    uint64_t first = 1;  ///< the lowest sequence
    TimePoint since;     ///< stored at this time or later
    Duration end{};      ///< Clock::elapsed() after which no further read begins
  };
  using SeeEvent = std::function<bool(uint64_t sequence, Event event)>;
  /// Visits these events, the newest first, until `see` returns false.
  Status read_newest(std::string_view ns, const NewestRange& which, const SeeEvent& see) const;
  /// Adds the newest replays of the event with that sequence, and what came of each.
  Status add_replays(std::string_view ns, uint64_t sequence, const WhyFilter& filter,
                     Json& answer) const;
  /// Adds to the starts in one of whose groups the event waits the events of the stream that would
  /// have completed the group, but for their namespace, type, or a value that only their data has.
  Status add_partners(std::string_view ns, const WhyFilter& filter, Json& answer) const;
  /// Whether a group of the workflow with these values lacks only an event of the type `own`.
  Result<bool> is_half_group(std::string_view ns, std::string_view workflow, std::string_view own,
                             const CorrelationValues& values) const;
  /// How the event stands to the store; nullopt: a test event.
  Result<EventStanding> standing_of(const View& view, std::string_view ns, const Cursor& applied,
                                    const Found* found) const;
  /// Judges an event of the stream.
  Result<Json> judge_event(std::string_view ns, const Found& found, const WhyFilter& filter) const;
  Result<Json> judge_test_event(std::string_view ns, const JudgedEvent& event,
                                const WhyFilter& filter) const;
  Result<Asked> ask_about(std::string_view ns, const JudgedEvent& event,
                          const WhyFilter& filter) const;
  /// Judges the listeners and adds what was found to `answer`.
  Status judge_all(const Judged& judged, const Result<Asked>& asked, const WhyFilter& filter,
                   Json& answer) const;
  /// The other namespaces in which a listener has the type.
  Json listening_elsewhere(const View& view, std::string_view ns, std::string_view type) const;
  /// A look into other namespaces for the events for which an instance waits.
  struct ElsewhereLook {
    const Awaited& awaited;
    const WhyWindow& window;
    bool must_fit = false;  ///< an event that only has an awaited type is not named
    JudgedPatterns patterns = {};
    std::optional<TimePoint> cut_from = std::nullopt;  ///< a bound has left out older events
  };
  struct FoundElsewhere {
    std::optional<StoredEvent> fitting;  ///< the newest one that a listener matches
    std::optional<StoredEvent> newest;   ///< the newest one of an awaited type
  };
  Result<FoundElsewhere> look_into(const std::string& name, ElsewhereLook& look);
  /// Adds the other namespaces of whose newest events one has an awaited type, or, if `must_fit`,
  /// fits one of the filters, and the newest of each that fits, if it is among those that were
  /// read; and which of them were looked at, if there are too many.
  Status add_sent_elsewhere(std::string_view ns, ElsewhereLook& look, Json& answer);
  /// The names that no namespace has, and for which events came that are dead letters now; those
  /// similar to `ns` first.
  Result<std::vector<std::string>> unknown_names(std::string_view ns) const;
  /// add_sent_elsewhere() for the unknown_names().
  Status add_sent_nowhere(std::string_view ns, ElsewhereLook& look, Json& answer);

  const Parts parts_;
};

}  // namespace millrace
