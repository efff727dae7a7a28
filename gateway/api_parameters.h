// The descriptions of the parameters of the HTTP API, by name: parts of a path, parameters of a
// query, and headers. Constants; for any thread.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace {

enum class ParameterPlace { kPath, kQuery, kHeader };

/// A parameter and the values that it accepts.
struct ApiParameter {
  ParameterPlace place;
  std::string_view name;
  std::string_view description;  ///< one sentence
  /// JSON Schema, made of schema_parts.h.
  Json schema;
  /// The only operation (Route::operation) in which the parameter has this meaning; empty: all
  /// other operations.
  std::string_view operation = "";
  /// Whether a call without the parameter is refused. Always so for a part of a path.
  bool is_required = false;
};

/// The whole table.
const std::vector<ApiParameter>& api_parameters();

/// The description of a parameter of an operation; nullptr: the table does not have the parameter.
const ApiParameter* find_parameter(ParameterPlace place, std::string_view name,
                                   std::string_view operation);

/// Where OpenAPI says that a parameter is: `path`, `query` or `header`.
std::string_view to_string(ParameterPlace place);

}  // namespace millrace
