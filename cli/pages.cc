#include "cli/pages.h"

#include <utility>

namespace millrace {
namespace {

/// Few requests for a long list, and no answer that is too large to hold.
constexpr const char* kPage = "250";

}  // namespace

void add_page(Verb& verb, PageOptions& page) {
  verb.option("--limit", page.limit, "At most N (a table: 50; other formats: all)", "N");
  verb.option("--cursor", page.cursor, "Go on where a list before ended");
}

Ended show_pages(Session& session, ApiCall call, const PageOptions& page,
                 const std::vector<Column>& columns, const std::string& name_key) {
  const Format format = session.output.format();
  const bool shows_all = format != Format::kTable && page.limit.empty();
  // JSON and YAML are one document, the others are printed while they come.
  const bool is_document = format == Format::kJson || format == Format::kYaml;
  call.query.emplace_back("limit", shows_all ? kPage : page.limit);
  call.query.emplace_back("cursor", page.cursor);
  Json items = Json::array();
  while (true) {
    Reply reply = TRY(session.client.send(call));
    const bool is_last = !reply.body["next"].is_string() || !shows_all;
    if (is_document) {
      for (Json& item : reply.body["items"]) items.push_back(std::move(item));
      reply.body["items"] = is_last ? std::exchange(items, {}) : Json::array();
    }
    std::string next;
    if (!is_last) next = std::exchange(reply.body["next"], nullptr).get<std::string>();
    if (is_last || !is_document) session.output.list(reply.body, columns, name_key);
    if (is_last) return ExitCode::kOk;
    call.query.back().second = std::move(next);
  }
}

}  // namespace millrace
