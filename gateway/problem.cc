#include "gateway/problem.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace millrace {
namespace {

struct Row {
  std::string_view code;  ///< a code; with `.` at its end: all codes with this prefix
  unsigned status;
};

// The first entry that matches a code decides its status.
constexpr auto kStatuses = std::to_array<Row>({
    {"request.not_found", 404},
    {"request.method_not_allowed", 405},
    {"request.body_too_large", 413},
    {"request.headers_too_large", 431},
    {"request.content_encoding", 415},
    {"request.host", 421},
    {"request.origin", 403},
    {"request.", 400},
    {"token.", 401},
    {"namespace.not_found", 404},
    {"namespace.not_empty", 409},
    {"leftovers.none", 404},
    {"leftovers.in_use", 409},
    {"workflow.not_found", 404},
    {"workflow.has_instances", 409},
    {"workflow.id_mismatch", 422},
    {"variable.not_found", 404},
    {"variable.sealed", 403},
    {"secret.not_found", 404},
    {"secret.not_text", 422},
    {"secret.in_use", 409},
    {"instance.not_found", 404},
    {"instance.ended", 409},
    {"instance.", 409},
    {"settings.", 422},
    {"function.not_found", 404},
    {"backup.not_found", 404},
    {"backup.chunk", 409},
    {"backup.ending", 503},
    {"dlq.not_found", 404},
    {"dlq.", 422},
    {"replay.not_found", 404},
    {"replay.ended", 409},
    {"replay.too_many", 429},
    {"replay.", 400},
    {"schedule.not_found", 404},
    {"start.conflict", 409},
    {"direktiv.mutex", 409},
    {"millrace.quota.eventsPerSecond", 429},
    {"millrace.quota.", 403},
    {"definition.", 422},
    {"event.not_found", 404},
    {"event.id_known", 409},
    {"event.unreadable", 422},
    {"event.too_large", 413},
    {"event.batch_too_large", 413},
    {"event.unsupported_format", 415},
    {"event.", 400},
    {"json.", 400},
    {"id.", 400},
    {"cursor.", 400},
    {"time.", 400},
    {"duration.", 400},
    {"retry.", 400},
    {"wait.timeout", 504},
    {"busy", 503},
    {"starting", 503},
    {"stopping", 503},
    {"broker.too_large", 413},
    {"broker.", 503},
    {"store.full", 503},
});

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

}  // namespace

unsigned status_of(std::string_view code) {
  const auto* const found =
      std::find_if(kStatuses.begin(), kStatuses.end(), [&](const Row& candidate) {
        return candidate.code.back() == '.' ? code.starts_with(candidate.code)
                                            : code == candidate.code;
      });
  return found == kStatuses.end() ? 500 : found->status;
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
  if (status == 503 || status == 429) response.headers.emplace_back("Retry-After", "1");
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
