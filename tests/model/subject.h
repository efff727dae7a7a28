// The inputs and observations of a workflow engine, as far as the policies define them. The
// reference model and the adapter of the engine under test implement this interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace millrace::reference {

using Ms = int64_t;  // virtual time, counted from the start of the instance

struct Definition;  // case.h

// One call of a function that the engine has handed out and that is not over for the engine. A call
// of an earlier attempt, of an earlier state or of an ended instance is over.
struct TaskView {
  std::string
      handle;   // the name of the task in the subject; not compared, valid after the task is over
  int run = 1;  // counted from 1
  std::string state;
  int index = 0;       // branch of a parallel, item of a foreach; 0 elsewhere
  int attempt = 1;     // counted from 1
  bool taken = false;  // a worker has it
  Json input;
};

struct Interval {
  Ms low = -1, high = -1;  // -1: there is none
  bool operator==(const Interval&) const = default;
};

// A field without a value is not compared, because a subject does not show it or the documents
// leave it open. The model may give several right texts, separated by '|'. A subject gives one.
struct Observation {
  // pending, running, waiting (for an event, a delay, the next attempt, the next run), paused,
  // complete, failed, cancelled, timedout
  std::optional<std::string> status;
  std::optional<bool> paused;        // the instance itself, not its workflow
  std::optional<std::string> state;  // the current state
  std::optional<int> run;
  std::optional<int> attempt;                // of the action of the current state
  std::optional<Json> data;                  // the state data; the output once it is complete
  std::optional<std::string> error_code;     // of an ended instance; "" = none
  std::optional<std::string> error_message;  // the model gives a part of the text of the subject
  std::optional<Interval> next_retry_at;     // a subject gives low == high
  std::optional<std::vector<Ms>>
      deadline;  // the model gives all stored ones; a subject the one it shows
  std::optional<std::string> failed_state;  // of an ended instance; "" = none
  std::optional<std::vector<TaskView>> tasks;
  std::optional<int> calls;  // the number of tasks that were handed out for this instance
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
  kRerun
};
enum class Reply { kAccepted, kConflict /* 409 */, kOther };

struct Outcome {
  bool ok = true;
  Json result;       // if ok
  std::string code;  // if not ok
  std::string message;
};

class Subject {
 public:
  virtual ~Subject() = default;

  // Stores the workflow and starts one instance at 0 ms. The engine reads `yaml`, the model reads
  // `definition`: both say the same.
  virtual void begin(const Definition& definition, const std::string& yaml, const Json& input) = 0;

  // Moves the clock and runs all actions that are due until then, `now` included, each at its time.
  // While the process is dead only the clock moves.
  virtual void advance_to(Ms now) = 0;

  // The calls below happen at the current time, after all actions that are due at it.
  virtual std::vector<TaskView> tasks() = 0;
  virtual void take(const std::string& handle) = 0;
  virtual void heartbeat(const std::string& handle) = 0;
  virtual void answer(const std::string& handle,
                      const Outcome& outcome) = 0;  // also late, also twice
  virtual void send_event(const std::string& type, const Json& payload) = 0;
  virtual Reply command(Verb verb, const std::string& state = {}) = 0;  // state: for rerun
  virtual void kill() = 0;  // the process dies; the store stays
  // The process is killed after the next commit, before the actions after the commit. kill()
  // follows.
  virtual void kill_after_commit() = 0;
  virtual void start_process() = 0;  // runs all due actions before it returns
  virtual void broker_away() = 0;
  virtual void broker_back() = 0;     // runs all due actions before it returns
  virtual Observation observe() = 0;  // empty while the process is dead
};

}  // namespace millrace::reference
