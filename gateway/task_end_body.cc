#include "gateway/task_end_body.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/event.h"
#include "base/json.h"
#include "language/findings.h"
#include "model/task.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {

Route taking_result(Route route) {
  route.body = "TaskResult";
  route.may_lack_body = true;
  route.errors.emplace_back("json.");
  route.max_body = kMaxAnswerBytes;
  return route;
}

Route taking_failure(Route route) {
  route.body = "TaskFailure";
  route.errors.emplace_back("json.");
  route.max_body = kMaxFailureBytes;
  return route;
}

Status check_json_body(const Request& request) {
  const std::string* const type = find_header(request.headers, "Content-Type");
  if (request.body.empty() || type == nullptr || !is_json_content_type(*type)) return {};
  if (is_json(request.body)) return {};
  Result<Json> read = parse_json(request.body);
  if (read) return {};
  return fail_in(fmt::format("the content type is {} and the body is not JSON, so the task was not "
                             "answered; send JSON, or another content type for other bytes",
                             in_quotes(*type)),
                 std::move(read).error());
}

}  // namespace millrace
