// The reference model of retries, timeouts and operator control.
//
// The model holds one instance of one workflow. Time is a number. Whenever the model needs the due
// actions, it computes them from stored times (`dues`), so it has no timers that could be
// forgotten. The model is a Subject, so it can also replace the engine. control_model.cc has time,
// runs and states; control_model_calls.cc the calls and their failures; control_model_callbacks.cc
// accepted calls; control_model_commands.cc events, commands, the process and the broker;
// control_model_undoing.cc the compensations; control_model_observation.cc the observation.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/model/case.h"
#include "tests/model/policies.h"
#include "tests/model/subject.h"

namespace millrace::reference {

// Faults that an engine may have. The model can imitate each of them, to test that the random cases
// find it.
enum class Fault {
  kLateAnswerCounts,      // an answer after its deadline counts
  kDeadCallMadeAgain,     // a call that expired while the process was dead is repeated
  kRetryBeginsLastState,  // manual retry starts the state where the instance ended, not the failed
                          // one
  kRetryWithFirstData,    // manual retry starts with the data of the state's first entry
  kRetryKeepsError,       // manual retry starts with the .error of the failure in the data
  kRunsStayUsedUp,        // manual retry and restart do not restart the policy of the workflow
  kZartRetriesWaitTimeout,  // Zart's policy retries the timeout of a wait for events
  kInterruptIsRetried,      // the workflow's policy retries an uncaught interrupt
  kPerAttemptStays,  // after a manual retry, later entries and runs have per-attempt timeouts too
  kRetryIgnoresPausedWorkflow,
  kResumeForgetsHeartbeat,
  kStartBeginsWaitAnew,    // a restart of the process restarts the wait before a retry
  kDoubleAnswerCounts,     // an answer given twice counts for the next attempt
  kDeadlineIsRenewed,      // schedule_to_close restarts at each attempt
  kCatchBeforePolicy,      // a catch applies before every policy
  kInterruptTwice,         // the interrupt fires again after it was caught
  kRetryKeepsAttempts,     // manual retry continues the count of attempts
  kPauseHoldsNothing,      // step timers fire in a pause
  kResumeKeepsDeadlines,   // a resume does not restart the deadlines of the step
  kResumeRenewsExecution,  // a resume restarts the deadline of the execution
  kRestartKeepsDeadline,   // restart and rerun keep the old deadline of the execution
  kRerunWithLastData,      // rerun uses the final data of the instance
  kFinalTimeoutIsRetried,  // schedule_to_start and schedule_to_close are retried
  kWaitTimesOutWhileAway,  // the timeout of a wait fires while the broker is away
  // The faults from here on are about evaluated times and next runs, see make_case_of_values().
  kResumeMovesUntil,     // a resume restarts an `until` as if it were a timeout
  kNextRunKeepsLimits,   // continueAsNew keeps the run timeout, the interrupt and the kill
  kNextRunKeepsHistory,  // after continueAsNew, a rerun knows the states of the run before
  kAttemptIsNotCounted,  // $instance.attempt is 1 in each attempt
  // The faults from here on are about compensations, see make_case_of_compensations().
  kUndoesOldestFirst,    // the oldest compensation is made first
  kDeadlineEndsUndoing,  // the deadlines of the instance bound its compensations
  kRetryDropsNotes,      // a manual retry drops the compensations that are left
  kRestartKeepsNotes,
  kCompletionKeepsNotes,
  kFailedStateIsNoted,   // a state whose error was caught notes its compensation
  kStateRetriesUndoing,  // the policy of the state also retries its compensation
  kCancelForgetsWork,    // the work of a task that ends after a cancel is not noted
  // The faults from here on are about callbacks, see make_case_of_callbacks().
  kStaleKeyCounts,         // a callback about an earlier attempt ends the present one
  kRepetitionIsRefused,    // the repetition of the callback that has ended a task is refused
  kOtherAnswerIsTaken,     // each callback about a task that one has ended is accepted
  kOperatorAnswersAny,     // an operator answers a task that no service has accepted
  kAcceptanceBeginsAnew,   // an acceptance begins the attempt of a taken task again
  kAcceptedNeedsNoBeat,    // an accepted task has no heartbeat timeout
  kCallBackIsNoHeartbeat,  // a heartbeat by a callback does not restart the heartbeat timeout
  kProgressIsLost,         // the next attempt does not get the progress
  kBareBeatDropsProgress,  // a heartbeat without progress removes it
  kLast,
};

class Model : public Subject {
 public:
  Model() = default;
  // A model that replaces an engine, possibly with faults. The model chooses each jitter and each
  // result that the documents leave open by the seed, which is not 0.
  Model(std::set<Fault> faults, uint64_t seed) : faults_(std::move(faults)), seed_(seed) {}

