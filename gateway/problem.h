// Errors as answers: application/problem+json (RFC 7807), and the one table that says which code is
// which status. Pure, any thread.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gateway/exchange.h"

namespace millrace {

/// The HTTP status of an error's code; 500 for one that is not in the table.
unsigned status_of(std::string_view code);

/// The reason phrase: "Not Found".
std::string_view title_of(unsigned status);

/// {"type","title","status","code","detail"} and, where given, "errors". 503 carries Retry-After,
/// 401 WWW-Authenticate.
Response problem(const Error& error, const Json& errors = nullptr);

/// The same with a status that the place of the error decides, not its code.
Response problem(unsigned status, const Error& error, const Json& errors = nullptr);

}  // namespace millrace
