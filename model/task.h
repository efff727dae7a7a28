// Task: one attempt of an action that is performed outside the process, and the reports about it. A
// task is a row of the store from the commit that creates it until the commit that applies its
// result. After a restart of the server the task is sent again under the same id, so a worker may
// receive a task twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/variable.h"

namespace millrace {

/// How the bytes of a variable are turned into a file (Direktiv's FunctionFileDefinition).
// On disk: never renumber.
enum class FileType : uint8_t {
  kPlain = 0,
  kBase64 = 1,
  kTar = 2,
  kTarGz = 3,
};

/// The share of the machine that a container gets (Direktiv's ReusableFunctionDefinition).
// On disk: never renumber.
enum class ContainerSize : uint8_t {
  kSmall = 0,
  kMedium = 1,
  kLarge = 2,
};

/// A variable that a function gets as a file (Direktiv's FunctionFileDefinition).
struct FunctionFile {
  std::string key;
  VariableScope scope = VariableScope::kInstance;
  std::string as;  ///< the file's name
  FileType type = FileType::kPlain;

  bool operator==(const FunctionFile&) const = default;
};

// The targets of a task.

/// A service, by its name. The settings of a namespace give its address, which is looked up when a
/// task is handed out.
struct NamedService {
  std::string name;
  bool global = false;  ///< looked up in the settings of the namespace `default`

  bool operator==(const NamedService&) const = default;
};

/// A service whose workers take its tasks from the work queue.
struct WorkQueue {
  std::string subject;  ///< `millrace.tasks.<namespace>.<service>`

  bool operator==(const WorkQueue&) const = default;
};
/// A NATS service that is called by request and reply.
struct NatsService {
  std::string subject;

  bool operator==(const NatsService&) const = default;
};
/// An HTTP service.
struct HttpService {
  std::string url;

  bool operator==(const HttpService&) const = default;
};
/// A container function: either one container for each task, or a pool of containers that stay
/// running and are called by HTTP on port 8080.
struct Container {
  bool isolated = false;  ///< one container for each task
  std::string image;
  std::string cmd;  ///< empty: the command of the image
  ContainerSize size = ContainerSize::kSmall;
  uint32_t scale = 0;  ///< how many containers of the pool stay running; ignored if isolated

  bool operator==(const Container&) const = default;
};
using TaskTarget = std::variant<WorkQueue, NatsService, HttpService, Container>;

/// The file in which a function gets the value of a variable.
struct TaskFile {
  std::string name;
  FileType type = FileType::kPlain;
  std::string bytes;  ///< the value of the variable; empty if the variable does not exist
  /// Reads the value of a large variable, of which `bytes` is empty; blocks on the disk. Null: it
  /// is not large. Error kFunctionFiles.
  std::function<Result<std::string>()> read = nullptr;
};

/// Where a service that shares no folder with millrace reads the files of its task, and writes
/// those that become variables.
struct TaskFolder {
  std::string url;  ///< the URL of a file is this, `/` and the name of the file
  std::string key;  ///< of this delivery of the attempt (AttemptKeys)

  bool operator==(const TaskFolder&) const = default;
};

/// The header of a call with TaskFolder::url.
inline constexpr const char* kFilesHeader = "Millrace-Files";

/// How a service answers its task later.
struct TaskCallback {
  std::string url;  ///< without `/complete`, `/fail` or `/heartbeat`; it has the key
  std::string key;  ///< in the URL (AttemptKeys); a callback over NATS has it in a header

  bool operator==(const TaskCallback&) const = default;
};

/// The header of a call with TaskCallback::url.
inline constexpr const char* kCallbackHeader = "Millrace-Callback";

/// The header of an answer by which a service accepts its task, and its value then.
inline constexpr const char* kAnswerHeader = "Millrace-Answer";
inline constexpr std::string_view kAcceptedAnswer = "accepted";

/// The header of a call with Task::progress.
inline constexpr const char* kLastProgressHeader = "Millrace-Last-Progress";

/// The header with the call, which is the same in all attempts: Task::call.
inline constexpr const char* kCallHeader = "Millrace-Call";

/// The header of a call with the epoch of the active of a cluster, so that a service can refuse
/// calls of a former active, which has a lower epoch.
inline constexpr const char* kEpochHeader = "Millrace-Epoch";

struct Task {
  InstanceId id;   ///< the action id: the same for every delivery of this attempt
  std::string ns;  ///< name of the namespace
  InstanceId instance;
  std::string state;     ///< id of the state that the action belongs to
  std::string function;  ///< id of the function, for messages and metrics
  uint32_t attempt = 1;
  /// The call: the same for all its attempts, and for no other call.
  std::string call = {};
  TaskTarget target;
  std::string input;  ///< JSON
  std::vector<TaskFile> files;
  /// Of a task for an HTTP or NATS service that has files; `files` is empty then.
  std::optional<TaskFolder> folder = {};
  std::optional<TimePoint> deadline;  ///< when the task is given up at the latest, if known
  std::optional<Duration> start_to_close = {};  ///< how long the task may run from its start
  std::optional<Duration> heartbeat = {};       ///< the longest time without a heartbeat
  bool sealed = false;  ///< the input or a file may contain data of a secret
  uint64_t epoch = 0;   ///< of the active of a cluster that hands it out; 0: there is no cluster
  /// nullopt: the service cannot answer later.
  std::optional<TaskCallback> callback = {};
  /// The newest progress that an earlier attempt of the call has said (CallProgress::json); empty:
  /// none has.
  std::string progress = {};

