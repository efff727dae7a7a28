// A reference model of the starts of one workflow: `singular`, `rateLimit`, `debounce`, `batch`,
// `concurrency`, `throttle` and `priority`. It was written from docs/language.md, docs/operating.md
// and docs/promises.md, and never from the engine. It knows no store: neither a crash nor a
// takeover changes anything in it. For use by one thread.
//
// Where the documents leave a question open, the model reads them like this:
// 1. A start that waits for a slot counts for `rateLimit` from its creation on. A start that is
//    refused or skipped, or whose key or priority is no value, does not count.
// 2. If several limits refuse a start, it is refused with any of their codes.
// 3. A start that `debounce` has put off, and that `singular` does not permit, is tried again every
//    10 seconds from the time at which it was due. A restart of the process does not move these
//    times.
// 4. Of pending starts that are due at one time, any may be first (Model::has_started), and so may
//    a pending start and the deadline of an instance.
// 5. A newer request for a pending start whose `timeout` has passed lets it be tried at once.
// 6. While the workflow is paused, a start takes a free slot for which no start waits. It starts as
//    `paused`.
// 7. If `singular` and `rateLimit` refuse a start that `debounce` has put off, it is tried again
//    when `rateLimit` permits it, and its caller gets the error of `singular`.
// 8. An instance takes events from when it has its slot and has passed the throttle, also while it
//    is paused.
// 9. After a time without a process, deadlines that have passed apply in the order in which they
//    were due, and a slot that becomes free by one is given away before the next one applies.
// 10. When a workflow is resumed, all its instances are resumed before one of its starts gets a
//     slot or passes the throttle. Which of both comes first is open, so no play depends on it.
// 11. `concurrency`, `throttle` and `priority` of a workflow with `batch` read the data of the
//     instance, as of every start; the definitions of the model read the first input.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"

namespace millrace::queue_model {

enum class OnLimit : uint8_t { kQueue, kReject, kSkip, kReplace };
enum class StartType : uint8_t { kDefault, kEvent, kGroup, kScheduled };

/// The workflow `w`. Its instances wait for an event `go` with their order, and fail after
/// `body_timeout`. A duration of zero is a key that the definition does not have.
struct Definition {
  bool singular = false;
  int limit = 0;  ///< of `concurrency`; 0: the workflow has none
  bool keyed = false;
  OnLimit on_limit = OnLimit::kQueue;
  Duration queue_timeout{0};
  bool priority = false;
  int rate_limit = 0;  ///< 0: no `rateLimit`
  Duration rate_period{0};
  bool rate_keyed = false;
  Duration debounce_period{0};
  Duration debounce_timeout{0};
  bool debounce_keyed = false;
  int batch_size = 0;  ///< `maxSize`; 0: no `batch`
  Duration batch_timeout{0};
  bool batch_keyed = false;
  int throttle_limit = 0;  ///< 0: no `throttle`
  Duration throttle_period{0};
  Duration throttle_timeout{0};
  bool throttle_keyed = false;
  StartType start = StartType::kDefault;
  Duration body_timeout{0};

