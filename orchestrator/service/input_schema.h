// The JSON Schema of a workflow's input: that of its first state, if this is a `validate` state
// that checks all data. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "language/document.h"

namespace millrace {

struct InputSchema {
  std::string state;  ///< the id of the state that checks the input
  Json schema;
};

/// The schema of the input of a document that the loader accepts; nullopt: its first state does not
/// check all data.
std::optional<InputSchema> input_schema(const Node& document);

/// A value for a form to begin with: the schema's first example, its default, its constant or the
/// first of its enumerated values, or else a value of its type with the required members. It need
/// not match the schema.
Json example_of(const Json& schema);

/// The answer of StoreReads::input_schema(); nullopt: the workflow has no schema of its input.
Json to_json(const std::optional<InputSchema>& schema);

/// The errors in the message of a failed validation: [{"path","message"}].
Json schema_errors(std::string_view message);

}  // namespace millrace
