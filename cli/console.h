// Console: the streams, environment variables and clock of the command line, which a test can
// replace; and the results of verbs. For one thread only.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

struct Console {
  std::istream& in;
  std::ostream& out;  ///< the results of verbs, and nothing else
  std::ostream& err;
  bool out_is_terminal = false;
  std::function<std::optional<std::string>(const std::string& name)> env;
  std::function<TimePoint()> now;
  bool err_is_terminal = false;  ///< progress may be shown on `err`
  /// Waits for that time; returns false if the user has pressed Ctrl-C, or the terminal was closed,
  /// since the first call.
  std::function<bool(Duration)> pause = nullptr;
};

/// The exit code of the process.
enum class ExitCode {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kNotAllowed = 4,
  kUnreachable = 5,
  kConflict = 6,
  kFindings = 7,
  kTimedOut = 8,
  kInstanceFailed = 9,
  kInterrupted = 130,
};

/// Why a verb failed. Shell::end prints it once.
struct Failure {
  ExitCode code = ExitCode::kFailed;
  Error error;
  Json errors;  ///< `errors` of a problem document; null if it has none
};

template <class T>
using Fallible = tl::expected<T, Failure>;

/// The result of a verb: an exit code or a failure.
using Ended = Fallible<ExitCode>;

inline tl::unexpected<Failure> give_up(ExitCode code, std::string error, std::string message) {
  return tl::unexpected<Failure>(Failure{code, Error{std::move(error), std::move(message)}, {}});
}

inline tl::unexpected<Failure> give_up(ExitCode code, Error error) {
  return tl::unexpected<Failure>(Failure{code, std::move(error), {}});
}

/// The value of a result; an error becomes a failure with the exit code kFailed.
template <class T>
Fallible<T> or_give_up(Result<T> result) {
  if (!result) return give_up(ExitCode::kFailed, std::move(result).error());
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

inline tl::unexpected<Failure> wrong_usage(std::string message) {
  return give_up(ExitCode::kUsage, "cli.usage", std::move(message));
}

}  // namespace millrace
