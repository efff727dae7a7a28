// The variables that a task gets as files. The runner of the task reads the large ones, so that
// their bytes are no work of the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/effect.h"
#include "model/sealing.h"
#include "model/task.h"
#include "model/variable.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The files of a task.
struct FilesOfTask {
  std::vector<TaskFile> all;
  uint64_t bytes = 0;  ///< of all values, also of those that the runner reads
  Sealing sealed;      ///< that of the instances that have set the variables
};

/// Reads a variable as it is now, on any thread; nullopt: it does not exist.
using ReadVariable = std::function<Result<std::optional<Variable>>(const VariableName& name)>;

/// Reads the variables that the task gets as files, with their current values; a variable that is
/// not set is an empty file. `read`: for TaskFile::read of those with more than 64 KiB; empty: all
/// values are read at once. Errors: those of the store, also of damaged rows.
Result<FilesOfTask> files_of(const View& view, const StartTask& task, const ReadVariable& read);

/// Whether the service of the task gets files over HTTP.
bool has_served_files(const StartTask& task);

/// Whether a service has accepted the task, and uses its files until its callback. Errors: those of
/// the store, also of damaged rows.
Result<bool> awaits_files(const View& view, const InstanceId& task);

}  // namespace millrace
