// LiveHub: makes the live messages for all clients that watch. It takes the changes of the engine
// from the watch ring, reads what it shows from the store or asks LiveReads for it, and encodes
// each message once for all clients that want the same. advance() is called by one thread, ten
// times a second while is_watched(); add() and check() by any thread. It has no clock but the one
// that names the time in messages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/cursor.h"
#include "orchestrator/loop/work_totals.h"
#include "orchestrator/outgoing/watch_ring.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/broker_topics.h"
#include "orchestrator/service/live_reads.h"
#include "orchestrator/service/live_request.h"
#include "orchestrator/service/live_sink.h"
#include "orchestrator/service/live_stream.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/work_rates.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

class LiveHub {
 public:
  /// All parts outlive the hub.
  struct Parts {
    Environment& environment;
    Queries& queries;
    WatchRing& ring;
    LiveReads& reads;
    const Clock& clock;
    std::function<Cursor()> applied;  ///< how far the engine has applied the event stream
    std::function<Json()> levels;     ///< the gauges of the server
    /// What the batches have done since the process started.
    std::function<WorkTotals::Sums()> totals;
    std::string boot;  ///< names this process in the ids of messages
    std::string version;
    /// A step reads about so many rows of a namespace for `counts`: the numbers of a namespace with
    /// more rows are read in every second step, in every third, and so on.
    size_t count_rows_per_step = 20'000;
  };

  /// Calls of advance() between two messages of a kind.
  static constexpr uint64_t kTenthsPerStep = 5;     ///< `instances` and `counts`: half a second
  static constexpr uint64_t kTenthsPerLevels = 10;  ///< a second
  /// For so many calls of advance() after the last client has left, changes are still noted.
  static constexpr uint64_t kLingerTenths = 300;
  /// How far back a client can continue: steps, and changed instances in them.
  static constexpr size_t kMostSteps = 1'000;
  static constexpr size_t kMostLoggedChanges = 50'000;
  /// The most instances in one message.
  static constexpr size_t kMostItems = kMostLiveItems;

  explicit LiveHub(Parts parts) : parts_(std::move(parts)), broker_topics_(parts_.reads) {}

  /// Whether the namespace, the workflow and the instance of the request exist.
  Status check(const LiveRequest& request);

  /// The client gets `hello` at once, and then what it has asked for; of events, those behind the
  /// one that `hello` names.
  void add(LiveRequest request, std::shared_ptr<LiveSink> sink);

  void advance();

  /// Whether advance() must be called.
  bool is_watched() const { return is_watched_; }

 private:
  using Stream = LiveStream;
  /// The changed instances of some time; of each only the last change.
  using Changes = std::map<InstanceId, WatchedChange>;
  /// What the id of a message says.
  struct MessageId {
    uint64_t step = 0;
    std::optional<uint64_t> event;  ///< the newest event that the client has got
    uint64_t record = 0;            ///< the last record of the history that it has got; 0: none
  };
  struct Step {
    uint64_t number = 0;
    Changes changes;
    uint64_t lost = 0;
  };
  /// The numbers of a namespace.
  struct SpaceCounts {
    StatusCounts now;         ///< as they were read last
    StatusCounts changed;     ///< those that were different when they were read before
    bool is_known = false;    ///< they were read
    bool is_read = false;     ///< in this step
    bool is_due = true;       ///< instances may have changed since they were read
    bool is_watched = false;  ///< in this step
    uint64_t next_step = 0;   ///< the first step that may read them again
  };

  std::optional<Cursor> applied_events() const;
  void take_new_streams();
  bool take_changes();
  void count_unnoted_changes();
  void step(const View& view);
  void continue_stream(const View& view, Stream& stream);
  Json levels();
  void send_levels();
  void send_history(const View& view, Stream& stream);
  void send_instances(const View& view, const Stream& stream, const Step& step,
                      const std::string& key);
  void find_place(const View& view, Stream& stream);
  void read_counts(const View& view);
  void read_counts_of(const View& view, NamespaceNumber ns, SpaceCounts& counts);
  void send_counts(Stream& stream);
  std::optional<MessageId> read_id(const std::string& text) const;
  std::optional<Step> since(uint64_t last) const;
  void log_step();
  void drop_closed();
  std::string id(const Stream& stream) const;
  /// The message, made by `make` unless another stream with that key got it in this step.
  std::shared_ptr<const std::string> shared(const std::string& key,
                                            const std::function<std::string()>& make);

  const Parts parts_;
  BrokerTopics broker_topics_;
  std::mutex lock_;
  std::vector<Stream> new_;  ///< guarded by lock_
  bool begins_ = false;      ///< guarded by lock_; the first client has come
  std::atomic<bool> is_watched_ = false;

  // Used by advance() only.
  std::vector<Stream> streams_;
  WorkRates rates_;  ///< of `levels`; looks at the sums only while a stream wants them
  uint64_t tenths_ = 0;
  uint64_t steps_ = 0;                             ///< the number of the last step
  uint64_t unsure_steps_ = 0;                      ///< see count_unnoted_changes(); 0: none
  uint64_t known_from_ = 1;                        ///< the first step whose changes are all known
  uint64_t idle_tenths_ = 0;                       ///< since the last client has left
  Step current_;                                   ///< the changes since the last step
  std::deque<Step> log_;                           ///< the latest steps that have changes
  size_t logged_ = 0;                              ///< changes in log_
  std::map<NamespaceNumber, SpaceCounts> counts_;  ///< of the namespaces that a stream counts
  std::map<std::string, std::shared_ptr<const std::string>> made_;  ///< in this step, by key
};

}  // namespace millrace
