// The bodies of routes that end a task: its result, or its error. Pure.
#pragma once

#include "base/result.h"
#include "gateway/exchange.h"
#include "gateway/router.h"

namespace millrace {

/// The route with the result of a task as its body.
Route taking_result(Route route);

/// The route with the error of a task as its body.
Route taking_failure(Route route);

/// Refuses a body that is not JSON although its content type says JSON: it would become Base64, and
/// the call would end with it. Errors: those of parse_json(). Ok for an empty body, and for each
/// body of another content type, or of none.
Status check_json_body(const Request& request);

}  // namespace millrace
