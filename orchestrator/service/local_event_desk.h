// LocalEventDesk: the EventDesk of the millrace in this process. Reads the stored events from the
// broker, and what became of them from the last commit. Any thread.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/stored_events.h"
#include "orchestrator/service/event_desk.h"
#include "orchestrator/service/event_replays.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct EventPage;  // in local_event_desk.cc

class LocalEventDesk final : public EventDesk {
 public:
  /// All parts outlive the object.
  struct Parts {
    Environment& environment;
    const Clock& clock;
    StoredEvents& events;
    Publisher& publisher;
    EventReplays& replays;
    /// Whether `count` more events of the namespace may be published now.
    std::function<Status(std::string_view ns, size_t count)> admit;
    /// How far the engine has applied the event stream (Intake::applied()).
    std::function<Cursor()> applied;
  };

  explicit LocalEventDesk(Parts parts) : parts_(std::move(parts)) {}

  Result<Json> list(std::string_view ns, const EventListFilter& filter) override;
  Result<Json> get(std::string_view ns, uint64_t sequence) override;
  Result<Json> replay(std::string_view ns, const EventReplay& replay) override;
  Result<Event> planned_replay(std::string_view ns, const EventReplay& replay) override;
  void begin_replay(std::string_view ns, const RangeReplay& range, Done done) override {
    parts_.replays.begin(ns, range, done);
  }
  Result<Json> replays(std::string_view ns) override { return parts_.replays.list(ns); }
  Result<Json> replay_progress(std::string_view ns, const std::string& id) override {
    return parts_.replays.get(ns, id);
  }
  void stop_replay(std::string_view ns, const std::string& id, Done done) override {
    parts_.replays.stop(ns, id, done);
  }

 private:
  Status list_backwards(EventPage& page);
  Status list_forwards(EventPage& page);
  /// The event of the namespace. An event that is older than the namespace is one of an earlier
  /// namespace with its name. Error `event.not_found`.
  Result<StoredEvent> event_of(std::string_view ns, const NamespaceRecord& record,
                               uint64_t sequence);

  const Parts parts_;
};

}  // namespace millrace
