// The bytes of a service that answers an HTTP request, on a pair of sockets, to the request of the
// HTTP client.
// Covers: http/http_transfer.cc functions/service_protocol.cc
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <curl/curl.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "functions/service_protocol.h"
#include "http/http_client.h"
#include "http/http_transfer.h"
#include "os/descriptor.h"
#include "os/permission.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// Larger inputs would not fit into the buffer of the socket.
constexpr size_t kMostAnswer = size_t{64} << 10;

/// libcurl gets a socket that is connected already; a further connection fails.
curl_socket_t give_socket(void* socket, curlsocktype /*purpose*/, curl_sockaddr* /*address*/) {
  const int fd = static_cast<Descriptor*>(socket)->release();
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

int is_connected(void* /*client*/, curl_socket_t /*socket*/, curlsocktype /*purpose*/) {
  return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/// What the client makes of the bytes. `once`: HttpRequest::once.
Result<HttpAnswer> answer_in(std::string_view bytes, bool once) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialised == CURLE_OK);
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  Descriptor client(ends[0]);
  const Descriptor service(ends[1]);
  const ssize_t sent =
      ::send(service.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  CHECK(sent == static_cast<ssize_t>(bytes.size()), "the socket takes no more bytes");
  ::shutdown(service.fd(), SHUT_WR);

  const Permission always(false);
  HttpTransfer transfer(1,
                        {.url = "http://127.0.0.1:9/a",
                         .headers = {{"Content-Type", "application/json"}},
                         .body = "{}",
                         .once = once},
                        {.done = [](const Result<HttpAnswer>&) {}});
  CHECK(transfer.origin(), "the URL of the request is refused");
  transfer.prepare({}, always);
  CURL* const easy = transfer.easy();
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, give_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &client);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, is_connected);
  return transfer.outcome(curl_easy_perform(easy));
}

void check_http_error(const Error& error) {
  CHECK(error.code.starts_with("http."), "the code is {}", error.code);
  CHECK(is_utf8(error.message), "the message is not text");
}

void check_answer_parts(const HttpAnswer& answer, size_t received) {
  CHECK(answer.status >= 0 && answer.status <= 999, "the status is {}", answer.status);
  CHECK(answer.body.size() <= std::min(received, kMaxAnswerBytes));
  size_t size = 0;
  for (const auto& [name, value] : answer.headers) {
    size += name.size() + value.size();
    CHECK((name + value).find('\n') == std::string::npos, "header {} has a line break", name);
  }
  CHECK(size <= std::min(received, kMaxHeaderBytes));
  constexpr Duration kDay = std::chrono::hours(24);
  CHECK(!answer.retry_after || (*answer.retry_after >= Duration(0) && *answer.retry_after <= kDay));
}

/// A runner makes a result of the answer, or an error that a `catch` may match.
void check_task_ended(const HttpAnswer& answer) {
  const TaskEnded ended = read_answer(answer);
  if (ended.result) return;
  CHECK(is_identifier(ended.result.error().code), "the code is {}", ended.result.error().code);
  CHECK(is_utf8(ended.result.error().message), "the message is not text");
}

}  // namespace

FUZZ_TARGET(http_answers) {
  const std::string_view sent = bytes.substr(0, kMostAnswer);
  const Result<HttpAnswer> often = answer_in(sent, false);
  const Result<HttpAnswer> once = answer_in(sent, true);
  for (const Result<HttpAnswer>* const answer : {&often, &once}) {
    if (*answer) {
      check_answer_parts(**answer, sent.size());
      check_task_ended(**answer);
    } else {
      check_http_error(answer->error());
    }
  }
  if (!often || !once) return;
  CHECK(often->status == once->status && often->body == once->body,
        "a request that is sent at most once has another answer");
}

}  // namespace millrace::fuzz