  /// Whether a timeout or a deadline ends the task if its worker or service never answers.
  bool has_timeout() const { return deadline || start_to_close || heartbeat; }
};

/// The deadline of a task that starts now: the earlier of its deadline and now + start_to_close;
/// nullopt: the task has neither.
inline std::optional<TimePoint> deadline_if_started(const Task& task, TimePoint now) {
  if (!task.start_to_close) return task.deadline;
  const TimePoint end = now + *task.start_to_close;
  return std::min(task.deadline.value_or(end), end);
}

/// A value whose bytes were reported before, in pieces (TaskPieces).
struct StagedValue {
  uint64_t staging = 0;  ///< TaskPieces::staging
  uint64_t size = 0;     ///< of the value, in bytes
};

/// A file that the function wrote and that is stored as a variable.
struct TaskVariable {
  VariableScope scope = VariableScope::kInstance;
  std::string key;
  Variable value;
  std::optional<StagedValue> staged = {};  ///< then the bytes of `value` are empty
};

// The reports about a task.

/// A worker started the task. Runners that start tasks at once do not send this report.
struct TaskStarted {};
/// No worker had started the task when its runner checked: the answer to TaskRunner::check_started.
struct TaskNotStarted {};
/// The worker still works on the task.
struct TaskHeartbeat {
  std::string progress = {};  ///< how far it is, as CallProgress::json; empty: it did not say
};
/// Output of the task, for the history of the instance.
struct TaskOutput {
  std::string text;
};
/// The service has accepted the task, and will answer it by a callback. Its runner has no further
/// reports of the task.
struct TaskAccepted {};
/// A piece of the value of a variable.
struct ValuePiece {
  VariableScope scope = VariableScope::kInstance;
  std::string key;      ///< of the variable
  uint32_t number = 0;  ///< the pieces of a value are numbered from 0 on, without gaps
  std::string bytes;
};
/// Some pieces of the values that the task's answer will set: they are stored ahead of it, because
/// they are too large for one commit. The reports with all pieces come before the one with the
/// answer.
struct TaskPieces {
  uint64_t staging = 0;   ///< the same for all pieces of the answer, and for no other answer
  bool is_first = false;  ///< these are the first pieces of the answer
  std::vector<ValuePiece> pieces;
};
/// The task has ended, with a result or an error.
struct TaskEnded {
  tl::expected<std::string, Error> result;  ///< the bytes of the answer
  std::vector<TaskVariable> variables;      ///< set together with the result
  /// If the task failed: the time in the service's Retry-After header, at most a day.
  std::optional<Duration> retry_after = {};
};

struct TaskReport {
  InstanceId task;
  std::variant<TaskStarted, TaskNotStarted, TaskHeartbeat, TaskOutput, TaskAccepted, TaskPieces,
               TaskEnded>
      what;
  /// Set if the report came over a subject to which any client may publish: the namespace in that
  /// subject. Such a report counts only if its task belongs to this namespace. nullopt: the report
  /// comes from the runner that has the task.
  std::optional<std::string> ns = std::nullopt;
};

/// The prefix of all subjects of the work queue.
inline constexpr std::string_view kTaskSubjectPrefix = "millrace.tasks.";

/// The largest answer and the largest file of a task.
inline constexpr size_t kMaxAnswerBytes = size_t{4} << 20;

// Error codes that millrace sets for a function; all other codes come from the function.

/// No worker, service or container could be reached, or the one that had the task ended without an
/// answer.
inline constexpr std::string_view kFunctionUnavailable = "millrace.function.unavailable";
/// The service answered with an HTTP status of 400 or more and no error code.
inline constexpr std::string_view kFunctionStatus = "millrace.function.status";
/// The server does not call services on the subject in the settings (RequestSubjects), or its user
/// on NATS may not publish on it.
inline constexpr std::string_view kFunctionRefused = "millrace.function.refused";
/// The answer is larger than kMaxAnswerBytes.
inline constexpr std::string_view kFunctionTooLarge = "millrace.function.tooLarge";
/// A variable cannot be written as a file, or a file of the function cannot become a variable.
inline constexpr std::string_view kFunctionFiles = "millrace.function.files";

}  // namespace millrace
