// Texts that a server reads beside its requests: the cursor of a list, a text in which the values
// of secrets are searched, also behind percents and escapes, the body of a callback, and what
// another node of a cluster says of itself.
// Covers: orchestrator/service/cursor.cc orchestrator/service/decoded_text.cc
// Covers: orchestrator/service/callback_body.cc cluster/node_answer.cc
#include <optional>
#include <string>

#include "base/json.h"
#include "cluster/node_answer.h"
#include "orchestrator/service/callback_body.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/decoded_text.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostServiceText = 65'536;

void check_number_cursor(std::string_view text) {
  const Result<std::optional<uint64_t>> number = parse_number_cursor(text);
  if (!number) {
    check_shown_error(number.error());
    return;
  }
  CHECK(number->has_value() != text.empty(), "only the first page has an empty cursor");
  if (!*number) return;
  CHECK(**number > 0, "a cursor is 0");
  const Result<std::optional<uint64_t>> again = parse_number_cursor(std::to_string(**number));
  CHECK(again && *again == *number, "a cursor is read as another one");
}

/// A decoded text is not longer, and its bytes come from places of the original, in order.
void check_origins(const DecodedText& decoded, std::string_view original) {
  CHECK(decoded.text().size() <= original.size(), "a decoded text is longer");
  for (size_t at = 0; at <= decoded.text().size(); ++at) {
    CHECK(decoded.origin(at) <= original.size(), "a byte comes from behind the original");
    CHECK(at == 0 || decoded.origin(at - 1) <= decoded.origin(at), "places are not in order");
  }
  CHECK(decoded.origin(decoded.text().size()) == original.size(), "the end is at another place");
}

void check_callback(std::string_view verb, std::string_view body) {
  const auto what = read_callback_body(verb, std::string(body));
  if (!what) check_shown_error(what.error());
}

/// What is missing in the answer of a node, or of another type, reads as nothing.
void check_node_answer(std::string_view text) {
  const Result<Json> state = parse_json(text);
  if (!state) return;
  const RankedNode rank = rank_in(*state);
  const std::string node = text_in(*state, "node");
  CHECK(state->is_object() || (node.empty() && rank.node.empty()),
        "a value that is no object names the node {}", excerpt(node));
}

}  // namespace

FUZZ_TARGET(service_texts) {
  if (bytes.size() > kMostServiceText) return;
  for (const char* const verb : {"complete", "fail", "heartbeat"}) check_callback(verb, bytes);
  check_node_answer(bytes);
  check_number_cursor(bytes);
  const DecodedText original(bytes);
  CHECK(original.text() == bytes, "a text that is not decoded is another one");
  check_origins(original, bytes);
  check_origins(original.without_percents(), bytes);
  check_origins(original.without_escapes(), bytes);
  check_origins(original.without_percents().without_escapes(), bytes);
  check_origins(original.without_escapes().without_percents(), bytes);
}

}  // namespace millrace::fuzz
