// What a query about a start, such as the `key` of a limit, yields for the input of an instance
// that is about to start. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/template.h"

namespace millrace {

/// The error of a start whose key cannot be evaluated.
inline constexpr std::string_view kStartKeyError = "millrace.startKey";

/// How many bytes of the input the jq programs of a key may copy, compare and write. A larger input
/// has no key.
inline constexpr size_t kMostOfAStartKey = kLargeJson;

/// The value of a query of which all programs are of the fast lane. `what` names it in errors, such
/// as "rateLimit.key"; `now` is the result of jq's `now`. Error kStartKeyError: a jq program fails,
/// or the input is too large.
Result<LazyJson> start_value(const Template& query, std::string_view what, const LazyJson& input,
                             TimePoint now);

/// The value of the key as JSON text with sorted keys; "null" without a key. Errors: start_value().
Result<std::string> start_key(const std::optional<Template>& key, std::string_view what,
                              const LazyJson& input, TimePoint now);

}  // namespace millrace
