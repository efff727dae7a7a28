#include "orchestrator/service/callback_body.h"

#include <algorithm>
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

bool is_for_header(char byte) { return static_cast<unsigned char>(byte) < 0x7F; }

/// The compact text of a JSON value in ASCII. Only its strings can have other characters.
std::string ascii_text(const Json& value) {
  const std::string text = dump_json(value);
  std::string ascii;
  for (auto at = text.begin(); at != text.end();) {
    const auto other = std::find_if_not(at, text.end(), is_for_header);
    ascii.append(at, other);
    at = std::find_if(other, text.end(), is_for_header);
    if (other == at) continue;
    const std::string quoted = Json(std::string(other, at)).dump(-1, ' ', true);
    ascii.append(quoted, 1, quoted.size() - 2);
  }
  return ascii;
}

/// The progress as the next attempt gets it in a header.
Result<std::string> read_progress(const Json& progress) {
  std::string json = ascii_text(progress);
  if (json.size() <= kMostProgressBytes) return json;
  return fail("request.body_too_large",
              fmt::format("progress: as compact JSON in ASCII it has {} bytes; at most {} are kept",
                          json.size(), kMostProgressBytes));
}

Result<TaskHeartbeat> read_heartbeat(const std::string& text) {
  if (text.size() > kMaxHeartbeatBytes) return too_large_callback(text.size(), kMaxHeartbeatBytes);
  TaskHeartbeat heartbeat;
  if (text.empty()) return heartbeat;
  const Json body = TRY(parse_json(text));
  if (!body.is_object()) {
    return wrong_callback(R"(write a JSON object, such as {"progress": {"done": 3}}, or no body)");
  }
  for (const auto& [name, value] : body.items()) {
    if (name != "progress") {
      return wrong_callback("the body has an unknown member; valid: progress");
    }
    heartbeat.progress = TRY(read_progress(value));
  }
  return heartbeat;
}

}  // namespace

Result<CallbackWhat> read_callback_body(std::string_view verb, std::string body) {
  if (verb == "complete") return TRY(read_callback_result(std::move(body)));
  if (verb == "fail") return TRY(read_callback_failure(body));
  if (verb == "heartbeat") return TRY(read_heartbeat(body));
  return wrong_callback(fmt::format(
      "{} is not what a callback can say; write complete, fail or heartbeat", excerpt(verb)));
}

}  // namespace millrace
