#include "bench/http_session.h"

#include <utility>

#include "base/check.h"

namespace millrace {
namespace {

constexpr long kAnswerTimeoutMs = 30'000;

size_t append_to_body(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

}  // namespace

HttpSession::HttpSession(std::string url) : url_(std::move(url)), curl_(curl_easy_init()) {
  CHECK(curl_ != nullptr);
}

HttpSession::~HttpSession() { curl_easy_cleanup(curl_); }

SessionAnswer HttpSession::send(const std::string& method, const std::string& path,
                                std::string_view body, const std::string& type,
                                const std::string& header) {
  const std::string address = url_ + path;
  SessionAnswer answer;
  curl_easy_reset(curl_);  // the connection stays open
  curl_easy_setopt(curl_, CURLOPT_URL, address.c_str());
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, kAnswerTimeoutMs);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, append_to_body);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
  // Without `Expect`, a large body is sent at once. An empty value removes a header.
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  headers = curl_slist_append(headers, ("Content-Type: " + type).c_str());
  if (!header.empty()) headers = curl_slist_append(headers, header.c_str());
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
  if (!body.empty()) {
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  }
  if (curl_easy_perform(curl_) == CURLE_OK) {
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer.status);
  }
  curl_slist_free_all(headers);
  return answer;
}

}  // namespace millrace
