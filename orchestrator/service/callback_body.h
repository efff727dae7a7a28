// What a callback says about a task, read from its verb and its body: the same over HTTP and over
// NATS. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/task.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The largest body of a `fail`; that of a `complete` has at most kMaxAnswerBytes.
inline constexpr size_t kMaxFailureBytes = size_t{64} << 10;

/// The end of a task whose result is the body. Error `request.body_too_large`.
Result<TaskEnded> read_task_result(std::string body);

/// The end of a task with the error in the body, `{"code", "message"}`, of which the message may be
/// missing. Errors: `request.parameter`; `request.body_too_large`; those of parse_json().
Result<TaskEnded> read_task_failure(const std::string& text);

/// Reads the body of a callback. `verb`: `complete`, see read_task_result(); `fail`, see
/// read_task_failure(); `heartbeat`, it is not read. Errors: those of these functions, and
/// `request.parameter` for another verb.
Result<decltype(CallbackRequest::what)> read_callback_body(std::string_view verb, std::string body);

}  // namespace millrace
