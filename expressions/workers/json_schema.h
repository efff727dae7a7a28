// JSON Schema, draft 7: the .cc is the only unit that includes valijson. It runs in worker
// processes only, for its patterns are std::regex, which has no bound on time and overflows the
// stack on long strings; one thread.
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
  /// Reads a schema's JSON. Nothing outside of it is ever fetched. Error `schema.malformed`.
  static Result<JsonSchema> compile(std::string_view text);

  ~JsonSchema();
  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;

  /// How the subject goes against the schema, the first few ways of it: `.lines[0].price: …`, the
  /// path as jq writes it. nullopt: it does not. Throws std::bad_alloc.
  std::optional<std::string> violations(const Json& subject);

 private:
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace millrace
