// A reference model of the limits of calls: `concurrency`, `throttle` and `priority` of functions.
// It was written from docs/language.md ("Concurrency of calls", "Throttle of calls"),
// docs/functions.md and docs/operating.md, and never from the engine. It knows no store: a crash
// changes nothing in it. For use by one thread.
//
// Where the documents leave a question open, the model reads them like this:
// 1. Of several attempts that are made at one time in different instances, any may come first, and
//    find a free slot (Model::is_handed_out), as after retries that the resume of a service has put
//    on one time. Those of one instance come in the order of its calls.
// 2. A call that waits for a slot or a throttle and whose time is over at the time at which others
//    end, fails before any of them gets a slot.
// 3. If calls with several keys of slots come to one throttle at one time, any of them may be first
//    there, and so may one that has waited there (Model::is_handed_out).
// 4. A time that was over while no process was there counts as it was: the wait of a call ends by
//    it, although its throttle would permit the call when the process starts.
// 5. If a slot becomes free, the throttle permits a call, or a call that waits before others ends,
//    at the time at which other attempts are made, either may be first.
// 6. All calls of a service with a throttle have one `period`: with different ones, how long a call
//    counts is not exact.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace millrace::call_limit_model {

enum class Shape : uint8_t { kAction, kForeach, kDetached, kCompensation };

/// What a workflow says of its calls. A duration of zero is a key that it does not have.
struct Limits {
  std::string service;
  Shape shape = Shape::kAction;
  int slots = 0;  ///< `concurrency.limit`; 0: it has none
  bool slot_keyed = false;
  Duration slot_timeout{0};
  int rate = 0;  ///< `throttle.limit`; 0: it has none
  Duration period{0};
  bool rate_keyed = false;
  Duration rate_timeout{0};
  bool priority = false;
  int attempts = 1;
  Duration retry_delay{0};
  Duration start_timeout{0};  ///< `scheduleToStartTimeout`
  Duration run_timeout{0};    ///< `startToCloseTimeout`

  bool limited() const { return slots > 0 || rate > 0; }
};

/// What a call is made with.
struct Input {
  std::string order;
  std::string customer = "c1";  ///< the key
  int rank = 0;                 ///< the priority
  bool bad_customer = false;    ///< the key is too long
  bool bad_rank = false;        ///< the priority is no integer
};

/// What has become of the newest attempt of a call.
enum class Stage : uint8_t {
  kSlot,      ///< it waits for a slot
  kThrottle,  ///< it waits for the throttle
  kHeld,      ///< it has no limit, and its service is paused
  kOut,       ///< it is handed out
  kBetween,   ///< it has failed, and another one follows
  kAnswered,  ///< its result waits for the resume of the instance
  kEnded,
};

struct Call {
  Input input;
  Limits limits;
  size_t workflow = 0;
  std::optional<size_t> instance;  ///< nullopt: it is detached
  Stage stage = Stage::kEnded;
  int attempt = 0;
  bool holds = false;  ///< a slot
  bool started = false;
  TimePoint made;      ///< when the attempt was made
  uint64_t place = 0;  ///< of the attempt, in the order in which all were made
  uint64_t came = 0;   ///< with which others it came from a slot to the throttle; 0: it did not
  std::optional<TimePoint> wait_end;
  std::optional<TimePoint> start_end;
  std::optional<TimePoint> run_end;
  std::optional<TimePoint> retry_at;

  bool waits() const { return stage == Stage::kSlot || stage == Stage::kThrottle; }
  bool open() const { return stage != Stage::kEnded; }
};

enum class State : uint8_t { kWaiting, kUndoing, kComplete, kFailed, kCancelled };

struct Instance {
  std::string order;
  size_t workflow = 0;
  State state = State::kWaiting;
  std::string code;  ///< of the error with which it has ended
  bool paused = false;
  bool cancelling = false;  ///< its tasks may finish
  std::vector<size_t> calls;

  bool active() const { return state == State::kWaiting || state == State::kUndoing; }
};

/// The error of instances that end with a compensation.
inline constexpr const char* kCause = "my.error";

