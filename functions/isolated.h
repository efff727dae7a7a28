// Isolated functions: the folder that a container of one call finds at /direktiv-data, and what is
// read from it when the container has ended (docs/containers.md).
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
  std::string output;  ///< what it wrote to its standard output: kMaxAnswerBytes and some at most
  std::string errors;  ///< the end of what it wrote to the standard error
};

/// What came of it.
struct IsolatedAnswer {
  TaskEnded ended;
  std::string log;                ///< the head of `out.log`
  bool is_output_result = false;  ///< else what it wrote to the standard output is only output
};

/// Makes `folder` with `input.json` and `vars/` in it. Error kFunctionFiles; then there is nothing.
Status lay_out_isolated(const Task& task, const std::filesystem::path& folder);

/// What the function answers: the error of `error.json`; else, unless its exit code is 0,
/// kFunctionUnavailable; else the bytes of `output.json`; else, where there is a file `done`,
/// nothing; else what it wrote to its standard output. Variables come with a result, and with an
/// error that the function has named itself.
IsolatedAnswer read_isolated(const std::filesystem::path& folder, const IsolatedEnd& end);

}  // namespace millrace
