#include "gateway/problem.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "language/error_table.h"

namespace millrace {
namespace {

struct Title {
  unsigned status;
  std::string_view text;
};

constexpr auto kTitles = std::to_array<Title>({
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
});

/// After how many seconds a request that got this error should come again. A paused inbound webhook
/// waits for an operator.
std::string seconds_to_wait(const Error& error) {
  if (error.retry_after > 0) return std::to_string(error.retry_after);
  return error.code == "hooks.paused" ? "60" : "1";
}

}  // namespace

unsigned status_of(std::string_view code) {
  constexpr unsigned kInternal = 500;
  constexpr unsigned kUnprocessable = 422;
  const ErrorEntry* const found = find_error(code);
  if (found == nullptr) return kInternal;
  if (found->status != 0) return found->status;
  // A finding is the answer if a part of a definition stands alone, such as a policy in a header.
  return code.starts_with("definition.") ? kUnprocessable : kInternal;
}

std::string_view title_of(unsigned status) {
  const auto* const found = std::find_if(kTitles.begin(), kTitles.end(),
                                         [&](const Title& row) { return row.status == status; });
  return found == kTitles.end() ? "Error" : found->text;
}

Error busy(std::string_view what) { return {"busy", fmt::format("{}; retry later", what)}; }

Response problem(const Error& error, const Json& errors) {
  return problem(status_of(error.code), error, errors);
}

Response problem(unsigned status, const Error& error, const Json& errors) {
  Json body = {{"type", "about:blank"},
               {"title", title_of(status)},
               {"status", status},
               {"code", error.code},
               {"detail", error.message}};
  if (!errors.is_null()) body["errors"] = errors;
  Response response = json_response(status, body);
  response.headers.front().second = "application/problem+json";
  if (status == 503 || status == 429) {
    response.headers.emplace_back("Retry-After", seconds_to_wait(error));
  }
  if (status == 401) {
    // `error` is left out if no token was sent: the caller may not have known that a token is
    // required (RFC 6750, section 3.1).
    const bool was_wrong = error.code == "token.wrong";
    response.headers.emplace_back("WWW-Authenticate",
                                  was_wrong ? R"(Bearer realm="millrace", error="invalid_token")"
                                            : R"(Bearer realm="millrace")");
  }
  return response;
}

}  // namespace millrace
