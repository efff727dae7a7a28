// The routes of the page: its first file at `/`, its other files below `/assets/`, and addresses of
// its places without a `#`. They need no token: the page holds nothing but what every build has,
// and each call that it makes is checked. Each node of a cluster answers with its own page.
#include <memory>

#include "gateway/page_answer.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

Handler showing(PageFiles files) {
  return [files](const std::shared_ptr<Exchange>& exchange) -> Status {
    exchange->answer(page_answer(files, exchange->request().path, exchange->request().headers));
    return {};
  };
}

}  // namespace

void add_page_routes(Router& router, PageFiles files) {
  router.add({.method = "GET",
              .path = "/",
              .operation = "getPage",
              .summary = "Shows the page of millrace in a browser.",
              .headers = {"Accept-Encoding", "If-None-Match"},
              .answer = "Page",
              .further_answers = {{304, ""}},
              .errors = {"page.none"},
              .open = true,
              .is_local = true,
              .is_page = true,
              .handler = showing(files)});
  router.add({.method = "GET",
              .path = "/assets/{file}",
              .operation = "getPageFile",
              .summary = "Reads a file of the page, such as a script.",
              .headers = {"Accept-Encoding", "If-None-Match"},
              .answer = "PageFile",
              .further_answers = {{304, ""}},
              .errors = {"page.none"},
              .open = true,
              .is_local = true,
              .is_page = true,
              .handler = showing(files)});
  router.add({.method = "GET",
              .path = "/ns/{place}",
              .operation = "redirectToPage",
              .summary = "Leads from an address without `#` to the place of the page.",
              .answer_status = 302,
              .errors = {"page.none"},
              .open = true,
              .is_local = true,
              .is_page = true,
              .handler = [files](const std::shared_ptr<Exchange>& exchange) -> Status {
                exchange->answer(place_answer(files, exchange->request().target));
                return {};
              }});
}

}  // namespace millrace