  bool debounced() const { return debounce_period > Duration(0); }
  bool batched() const { return batch_size > 0; }
  bool throttled() const { return throttle_limit > 0; }
  /// Whether starts wait for slots.
  bool queues() const { return limit > 0 && on_limit == OnLimit::kQueue; }
};

/// The definition as YAML.
std::string yaml_of(const Definition& definition);

/// The order of the starts that have no input: ticks.
inline constexpr const char* kTickOrder = "tick";
/// What joins the orders of a batch to the order of its instance: `o0001+tick+o0003`.
inline constexpr char kAndOrder = '+';
/// The order of the event `go` for which an instance waits: of a batch, that of its first input.
inline std::string awaited_order(const std::string& order) {
  return order.substr(0, order.find(kAndOrder));
}
/// How often `schedule` ticks: at each multiple of ten minutes.
inline constexpr Duration kTicks = std::chrono::minutes(10);

/// Who asks for a start. kCall is a request of a client.
enum class By : uint8_t { kCall, kEvent, kTick, kSubflow };

/// One request for a start, with what its input says.
struct Start {
  By by = By::kCall;
  std::string order;            ///< unique, but for ticks; of a batch, those of its inputs
  std::string customer = "c0";  ///< the key
  int rank = 0;                 ///< the priority
  bool bad_customer = false;    ///< the key is too long
  bool bad_rank = false;        ///< the priority is no integer
};

enum class State : uint8_t { kQueued, kHolding, kComplete, kFailed, kCancelled };

struct Instance {
  Start start;
  State state = State::kQueued;
  std::string code;     ///< of the error with which it has ended
  TimePoint began;      ///< when it was created
  bool waited = false;  ///< it has been in the queue, or has waited for the throttle
  bool paused = false;  ///< by itself; its workflow may be paused, too
  bool gone = false;    ///< it has its event, which it processes when it is resumed
  /// It waits for the throttle. Its state is kHolding: it has its slot, if the workflow has slots.
  bool throttled = false;
  uint64_t place = 0;  ///< in the order of the starts
  uint64_t held_since = 0;
  uint64_t throttle_place = 0;  ///< in the order of those that have come to the throttle
  std::optional<TimePoint>
      deadline;    ///< of its wait in the queue or for the throttle, or of its state
  int chain = -1;  ///< of the pending start that it was; -1: none

  bool active() const { return state == State::kQueued || state == State::kHolding; }
  /// Whether its first run has started, and it has not ended.
  bool runs() const { return state == State::kHolding && !throttled; }
};

/// A start that `debounce` has put off, or a batch.
struct Pending {
  Start start;   ///< the newest request; of a batch, the start of its instance
  TimePoint at;  ///< when it starts, or is tried again
  std::optional<TimePoint> latest;
  int chain = 0;
  bool has_subflow = false;        ///< of `debounce`: one of its requests came from a subflow
  std::vector<Start> inputs = {};  ///< of a batch
};

/// What the caller of a subflow gets.
struct Caller {
  bool waits = true;
  bool cancelled = false;
  /// The error codes of which it has one; empty text: it is complete; `*`: any code.
  std::set<std::string> ends;
};

/// The answer to a request.
struct Answer {
  std::set<std::string> refused;  ///< it is refused with one of these codes; empty: it is not
  uint32_t retry_after = 0;       ///< seconds, with `millrace.rateLimit`
  bool put_off = false;
  TimePoint starts_at;  ///< if it is put off
  int chain = -1;
  bool has_subflow = false;
};

/// A fault of the model. The tests plant it to show that random cases find such a difference.
enum class Fault : uint8_t {
  kNone,
  kOneSlotMore,         ///< a key has a slot too many
  kNoPriority,          ///< the starts that wait go by their place only
  kNewestFirst,         ///< of equal priorities, the last start goes first
  kForgetsAfterCancel,  ///< the slot of a cancelled instance goes to no start that waits
  kFirstInputCounts,    ///< a newer request moves a pending start, and its input does not count
  kRefusalsCount,       ///< a refused start counts for `rateLimit`
  kOneStartMore,        ///< the throttle permits a start too many
  kCountsWhileItWaits,  ///< a start counts for the throttle from its creation on
  kOneInputMore,        ///< a batch has an input too many
  kTimeoutMoves,        ///< each input moves the time at which its batch starts
};

class Model {
 public:
  Model(Definition definition, TimePoint now, Fault fault = Fault::kNone);

  /// Decides which of several pending starts of one time is first, which the documents leave open:
  /// whether the engine has started this order at this time.
  std::function<bool(const std::string& order, TimePoint at)> has_started;
  /// Likewise for a pending start and a deadline: whether the engine has replaced this order.
  std::function<bool(const std::string& order)> is_replaced;

  Answer request(const Start& start);
  /// The event `go` for the instances of an order.
  void go(const std::string& order);
  void cancel(size_t which);
  void cancel_caller(const std::string& order);
  void pause(size_t which);
  void resume(size_t which);
  void pause_workflow(bool paused);
  /// The command is refused with one of these codes; empty: it starts a new run.
  std::set<std::string> restart(size_t which);
  void set_limit(int limit);
  void set_throttle_limit(int limit);
  void set_batch(int size, Duration timeout);

