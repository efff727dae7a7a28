// The values of flow control: what the `key` of a limit and a `priority` yield for the input of a
// start or of a call. Only the fast lane evaluates them, in the batch that commits the start or the
// call. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/lazy_json.h"
#include "base/result.h"
#include "expressions/template.h"

namespace millrace {

/// A key of a call's flow control.
enum class CallKey { kConcurrency, kThrottle };

/// Whether an attempt of a call has failed with this code because evaluated_call_key() or
/// evaluated_priority() has: each further attempt has the same input, and fails too.
bool is_call_flow_error(std::string_view code);

/// The value of a call's key as JSON text of at most kMostSlotKeyBytes. Error
/// `millrace.concurrency.key` or `millrace.throttle.key`: the query fails, its result is longer, or
/// the input is too large.
Result<std::string> evaluated_call_key(CallKey of, const Template& query, const LazyJson& input);

/// The value of the priority. `of` names in errors what has the input: "start" or "call". Error
/// `millrace.concurrency.priority`: the query fails, its result is no integer of 32 bits, or the
/// input is too large.
Result<int32_t> evaluated_priority(const Template& query, const LazyJson& input,
                                   std::string_view of);

}  // namespace millrace
