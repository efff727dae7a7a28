// JsonSchema: JSON Schema, draft 7. json_schema.cc is the only file that includes valijson. This
// code runs in jq worker processes only, because valijson's patterns are std::regex, which has no
// limit on time and overflows the stack on long strings. For use by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

class JsonSchema {
 public:
  /// Compiles a schema from its JSON text. References to other documents are never fetched. Error
  /// `schema.malformed`.
  static Result<JsonSchema> compile(std::string_view text);

  ~JsonSchema();
  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;

  /// Validates the subject. Returns a text with the first few violations, each like
  /// `.lines[0].price: …` with the path as jq writes it; nullopt if there is none. Throws
  /// std::bad_alloc.
  std::optional<std::string> violations(const Json& subject);

 private:
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace millrace