  /// Lets time pass. With `dead`, there was no process until then, and all that was due happens at
  /// `to`, in the order of the times at which it was due.
  void advance(TimePoint to, bool dead = false);
  std::optional<TimePoint> next_due() const;

  const Definition& definition() const { return definition_; }
  TimePoint now() const { return now_; }
  bool workflow_paused() const { return workflow_paused_; }
  const std::vector<Instance>& instances() const { return instances_; }
  const std::map<std::string, Pending>& pending() const { return pending_; }
  const std::map<std::string, Caller>& callers() const { return callers_; }
  size_t dead_letters() const { return dead_letters_; }
  bool is_paused(size_t which) const { return workflow_paused_ || instances_[which].paused; }
  /// The status that the instance shows.
  std::string status(size_t which) const;
  std::string slot_key(const Start& start) const;
  int held(const std::string& key) const;
  bool has_room(const std::string& key) const;
  /// The starts that wait for a slot of the key, the next one first.
  std::vector<size_t> queue(const std::string& key) const;

  // The throttle (queue_throttle.cc).

  std::string throttle_key(const Start& start) const;
  /// The keys with starts that take turns.
  std::set<std::string> throttle_keys() const;
  /// The starts that take turns at the throttle for the key, the next one first.
  std::vector<size_t> throttled(const std::string& key) const;
  /// When the throttle permits the next start of the key; nullopt: now.
  std::optional<TimePoint> throttle_permits_at(const std::string& key) const;

 private:
  enum class What : uint8_t { kDeadline, kPending, kTick, kRelease };
  struct Due {
    TimePoint at;
    What what = What::kDeadline;
    size_t which = 0;  ///< an instance
    std::string key;   ///< of a pending start, or of the throttle
  };

  std::optional<Due> next() const;
  bool comes_before(const Pending& one, const Due& other) const;
  void time_out(size_t which);
  void happen(const Due& due);
  /// When one more start is permitted, if no more than `limit` are in any time of that length;
  /// nullopt: now.
  std::optional<TimePoint> permitted_at(const std::vector<TimePoint>& starts, int limit,
                                        Duration period) const;
  /// Whether a start goes before another one that has a later place, or a lower priority.
  bool goes_before(const Start& one, uint64_t place, const Start& other,
                   uint64_t other_place) const;
  std::string rate_key(const Start& start) const;
  std::optional<TimePoint> rate_permits_at(const Start& start) const;
  std::set<std::string> refusals(const Start& start) const;
  std::set<std::string> slot_refusals(const Start& start) const;
  Answer put_off(const Start& start);
  Answer join_batch(const Start& start);
  void try_pending(const std::string& key);
  void create(const Start& start, int chain);
  void replace_oldest(const std::string& key);
  void hold(size_t which, bool is_start = true);
  Duration length_of_wait(const Instance& one) const;
  void begin_wait(size_t which);
  void end(size_t which, State state, const std::string& code);
  void unpause(size_t which);
  void admit(const std::string& key);
  void admit_all();
  bool takes_turns(size_t which) const;
  void ask_throttle(size_t which);
  void pass_throttle(size_t which);
  void release(const std::string& key);
  void release_all();
  void answer_caller(const Start& start, std::set<std::string> ends);

  Definition definition_;
  Fault fault_;
  TimePoint now_;
  TimePoint next_tick_;
  bool workflow_paused_ = false;
  std::vector<Instance> instances_;
  std::map<std::string, Pending> pending_;  ///< by the key, or by the number of a full batch
  std::map<std::string, Caller> callers_;
  std::map<std::string, std::vector<TimePoint>> starts_;     ///< of each key of `rateLimit`
  std::map<std::string, std::vector<TimePoint>> permitted_;  ///< of each key of `throttle`
  size_t dead_letters_ = 0;
  uint64_t places_ = 0;
  int chains_ = 0;
};

}  // namespace millrace::queue_model
