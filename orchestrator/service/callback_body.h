// What a callback says about a task, read from its verb and its body: the same over HTTP and over
// NATS. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The largest body of a `fail`; that of a `complete` has at most kMaxAnswerBytes.
inline constexpr size_t kMaxFailureBytes = size_t{64} << 10;

/// The largest body of a `heartbeat`; its progress has at most kMostProgressBytes.
inline constexpr size_t kMaxHeartbeatBytes = size_t{16} << 10;

/// Reads the body of a callback. `verb`: `complete`, the body is the result of the task; `fail`, it
/// is `{"code", "message"}`, of which the message may be missing; `heartbeat`, it is empty, or
/// `{"progress"}`, any JSON.
/// Errors: `request.parameter`, also for another verb; `request.body_too_large`; those of
/// parse_json().
Result<decltype(CallbackRequest::what)> read_callback_body(std::string_view verb, std::string body);

}  // namespace millrace
