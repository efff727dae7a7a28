// Converts errors to responses in application/problem+json (RFC 7807). The error table
// (language/error_table.h) has the HTTP status of each code. Pure; for any thread.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gateway/exchange.h"

namespace millrace {

/// The HTTP status of an error code; 500 for a code that has none in the error table.
unsigned status_of(std::string_view code);

/// The reason phrase of a status, such as "Not Found".
std::string_view title_of(unsigned status);

/// The error `busy`: something is full for the moment. `what` says what is full, such as "all
/// connections are in use".
Error busy(std::string_view what);

/// A response with the problem document {"type","title","status","code","detail"} and, if given,
/// "errors". 429 and 503 have the header Retry-After, with the seconds that fit the error; 401 has
/// the header WWW-Authenticate.
Response problem(const Error& error, const Json& errors = nullptr);

/// A problem document with a given status, for places where the error's code does not decide the
/// status.
Response problem(unsigned status, const Error& error, const Json& errors = nullptr);

}  // namespace millrace