  void begin(const Definition& definition, const std::string& yaml, const Json& input) override;
  void advance_to(Ms now) override;
  std::vector<TaskView> tasks() override;
  void take(const std::string& handle) override;
  void heartbeat(const std::string& handle) override;
  void answer(const std::string& handle, const Outcome& outcome) override;
  void accept(const std::string& handle) override;
  Reply call_back(const std::string& handle, const Callback& callback) override;
  void send_event(const std::string& type, const Json& payload) override;
  Reply command(Verb verb, const std::string& state = {}) override;
  void kill() override;
  void kill_after_commit() override {}
  void start_process() override;
  void broker_away() override;
  void broker_back() override;
  Observation observe() override;

  // The following functions are for the player.
  Ms now() const { return now_; }
  bool dead() const { return dead_; }
  bool away() const { return away_; }
  bool paused() const { return paused_ || workflow_paused_; }
  bool ended() const { return phase_ == Phase::kEnded; }
  bool waits_for_event() const;
  bool may_come_to_wait() const;
  bool may_wait() const;
  std::optional<Ms> next_due();  // the time of the next due action
  std::vector<Ms> moments();     // all stored times, also those that a pause or the broker holds
  // Whether the documents say how a callback about the task is answered now.
  bool knows_reply(const std::string& handle) const;
  // The callback that has ended the task; nullopt: none has.
  std::optional<Outcome> given(const std::string& handle) const;
  // The reply to that command; nullopt: the documents leave the reply open.
  std::optional<Reply> would(Verb verb, const std::string& state) const;
  void adopt(
      const Observation& subject);  // takes over values that the model knows only as intervals
  const std::string& undecided() const {
    return undecided_;
  }  // why the documents do not decide the next result
  // How often the model has done each thing, by name, so that a test knows what its cases have
  // covered.
  const std::map<std::string, int>& happened() const { return happened_; }

 private:
  enum class Phase { kLive, kBetweenRuns, kEnded };
  // kResting: waits for the next attempt; kAnswered: was answered in a pause, and the answer is not
  // applied yet
  enum class At { kResting, kOffered, kTaken, kAnswered, kDone, kFailed };

  struct Call {
    int serial = 0, index = 0;
    const Action* action = nullptr;
    Json input;
    int attempt = 0;
    At at = At::kResting;
    Ms first = -1;  // the time of the first attempt
    std::map<Limit, Ms> deadlines;
    Interval retry_at;
    Json result;
    Error error;
    std::optional<Ms> doubt;  // the attempt's deadline, if its timeout counts from the hand-out
    Ms rests_since = 0;
    bool skipped = false;
    bool accepted = false;                        // the present attempt
    std::optional<Json> progress, last_progress;  // the newest; that of the present attempt
  };

  // A compensation that was noted and not made.
  struct Note {
    std::string state;
    Json input;
  };

  // How an instance ends, and what of that is known.
  struct Ending {
    std::string status, code, message;
    bool run_known = true, data_known = true;
  };

  enum class Demand { kNo, kYes, kOpen };

  struct Due {
    Ms at;
    int rank;  // the order of deadlines of one time: the wider is first; 9 and above are wake-ups
    const char* what;  // the name for count(); "" if another place counts it
    std::function<void()> fire;
  };

  // time
  std::vector<Due> dues(bool held_back_too);
  void run_until_idle();
  // states
  void begin_run(const std::string& state, const Json& data);
  void enter(const std::string& state, const Json& data, bool by_retry = false, int attempt = 1);
  bool evaluate_time();
  void next_run();
  void start_calls();
  void go(const std::string& to);
  void leave();
  void finish();
  void succeed_wait(const Json& payload);
  // calls
  void offer(Call& call);
  void begin_attempt(Call& call);
  Call* open_call(const std::string& handle);
  Reply call_back_late(const std::string& handle, const Callback& callback);
  void expire(Call& call, Limit limit);
  void answer_after_cancel(int serial, const Outcome& outcome);
  void apply(Call& call, const Outcome& outcome);
  void call_failed(Call& call, const Error& error);
  void branch_failed(Call& call, const Error& error);
  void state_failed(Error error);  // applies the policy of a state without actions
  // ends
  void raise(const Error& error);
  void run_failed(const Error& raised);
  std::string first_code(const std::string& code) const;
  void run_out(const std::string& status, std::string code);
  void end(const std::string& status, const std::string& code, const std::string& message = {});
  void end_at_once(const Ending& ending);
  Ending ending(const std::string& status, const std::string& code,
                const std::string& message) const;
  void execution_expired();
  void await_run(Interval at);
  // compensations
  bool notes_each_call() const;
  void note();
  Demand demand(const std::string& status) const;
  void begin_undoing(const Ending& ending);
  void undo_next();
  void undone();
  void undoing_failed();
  void stop_undoing();
  void cancel();
  std::optional<Reply> would_cancel() const;
  std::optional<Reply> would_compensate(bool past) const;
  void compensate(bool past);
  std::optional<Policy> policy_of_call(const Call& call) const;
  void resume_current();
  void retry(bool extend);
  void doubt_run_limits();
  void read_stream_again();

