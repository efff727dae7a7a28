// The answers and the output of functions: the first line is the subject of an answer over NATS and
// the status of an answer over HTTP, then follow headers, an empty line, and the body
// (headed_input.h).
// Covers: broker/task_message.cc functions/service_protocol.cc functions/output_lines.cc
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "broker/task_message.h"
#include "functions/output_lines.h"
#include "functions/service_protocol.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// An error of a function becomes a part of its instance's history: a code that a `catch` may
/// match, and a text of limited size.
void check_function_error(const Error& error) {
  CHECK(is_identifier(error.code), "the code is \"{}\"", error.code);
  CHECK(is_utf8(error.message), "the message is not text");
  CHECK(error.message.size() <= kMaxHeaderBytes + 1024, "the message is long");
}

void check_answered_task(std::string_view subject) {
  const std::optional<AnsweredTask> answered = answered_task(subject);
  if (!answered || answered->ns.empty()) return;  // no namespace has an empty name
  const std::string again = reply_subject(answered->ns, answered->task);
  CHECK(answered_task(again) == answered, "{} is for another task than {}", again, subject);
}

void check_nats_answer(const HeadedInput& input) {
  const Headers headers = apart(input.headers);
  const auto answer = read_answer(NatsMessage{.headers = headers, .data = std::string(input.body)});
  if (!answer) return check_function_error(answer.error());
  CHECK(*answer == input.body, "the result is not the body");
  for (const char* const name : {"Direktiv-ErrorCode", "Nats-Service-Error-Code"}) {
    const std::string* const code = find_header(headers, name);
    CHECK(code == nullptr || code->empty(), "an answer with an error is a result");
  }
}

void check_http_answer(long status, const HeadedInput& input) {
  const TaskEnded ended = read_answer(HttpAnswer{.status = status,
                                                 .headers = input.headers,
                                                 .body = std::string(input.body),
                                                 .retry_after = Duration(1)});
  CHECK(!ended.retry_after || !ended.result);
  if (!ended.result) return check_function_error(ended.result.error());
  CHECK(*ended.result == input.body, "the result is not the body");
  CHECK(status >= 200 && status <= 299);
}

/// The lines of the output, which arrives in pieces of that size.
std::vector<std::string> lines_of_output(std::string_view output, size_t piece) {
  OutputAllowance left{.lines = 20, .bytes = 500};
  OutputLines reader;
  std::vector<std::string> lines;
  const auto add = [&lines](std::vector<std::string> more) {
    for (std::string& line : more) lines.push_back(std::move(line));
  };
  while (!output.empty()) {
    const size_t size = std::min(piece, output.size());
    add(reader.add(output.substr(0, size), left));
    output.remove_prefix(size);
  }
  add(reader.finish(left));
  return lines;
}

void check_output(std::string_view output) {
  const std::vector<std::string> lines =
      lines_of_output(output, std::max(output.size(), size_t{1}));
  CHECK(lines_of_output(output, 1) == lines, "the lines depend on the pieces of the output");
  CHECK(lines.size() <= 21);
  for (const std::string& line : lines) {
    CHECK(!line.empty() && line.size() <= kMaxOutputLine);
    CHECK(is_utf8(line) && line.find('\n') == std::string::npos);
  }
}

}  // namespace

FUZZ_TARGET(worker_answers) {
  std::string_view rest = bytes;
  const std::string_view first = take_line(rest);
  const HeadedInput input = read_headed_input(rest);
  check_answered_task(first);
  read_ack_word(first);
  long status = 0;
  std::from_chars(first.data(), first.data() + first.size(), status);
  check_nats_answer(input);
  check_http_answer(status, input);
  check_output(bytes);
  CHECK(is_utf8(as_text(bytes)));
}

}  // namespace millrace::fuzz
