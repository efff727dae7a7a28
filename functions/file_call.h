// The state of one call of FileCalls. Only for the sources of FileCalls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "functions/file_calls.h"

namespace millrace {

/// Whether the service has answered the call, with a result or an error: only then its files count.
bool was_answered(const TaskEnded& ended);

/// The error `stopping` of a request that comes while the process ends.
Error process_ends();

/// A call that has files, from run() or keep_files() until its end was reported. The mutex of the
/// runner guards the members, except those that no other thread uses.
struct FileCalls::Call {
  explicit Call(Task its_task) : id(its_task.id), ns(its_task.ns), task(std::move(its_task)) {}

  enum class Stage : uint8_t {
    kWaiting,    ///< for a place
    kMaking,     ///< its folder is made or found, and the task is passed on
    kRunning,    ///< the runner has the task, or its service has accepted it
    kAnswering,  ///< an answer by a callback is under way
    kEnding,     ///< it has ended; its variables are collected
  };

  const InstanceId id;
  const std::string ns;
  Task task;  ///< until it is passed on
  Stage stage = Stage::kWaiting;
  bool is_stopped = false;
  bool is_accepted = false;            ///< by its service, which answers it by a callback
  bool is_of_earlier_process = false;  ///< which called the service; no runner here has the task
  std::string key;                     ///< of this delivery; empty: each delivery of the attempt
  std::shared_ptr<CallFolder> folder;  ///< null: it is not made yet
  /// The end that the runner has reported while kAnswering; without the call.
  std::optional<End> held = std::nullopt;

  /// Whether the next process is to find its folder, if this one ends now.
  bool outlives_process() const { return is_accepted && !is_stopped; }
};

}  // namespace millrace
