// What a workflow engine shows and takes, as far as the policies say it.
// The reference model implements this interface, and so does the adapter of the engine under test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace millrace::reference {

using Ms = int64_t;  // virtual time, counted from the start of the instance

struct Definition;  // case.h

// One call of a function that the engine has handed out and that is not over by the engine's own
// knowledge. A call of an earlier attempt, of a state that has left or of an ended instance is
// over.
struct TaskView {
  std::string
      handle;   // the subject's own name of it; not compared, stays valid after the task is over
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

// A field that has no value here is not compared (a subject does not show it, or the documents
// leave it open). The model may give several texts that are right, with '|' between them; a subject
// gives one.
struct Observation {
  // pending, running, waiting (for an event, a delay, the next attempt, the next run), paused,
  // complete, failed, cancelled, timedout
  std::optional<std::string> status;
  std::optional<bool> paused;        // the instance itself, by the verb pause
  std::optional<std::string> state;  // the current state
  std::optional<int> run;
  std::optional<int> attempt;             // of the action of the current state
  std::optional<Json> data;               // the state data; the output once it is complete
  std::optional<std::string> error_code;  // of an ended instance; "" = none
  std::optional<std::string>
      error_message;  // the model gives a part that the subject's text must contain
  std::optional<Interval> next_retry_at;  // a subject gives low == high
  std::optional<std::vector<Ms>>
      deadline;  // the model gives all that are stored; a subject the one it shows
  std::optional<std::string> failed_state;  // of an ended instance; "" = none
  std::optional<std::vector<TaskView>> tasks;
  std::optional<int> calls;  // how many tasks were ever handed out for this instance
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
  Json result;       // where ok
  std::string code;  // where not
  std::string message;
};

class Subject {
 public:
  virtual ~Subject() = default;

  // Stores the workflow and starts one instance at 0 ms. The engine reads `yaml`, the model reads
  // `definition`: both say the same.
  virtual void begin(const Definition& definition, const std::string& yaml, const Json& input) = 0;

  // Sets the clock and does all that is due until then, `now` included, each thing at its own
  // moment. While the process is dead only the clock moves.
  virtual void advance_to(Ms now) = 0;

  // The calls below happen at the moment of the clock, after all that is due at it.
  virtual std::vector<TaskView> tasks() = 0;
  virtual void take(const std::string& handle) = 0;
  virtual void heartbeat(const std::string& handle) = 0;
  virtual void answer(const std::string& handle,
                      const Outcome& outcome) = 0;  // also late, also twice
  virtual void send_event(const std::string& type, const Json& payload) = 0;
  virtual Reply command(Verb verb, const std::string& state = {}) = 0;  // state: for rerun
  virtual void kill() = 0;  // the process ends without a word; the store stays
  // The process is killed as soon as what comes next is on disk, before anything of it is done
  // outside. kill() follows.
  virtual void kill_after_commit() = 0;
  virtual void start_process() = 0;  // and does what is due now before it returns
  virtual void broker_away() = 0;
  virtual void broker_back() = 0;     // as start_process
  virtual Observation observe() = 0;  // nothing is shown while the process is dead
};

}  // namespace millrace::reference
