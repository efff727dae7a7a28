// Reads what a request says beside its body: names in the path, parameters of the query. All errors
// are `request.parameter` or `request.identifier` and name what was wrong. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "gateway/exchange.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The `{ns}` of the path: an identifier without dots, since it is one token of a subject.
Result<std::string> namespace_of(const Request& request);

/// The `{workflow}` of the path: an identifier.
Result<std::string> workflow_of(const Request& request);

/// The `{instance}` of the path. What is no id is the id of no instance: `instance.not_found`.
Result<InstanceId> instance_of(const Request& request);

/// Whose variables the path means, by the names in it.
Result<VariablePlace> variable_place_of(const Request& request);

/// The `{key}` of the path: a variable's.
Result<std::string> variable_key_of(const Request& request);

/// The `{secret}` of the path: an identifier.
Result<std::string> secret_of(const Request& request);

/// A parameter's text; empty if it is not given.
std::string text_parameter(const Request& request, std::string_view name);

/// `1` or `true`, `0` or `false`; false if it is not given.
Result<bool> flag_parameter(const Request& request, std::string_view name);

/// From 1 to 1000; 50 if it is not given.
Result<size_t> limit_parameter(const Request& request);

}  // namespace millrace
