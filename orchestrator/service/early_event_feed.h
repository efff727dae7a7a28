// EarlyEventFeed: gives the search for early events what the reader of the event stream delivers,
// so that the search need not read it from the broker. It stands between the reader and its sink,
// and copies the attributes of the events of the namespaces that the search follows, before it
// passes them on. Any thread; deliver() and opening() are for the reader thread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/attributes.h"
#include "base/time.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// The memory of the events that the search has not taken yet.
struct FeedLimits {
  size_t namespace_bytes = size_t{32} << 20;  ///< of one namespace
  size_t all_bytes = size_t{64} << 20;        ///< of all namespaces
};

/// An event without its data.
struct FedEvent {
  uint64_t sequence = 0;
  TimePoint stamped;  ///< when the broker stored it
  Attributes attributes;
};

/// What the feed has of a namespace.
struct FedEvents {
  int64_t created = 0;  ///< the stream, as Cursor::stream_created; 0: the feed has nothing
  uint64_t first = 0;   ///< the feed has all events of the namespace from this sequence on …
  uint64_t last = 0;    ///< … to this one, the newest that was delivered, of any namespace
  /// When the message `last` was stored; nullopt: it was not delivered since the stream was opened.
  std::optional<TimePoint> stamped;
  /// The number, from 1, of the stretch of the stream: deliveries without an opening, a loss or a
  /// missing sequence between them.
  uint64_t stretch = 0;
  /// Whether no event is missing between what was read before and `first`. Then `events` has the
  /// events after what was read, and the feed has them no longer.
  bool continues = false;
  std::deque<FedEvent> events;  ///< ascending by sequence
};

class EarlyEventFeed final : public DeliverySink {
 public:
  /// `sink`, which gets all deliveries, outlives the object.
  explicit EarlyEventFeed(DeliverySink& sink, FeedLimits limits = {})
      : sink_(sink), limits_(limits) {}

  // DeliverySink. While no namespace is followed, a delivery costs a look at its sequence.
  bool deliver(std::vector<Delivery> deliveries) override;
  void opening() override { sink_.opening(); }

  /// From the next call of deliver() on, the feed has the events of the namespace.
  void follow(const std::string& ns);
  void forget(const std::string& ns);

  /// What the feed has of the namespace for a search that has read the stream `created` up to the
  /// sequence `read_to`.
  FedEvents take(const std::string& ns, int64_t created, uint64_t read_to);

 private:
  /// The events of one namespace. Beyond a limit they are dropped.
  struct FedQueue {
    uint64_t first = 0;  ///< as FedEvents::first; 0: not known yet
    std::deque<FedEvent> events;
    size_t bytes = 0;
  };
  /// How far the reader has delivered the stream.
  struct FedTo {
    int64_t created = 0;  ///< 0: the stream is not open
    uint64_t sequence = 0;
    std::optional<TimePoint> stamped;
    uint64_t stretch = 0;
  };

  std::optional<uint64_t> note(const Delivery& delivery);
  std::optional<uint64_t> note_message(uint64_t sequence, TimePoint stamped);
  void begin_followed();                            ///< the caller holds `mutex_`
  void begin_anew(uint64_t first);                  ///< the caller holds `mutex_`
  void add(const EventInput& event);                ///< the caller holds `mutex_`
  void drop(FedQueue& queue, uint64_t next_first);  ///< the caller holds `mutex_`

  DeliverySink& sink_;
  const FeedLimits limits_;
  std::atomic<size_t> followed_ = 0;  ///< the size of queues_

  FedTo reader_;  ///< only for the reader thread

  std::mutex mutex_;  // guards the members below
  std::unordered_map<std::string, FedQueue> queues_;
  bool has_new_ = false;  ///< a namespace was added to queues_ since the latest delivery
  size_t bytes_ = 0;      ///< of all queues
  FedTo fed_to_;          ///< reader_ after the latest delivery; old while no namespace is followed
};

}  // namespace millrace
