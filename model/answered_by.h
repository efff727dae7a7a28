// AnsweredBy: which way the answer of a call came.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

/// Rows of answers have these numbers.
enum class AnsweredBy : uint8_t {
  kRunner = 0,        ///< its runner: a response, the result of a worker, the end of a subflow
  kHttpCallback = 1,  ///< a callback over HTTP, with the key of the attempt
  kNatsCallback = 2,  ///< a callback over NATS, with the key of the attempt
  kOperator = 3,      ///< an operator in place of the service, with the token of the server
};

/// The member `by` of a record `returned`. Empty: the answer came from the runner, and the record
/// has no such member.
constexpr std::string_view to_string(AnsweredBy by) {
  switch (by) {
    case AnsweredBy::kRunner:
      return "";
    case AnsweredBy::kHttpCallback:
      return "httpCallback";
    case AnsweredBy::kNatsCallback:
      return "natsCallback";
    case AnsweredBy::kOperator:
      return "operator";
  }
  return "";
}

}  // namespace millrace