/// A fault of the model. The tests plant it to show that random cases find such a difference.
enum class Fault : uint8_t {
  kNone,
  kOneSlotMore,
  kNoPriority,
  kNewestFirst,
  kSlotsPerWorkflow,  ///< each workflow has slots of its own
  kDetachedIsFree,    ///< a detached call needs no slot
  kUndoingIsFree,     ///< a compensation needs no slot
  kHoldsBetween,      ///< a call keeps its slot between two attempts
  kOneCallMore,       ///< the throttle permits a call too many
  kRetriesCountNot,   ///< the throttle counts first attempts only
  kOvertakes,         ///< a call with a higher limit passes one that waits before it
  kPausedBlocks,      ///< a call of a paused instance keeps those behind it waiting
  kPauseIsNotHeld,    ///< the pause of a service does not hold the time of the waits
  kThrottleHoldsNot,  ///< a call gives its slot back while it waits for the throttle
};

/// What the calls of one service and key share.
using Key = std::pair<std::string, std::string>;

class Model {
 public:
  Model(std::vector<Limits> workflows, TimePoint now, Fault fault = Fault::kNone)
      : workflows_(std::move(workflows)), fault_(fault), now_(now) {}

  /// Whether the engine has handed out that attempt of the order.
  std::function<bool(const std::string& order, int attempt)> is_handed_out;
  /// Whether the engine has given the newest attempt of that call a slot.
  std::function<bool(size_t call)> has_slot;

  // What is asked.

  /// Starts an instance, which makes a call with each input; all but a foreach have one.
  void start(size_t workflow, const std::vector<Input>& inputs);
  void begin(size_t call);  ///< its service has started the newest attempt
  void succeed(size_t call);
  void fail(size_t call, const std::string& code);
  void cancel(size_t instance, bool now);
  void pause(size_t instance);
  void resume(size_t instance);
  void pause_service(const std::string& service, bool paused);
  void change(size_t workflow, const Limits& limits) { workflows_[workflow] = limits; }
  /// Lets time pass. With `dead`, there was no process until then, and what was due happens at
  /// `to`. Precondition of `dead`: at most one time was due.
  void advance(TimePoint to, bool dead = false);
  std::optional<TimePoint> next_due() const;

  // What is seen.

  TimePoint now() const { return now_; }
  const std::vector<Limits>& workflows() const { return workflows_; }
  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<Instance>& instances() const { return instances_; }
  const std::set<std::pair<std::string, int>>& handed_out() const { return handed_out_; }
  bool is_paused(const std::string& service) const { return paused_services_.contains(service); }
  /// Whether the instance of the call is paused.
  bool is_left_out(const Call& call) const {
    return call.instance && instances_[*call.instance].paused;
  }
  std::string status(const Instance& instance) const;
  Key slot_key(const Call& call) const;
  Key throttle_key(const Call& call) const;
  int held(const Key& key) const;
  /// The call that is next of those that wait at the stage for the key.
  std::optional<size_t> next_of(Stage stage, const Key& key) const;
  /// When the throttle permits the call; nullopt: now.
  std::optional<TimePoint> permitted_at(const Call& call) const;

 private:
  Key key_at(Stage stage, const Call& call) const;
  bool goes_before(const Call& one, const Call& other) const;
  int rank_of(const Call& call) const;
  bool may_change_places(const Call& one, const Call& other) const;
  bool is_permitted_from_now(const Call& call) const;
  bool was_taken(const Call& call) const;
  bool counts_time(const Call& call) const;
  void arm(Call& call);
  void make_attempt(size_t which);
  void take_slot(size_t which);
  void ask_throttle(size_t which);
  void pass_throttle(size_t which);
  void hand_out(size_t which);
  bool has_room(const Call& call) const;
  bool admit(Stage stage);
  void settle();
  void end_call(size_t which);
  void end_attempt(size_t which, const std::string& code, bool is_final = false);
  void end_instance(size_t which, State state, const std::string& code);
  void finish(size_t which);
  void finish_cancel(size_t which);
  void time_out(size_t which);
  std::vector<size_t> by_time_of_timeout() const;
  void happen();
  std::set<Key> keys_at(Stage stage) const;

  std::vector<Limits> workflows_;
  Fault fault_;
  TimePoint now_;
  std::optional<TimePoint> freed_at_;  ///< when a call that held a slot or waited has ended last
  std::vector<Call> calls_;
  std::vector<Instance> instances_;
  std::set<std::pair<std::string, int>> handed_out_;
  std::set<std::string> paused_services_;
  std::map<Key, std::vector<TimePoint>> passed_;  ///< of each key of a throttle
  uint64_t places_ = 0;
  uint64_t settled_ = 0;      ///< how often slots and throttles were given to those that wait
  bool gives_slots_ = false;  ///< to calls that come to the throttle with others
  bool resumes_ = false;      ///< a service is being resumed
};

}  // namespace millrace::call_limit_model
