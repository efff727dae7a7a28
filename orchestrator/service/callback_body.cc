#include "orchestrator/service/callback_body.h"

#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/ids.h"
#include "base/json.h"

namespace millrace {
namespace {

using CallbackWhat = decltype(CallbackRequest::what);

tl::unexpected<Error> wrong_callback(std::string why) {
  return fail("request.parameter", std::move(why));
}

tl::unexpected<Error> too_large_callback(size_t bytes, size_t most) {
  return fail("request.body_too_large",
              fmt::format("the body has {} bytes; at most {} are accepted", bytes, most));
}

Result<TaskEnded> read_callback_result(std::string body) {
  if (body.size() > kMaxAnswerBytes) return too_large_callback(body.size(), kMaxAnswerBytes);
  return TaskEnded{.result = std::move(body), .variables = {}};
}

Result<TaskEnded> read_callback_failure(const std::string& text) {
  if (text.size() > kMaxFailureBytes) return too_large_callback(text.size(), kMaxFailureBytes);
  const Json body = TRY(parse_json(text));
  if (!body.is_object()) {
    return wrong_callback(R"(write a JSON object, such as {"code": "card.declined"})");
  }
  Error error;
  for (const auto& [name, value] : body.items()) {
    if (name != "code" && name != "message") {
      return wrong_callback("the body has an unknown member; valid: code, message");
    }
    if (!value.is_string()) return wrong_callback(name + ": write a text");
    (name == "code" ? error.code : error.message) = value.get<std::string>();
  }
  if (!is_identifier(error.code)) {
    return wrong_callback(
        "code: write the error code of the task: 1 to 128 letters, digits, `.`, `-` and `_`");
  }
  return TaskEnded{.result = tl::unexpected(std::move(error)), .variables = {}};
}

}  // namespace

Result<CallbackWhat> read_callback_body(std::string_view verb, std::string body) {
  if (verb == "complete") return TRY(read_callback_result(std::move(body)));
  if (verb == "fail") return TRY(read_callback_failure(body));
  if (verb == "heartbeat") return TaskHeartbeat{};
  return wrong_callback(fmt::format(
      "{} is not what a callback can say; write complete, fail or heartbeat", excerpt(verb)));
}

}  // namespace millrace
