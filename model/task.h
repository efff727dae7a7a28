// Task: one attempt of an action that leaves the process, and what is told of it on its way. It is
// a row of the store from the commit that makes it until the one that takes its result in, and it
// is sent again, under the same id, after a restart: whoever does the work may get it twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/variable.h"

namespace millrace {

/// How a variable becomes a file (Direktiv's FunctionFileDefinition).
// On disk: never renumber.
enum class FileType : uint8_t {
  kPlain = 0,
  kBase64 = 1,
  kTar = 2,
  kTarGz = 3,
};

/// How much of the machine a container gets (Direktiv's ReusableFunctionDefinition).
// On disk: never renumber.
enum class ContainerSize : uint8_t {
  kSmall = 0,
  kMedium = 1,
  kLarge = 2,
};

/// A variable that a function finds as a file (Direktiv's FunctionFileDefinition).
struct FunctionFile {
  std::string key;
  VariableScope scope = VariableScope::kInstance;
  std::string as;  ///< the file's name
  FileType type = FileType::kPlain;

  bool operator==(const FunctionFile&) const = default;
};

// Where the work is done.

/// By a service of the settings, by its name: of the namespace, or of all of them. What it stands
/// for is looked up when the task is handed out.
struct NamedService {
  std::string name;
  bool global = false;

  bool operator==(const NamedService&) const = default;
};

/// By workers that take it from the work queue.
struct WorkQueue {
  std::string subject;  ///< `millrace.tasks.<namespace>.<service>`

  bool operator==(const WorkQueue&) const = default;
};
/// By a NATS service, which is asked and answers.
struct NatsService {
  std::string subject;

  bool operator==(const NatsService&) const = default;
};
/// By an HTTP service.
struct HttpService {
  std::string url;

  bool operator==(const HttpService&) const = default;
};
/// In a container: one that is kept running and called by HTTP on port 8080, or one of its own.
struct Container {
  bool isolated = false;
  std::string image;
  std::string cmd;  ///< empty: the image's own
  ContainerSize size = ContainerSize::kSmall;
  uint32_t scale = 0;  ///< so many are kept running; of no meaning where it is isolated

  bool operator==(const Container&) const = default;
};
using TaskTarget = std::variant<WorkQueue, NatsService, HttpService, Container>;

/// A variable as the function is to find it.
struct TaskFile {
  std::string name;
  FileType type = FileType::kPlain;
  std::string bytes;  ///< of the variable; empty where there is none
};

struct Task {
  InstanceId id;      ///< the action id: that of this attempt, however often it is sent
  std::string space;  ///< name of the namespace
  InstanceId instance;
  std::string state;     ///< id of the state whose action it is
  std::string function;  ///< id of the function, for messages and metrics
  uint32_t attempt = 1;
  TaskTarget target;
  std::string input;  ///< JSON
  std::vector<TaskFile> files;
  std::optional<TimePoint> deadline;  ///< when it is given up at the latest, as far as is known
  std::optional<Duration> start_to_close = {};  ///< for so long may it run from when it begins
};

/// The earlier of its deadline and of the end of an attempt that begins now.
inline std::optional<TimePoint> deadline_if_begun(const Task& task, TimePoint now) {
  if (!task.start_to_close) return task.deadline;
  const TimePoint end = now + *task.start_to_close;
  return std::min(task.deadline.value_or(end), end);
}

/// A file that the function has left behind, to become a variable.
struct TaskVariable {
  VariableScope scope = VariableScope::kInstance;
  std::string key;
  Variable value;
};

// What is told of a task.

/// Somebody has begun with it. Not told by runners that begin at once.
struct TaskStarted {};
/// No worker had begun with it when its runner looked: the answer to TaskRunner::look.
struct TaskUnbegun {};
/// It is still being worked on.
struct TaskAlive {};
/// What it prints, for the history of the instance.
struct TaskOutput {
  std::string text;
};
/// It is over, for good or not.
struct TaskEnded {
  tl::expected<std::string, Error> result;  ///< the bytes of the answer
  std::vector<TaskVariable> variables;      ///< set together with the result
  /// Of a failure: the service's Retry-After, at most a day.
  std::optional<Duration> retry_after = {};
};

struct TaskReport {
  InstanceId task;
  std::variant<TaskStarted, TaskUnbegun, TaskAlive, TaskOutput, TaskEnded> what;
  /// The namespace that whoever tells it spoke for, where anybody may tell it: it counts only if
  /// that is the task's. None: the source is the one that has the task.
  std::optional<std::string> space = std::nullopt;
};

/// What all subjects of the work queue begin with.
inline constexpr std::string_view kTaskSubjectPrefix = "millrace.tasks.";

/// Neither an answer nor a file may be larger.
inline constexpr size_t kMaxAnswerBytes = size_t{4} << 20;

// Error codes of functions; all others are the function's own.

/// Whoever should do the work can't be reached, or ended without an answer.
inline constexpr std::string_view kFunctionUnavailable = "millrace.function.unavailable";
/// It answered with a status of 400 or more and no error code.
inline constexpr std::string_view kFunctionStatus = "millrace.function.status";
/// The answer is larger than kMaxAnswerBytes.
inline constexpr std::string_view kFunctionTooLarge = "millrace.function.tooLarge";
/// A variable can't be laid out as a file, or what the function left can't become a variable.
inline constexpr std::string_view kFunctionFiles = "millrace.function.files";

}  // namespace millrace
