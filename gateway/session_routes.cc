// The routes of the session of a browser, at /v1/session. Signing in and looking needs no other
// node of a cluster: each node accepts the cookies of the others. Signing out goes to the active,
// which then refuses all calls with the cookie that any node hands on.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "gateway/routes.h"

namespace millrace {
namespace {

Response without_body(Headers headers) {
  constexpr unsigned kNoContent = 204;
  headers.emplace_back("Cache-Control", "no-store");
  return {.status = kNoContent, .headers = std::move(headers)};
}

/// The request has been authorized, by the token or by a session.
Status sign_in(const PageSources& page, const std::shared_ptr<Exchange>& exchange) {
  const Headers& headers = exchange->request().headers;
  if (page.sessions == nullptr) {
    exchange->answer(without_body({}));
    return {};
  }
  const auto known = has_bearer_token(headers) ? std::nullopt : session_of(headers, *page.sessions);
  const BrowserSession session =
      known ? page.sessions->renewed(known->session) : page.sessions->begin();
  const std::string name = known ? known->name : fmt::format("millrace-{}", page.port());
  exchange->answer(
      without_body({{"Set-Cookie", set_cookie(name, page.sessions->value_of(session), headers)}}));
  return {};
}

Status show_session(const PageSources& page, const std::shared_ptr<Exchange>& exchange) {
  const Headers& headers = exchange->request().headers;
  if (page.sessions == nullptr) {
    return fail("session.none",
                "this server requires no token, so a browser needs no session to call it");
  }
  Json shown = {{"scopes", Json::array({"admin"})}, {"namespaces", Json::array({"*"})}};
  const auto known = has_bearer_token(headers) ? std::nullopt : session_of(headers, *page.sessions);
  if (!known) {
    exchange->reply(shown);
    return {};
  }
  const BrowserSession session = page.sessions->renewed(known->session);
  shown["until"] = format_rfc3339(Sessions::end_of(session));
  Response answer = json_response(200, shown);
  answer.headers.emplace_back("Set-Cookie",
                              set_cookie(known->name, page.sessions->value_of(session), headers));
  exchange->answer(std::move(answer));
  return {};
}

Status sign_out(const PageSources& page, const std::shared_ptr<Exchange>& exchange) {
  const Headers& headers = exchange->request().headers;
  Headers removed;
  if (page.sessions != nullptr) {
    if (const auto known = session_of(headers, *page.sessions)) {
      page.sessions->end(known->session);
      removed.emplace_back("Set-Cookie", set_cookie(known->name, "", headers));
    }
  }
  exchange->answer(without_body(std::move(removed)));
  return {};
}

}  // namespace

void add_session_routes(Router& router, const PageSources& page) {
  router.add({.method = "POST",
              .path = "/v1/session",
              .operation = "beginSession",
              .summary = "Signs a browser in: its session has the rights of the token.",
              .headers = {"X-Forwarded-Proto"},
              .answer_status = 204,
              .is_local = true,
              .handler = [page](const auto& exchange) { return sign_in(page, exchange); }});
  router.add({.method = "GET",
              .path = "/v1/session",
              .operation = "getSession",
              .summary = "Shows the rights of the caller, and renews the session.",
              .headers = {"X-Forwarded-Proto"},
              .answer = "Session",
              .errors = {"session.none"},
              .is_local = true,
              .handler = [page](const auto& exchange) { return show_session(page, exchange); }});
  router.add({.method = "DELETE",
              .path = "/v1/session",
              .operation = "endSession",
              .summary = "Signs a browser out.",
              .headers = {"X-Forwarded-Proto"},
              .answer_status = 204,
              .handler = [page](const auto& exchange) { return sign_out(page, exchange); }});
}

}  // namespace millrace
