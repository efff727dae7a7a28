// The OpenAPI document of the HTTP API, made from the descriptions of the routes. Pure; for any
// thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gateway/router.h"

namespace millrace {

/// The OpenAPI 3.1 document of these routes. Each status of Route::answer_status and
/// Route::further_answers has its schema; the error statuses list the codes that the route answers.
Json openapi_document(const std::vector<Route>& routes);

/// The error codes that any route may answer.
const std::set<std::string_view>& common_errors();

/// The codes of Route::errors, with all codes of each prefix.
std::set<std::string_view> own_errors(const Route& route);

/// The part of the API to which the route belongs: the noun in its path, such as `instances`.
std::string noun_of(const Route& route);

}  // namespace millrace
