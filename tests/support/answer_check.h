// AnswerCheck: holds the answers of the HTTP API against its OpenAPI document. For one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "expressions/workers/json_schema.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

class AnswerCheck {
 public:
  explicit AnswerCheck(Json document) : document_(std::move(document)) {}

  /// What is wrong with the answer to a request; empty: the document describes it. A connection
  /// that ended without an answer, and an answer to HEAD, are not checked; of an answer without
  /// its whole body, the status and the content type are. `target` may have a query.
  std::string fault_of(std::string_view method, std::string_view target, const HttpReply& reply);

  /// The name of the operation of a request; empty: the document has none.
  std::string operation_of(std::string_view method, std::string_view target) const;

  /// The names of all operations.
  std::set<std::string> operations() const;

 private:
  const Json* find_operation(std::string_view method, std::string_view target) const;
  /// Follows a reference to another part of the document.
  const Json& resolved(const Json& part) const;
  std::string fault_of_body(const std::string& what, const Json& schema, const std::string& body);

  /// The schema of the bodies of an operation with that status and media type.
  struct OfBody {
    JsonSchema whole;
    /// Without the formats of texts, whose check takes most of the time.
    JsonSchema without_formats;
    size_t checked = 0;
  };

  const Json document_;
  std::map<std::string, OfBody> compiled_;  ///< by operation, status and media type
};

}  // namespace millrace
