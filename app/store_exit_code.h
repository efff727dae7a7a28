// The exit code of a verb that needs the data folder of a stopped server for itself.
#pragma once

#include "base/result.h"
#include "cli/console.h"

namespace millrace {

inline ExitCode exit_code_of(const Error& error) {
  if (error.code == "store.not_found") return ExitCode::kNotFound;
  if (error.code == "store.locked") return ExitCode::kConflict;
  return ExitCode::kFailed;
}

}  // namespace millrace
