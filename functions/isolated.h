// Isolated functions: the folder that the container of one call finds at /direktiv-data, and the
// files that are read from it when the container has ended (docs/containers.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/task.h"

namespace millrace {

inline constexpr std::string_view kIsolatedMount = "/direktiv-data";

/// How the container ended.
struct IsolatedEnd {
  int code = 0;
  std::string output;       ///< its standard output, at most kMaxAnswerBytes + 1 bytes
  std::string errors;       ///< the end of its standard error
  bool may_accept = false;  ///< the task has a callback, so its file `accepted` counts
};

/// The result of an isolated function.
struct IsolatedAnswer {
  TaskEnded ended;
  std::string log;  ///< the start of `out.log`
  /// Whether the standard output is the function's result. If not, it is only reported as output.
  bool is_output_result = false;
  /// The function has accepted the task, and answers it by a callback. `ended` has no meaning then.
  bool is_accepted = false;
};

/// Creates `folder` with `input.json` and `vars/`; if the task has a callback, also with
/// `callback`, its URL; if it has progress, also with `progress.json`. Error kFunctionFiles;
/// `folder` does not exist then.
Status lay_out_isolated(const Task& task, const std::filesystem::path& folder);

/// The function's answer is the first of these: the error in `error.json`; kFunctionTooLarge if the
/// container was ended by the limit of the size of a file; kFunctionUnavailable if the exit code is
/// not 0; none yet if there is a file `accepted` that counts; the bytes of `output.json`; nothing
/// if there is a file `done`; its standard output. Variables are set with a result, and with an
/// error that the function itself has written.
IsolatedAnswer read_isolated(const std::filesystem::path& folder, const IsolatedEnd& end);

}  // namespace millrace
