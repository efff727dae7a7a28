// The bodies of routes that end a task: its result, or its error. Pure.
#pragma once

#include "gateway/router.h"
#include "model/task.h"
#include "orchestrator/service/callback_body.h"

namespace millrace {

/// The route with the result of a task as its body.
inline Route taking_result(Route route) {
  route.body = "TaskResult";
  route.may_lack_body = true;
  route.max_body = kMaxAnswerBytes;
  return route;
}

/// The route with the error of a task as its body.
inline Route taking_failure(Route route) {
  route.body = "TaskFailure";
  route.errors.emplace_back("json.");
  route.max_body = kMaxFailureBytes;
  return route;
}

}  // namespace millrace
