// For tests of calls over HTTP: a task, a peer that answers it, and the end of a task as a string.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/ids.h"
#include "model/task.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {

inline Task task_for(std::string url, uint8_t number = 1) {
  Task task;
  task.id = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000000");
  task.id.bytes[15] = number;
  task.instance = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000002");
  task.ns = "shop";
  task.state = "charge";
  task.attempt = 3;
  task.target = HttpService{std::move(url)};
  task.input = R"({"total":12})";
  return task;
}

inline HttpPeer::Handler answers(int status, std::string body = "", Headers headers = {}) {
  return [=](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(status, body, headers);
  };
}

/// The end of a task as a string: `ended` with the result, or the error.
inline std::string in_words(const TaskEnded& ended) {
  if (ended.result) return "ended " + *ended.result;
  return ended.result.error().code + ": " + ended.result.error().message;
}

}  // namespace millrace