  const State& current() const { return *definition_.find(state_); }
  bool caught(const std::string& code) const;
  Interval moment(Interval wait) const;
  std::optional<Ms> execution_time() const;
  void set_run_deadlines();
  bool running_after_cancel() const;
  std::string status_after_cancel() const;
  void doubt(const std::string& why) {
    if (undecided_.empty()) undecided_ = why;
  }
  void count(const std::string& what) {
    if (!what.empty()) happened_[what]++;
  }
  void choose();
  bool has(Fault f) const { return faults_.count(f) != 0; }

  Definition definition_;
  Json input_;
  Ms now_ = 0;
  bool dead_ = false, away_ = false, paused_ = false, workflow_paused_ = false;

  Phase phase_ = Phase::kEnded;
  std::string status_, code_, message_, failed_state_;  // of an ended instance
  int run_ = 0;
  int64_t runs_of_policy_ = 0;  // runs that the policy of the workflow has counted
  bool rerun_ = false;          // this run did not start at the first state
  Interval next_run_at_;
  std::optional<Ms> execution_deadline_, run_deadline_, kill_at_, interrupt_at_;
  std::optional<Ms> run_limits_doubt_;  // after a manual retry
  bool in_on_failure_ = false, on_failure_done_ = false;
  std::optional<Error> error_state_;  // the error of the first error state of this run
  std::string error_state_id_;
  std::string caught_before_error_;  // the state whose catch leads to the error state just entered

  std::string state_;
  Json data_;
  std::vector<Call> calls_;
  int serial_ = 0, offered_ = 0;
  bool per_attempt_ = false;  // a manual retry started the state
  std::optional<Ms> state_deadline_, wake_at_;
  std::optional<Ms> state_span_;  // the timeout of the state; no value if it is an `until`
  int state_attempt_ = 0;         // the attempt of a state that waits and has a policy
  Interval state_retry_at_;       // the time of that state's next attempt
  std::map<std::string, Json> last_entry_, first_entry_;
  std::map<std::string, int> entry_number_;  // by state: the number of its latest entry
  // By state: whether its latest entry came to a wait or a call.
  std::map<std::string, bool> acted_;
  int entries_ = 0, entries_at_once_ = 0;
  Ms entered_at_ = -1;
  bool error_before_retry_ = false;  // the instance passed an error state before the retried state

  std::vector<Note> notes_;        // the newest one is the last
  std::optional<Ending> undoing_;  // the end that follows the compensations
  bool undoing_waits_ = false;     // the first compensation begins at the end of the pause
  bool is_cancelling_ = false;     // the tasks of a cancelled instance may note compensations
  bool undo_failed_ = false;

  std::optional<std::string> pending_;  // a state to start at the end of the pause
  Json pending_data_;
  bool pending_by_retry_ = false;
  struct HeldAnswer {
    int call = 0;
    Outcome outcome;
    Ms at = 0;
  };
  std::vector<HeldAnswer> held_answers_;  // accepted in a pause, applied on resume
  std::optional<Ms> held_at_;             // when the answer came that is being applied
  std::optional<Json> held_event_;
  std::map<std::string, Outcome> given_;  // the callbacks that have ended tasks, by handle
  std::set<std::string> open_replies_;    // the tasks about which a later reply is not known
  std::deque<Json> kept_events_;          // payloads of events that came before a wait
  bool passed_event_ = false;             // an event without a wait came to this process
  std::optional<int> entries_at_start_;   // of a process that has not read the stream yet

  bool data_known_ = true, run_known_ = true;  // of an ended instance

  std::string undecided_;
  std::set<Fault> faults_;
  uint64_t seed_ = 0;
  std::map<std::string, int> happened_;
};

}  // namespace millrace::reference
