// The inputs of a workflow engine, and what can be observed of it, as far as the documents of the
// policies define both. The reference model and the adapter of the engine under test implement this
// interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace millrace::reference {

using Ms = int64_t;  // virtual time, counted from the start of the instance

struct Definition;  // see case.h

// A task that the engine has handed out and still waits for. A task of an earlier attempt, of an
// earlier state or of an ended instance is over.
struct TaskView {
  std::string
      handle;   // the name of the task in the Subject; not compared, valid after the task is over
  int run = 1;  // counted from 1
  std::string state;
  int index = 0;       // branch of a parallel, item of a foreach; 0 elsewhere
  int attempt = 1;     // counted from 1
  bool taken = false;  // whether a worker has the task
  Json input;
  bool accepted = false;  // its service answers it by a callback
  // What the newest heartbeat with progress said of the call; and what the task was handed out
  // with.
  std::optional<Json> progress = {}, last_progress = {};
};

struct Interval {
  Ms low = -1, high = -1;  // -1: there is no time
  bool operator==(const Interval&) const = default;
};

// What can be observed of an instance. A field without a value is not compared: the system under
// test (a Subject) does not show the field, or the documents leave its value open. The model may
// give several right texts, separated by '|'; the system under test gives one.
struct Observation {
  // pending, running, waiting (for an event, a delay, the next attempt, the next run), paused,
  // complete, failed, cancelled, timedout
  std::optional<std::string> status;
  // Whether the instance itself is paused; a pause of its workflow does not count.
  std::optional<bool> paused;
  std::optional<std::string> state;  // the current state
  std::optional<int> run;
  std::optional<int> attempt;                // the attempt of the action in the current state
  std::optional<Json> data;                  // the data; of a complete instance, its output
  std::optional<std::string> error_code;     // of an ended instance; "" = none
  std::optional<std::string> error_message;  // the model gives a part of the text of the Subject
  std::optional<Interval> next_retry_at;     // a Subject gives low == high
  std::optional<std::vector<Ms>>
      deadline;  // the model gives all stored deadlines; a Subject gives the one that it shows
  std::optional<std::string> failed_state;  // of an ended instance; "" = none
  std::optional<std::vector<TaskView>> tasks;
  std::optional<int> calls;         // the number of tasks that were handed out for this instance
  std::optional<int> notes;         // the number of compensations that were noted and not made
  std::optional<bool> undo_failed;  // of an ended instance: a compensation has failed for good
};

enum class Verb {
  kCancel,
  kPause,
  kResume,
  kPauseWorkflow,
  kResumeWorkflow,
  kRetry,
  kRetryExtend,
  kRestart,
  kRerun,
  kCompensate,
  kCompensatePast
};
enum class Reply { kAccepted, kConflict /* 409 */, kOther };

struct Outcome {
  bool ok = true;
  Json result;       // if ok
  std::string code;  // if not ok
  std::string message;
};

// What a service says by a callback about a task that it has accepted, or will accept.
struct Callback {
  bool is_heartbeat = false;
  Outcome outcome;               // if it is no heartbeat: `complete` or `fail`
  std::optional<Json> progress;  // of a heartbeat
  bool by_operator = false;      // an operator answers in place of the service
};

class Subject {
 public:
  virtual ~Subject() = default;

  // Stores the workflow and starts one instance at 0 ms. The engine reads `yaml`, the model reads
  // `definition`; both describe the same workflow.
  virtual void begin(const Definition& definition, const std::string& yaml, const Json& input) = 0;

  // Moves the clock and runs all actions that are due until then, `now` included, each at its time.
  // While the process is dead only the clock moves.
  virtual void advance_to(Ms now) = 0;

  // What the following functions do happens at the current time, after all actions that are due at
  // that time.
  virtual std::vector<TaskView> tasks() = 0;
  virtual void take(const std::string& handle) = 0;
  virtual void heartbeat(const std::string& handle) = 0;
  virtual void answer(const std::string& handle,
                      const Outcome& outcome) = 0;  // the answer may be late, or a second one
  virtual void accept(const std::string& handle) = 0;
  // kAccepted: it is on disk. kConflict: the task is over, and nothing was changed.
  virtual Reply call_back(const std::string& handle, const Callback& callback) = 0;
  virtual void send_event(const std::string& type, const Json& payload) = 0;
  virtual Reply command(Verb verb, const std::string& state = {}) = 0;  // `state` is for a rerun
  virtual void kill() = 0;  // the process dies; the store stays
  // The process will be killed after its next commit, before the actions after that commit. The
  // caller must call kill() later.
  virtual void kill_after_commit() = 0;
  virtual void start_process() = 0;  // runs all due actions before it returns
  virtual void broker_away() = 0;
  virtual void broker_back() = 0;     // runs all due actions before it returns
  virtual Observation observe() = 0;  // without values while the process is dead
};

}  // namespace millrace::reference
