#include "cli/pages.h"

#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "cli/empty_list.h"

namespace millrace {
namespace {

/// Page size: a long list takes few requests, and no response is too large for the memory.
constexpr const char* kPage = "250";

/// What a list has, by the last piece of its path: `dead letters`.
std::string items_of(const std::string& path) {
  const std::string piece = path.substr(path.rfind('/') + 1);
  if (piece == "ns") return "namespaces";
  if (piece == "dlq") return "dead letters";
  if (piece == "groups") return "incomplete groups";
  return piece;
}

}  // namespace

void add_page(Verb& verb, PageOptions& page, std::string_view in_table) {
  verb.option(
      "--limit", page.limit,
      fmt::format("Maximum number of results (default: {} in a table, all in other formats)",
                  in_table),
      "N");
  verb.option("--cursor", page.cursor, "Continue an earlier list, from the cursor that it printed");
}

Ended show_pages(Session& session, ApiCall call, const PageOptions& page,
                 const std::vector<Column>& columns, const std::string& name_key) {
  const Format format = session.output.format();
  const bool shows_all = format != Format::kTable && page.limit.empty();
  // JSON and YAML are printed as one document, the other formats page by page.
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
    if (format == Format::kTable && reply.body["items"].empty() &&
        !reply.body["next"].is_string()) {
      const auto explain = page.cursor.empty() ? explain_empty_list : explain_empty_rest;
      explain(session, call, items_of(call.path));
    }
    if (is_last) return ExitCode::kOk;
    call.query.back().second = std::move(next);
  }
}

Ended watch_page(Session& session, ApiCall call, const PageOptions& page,
                 const std::function<std::vector<Column>(TimePoint now)>& columns,
                 const std::string& name_key) {
  constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";
  Console& console = session.console;
  const bool redraws = console.out_is_terminal && session.output.format() == Format::kTable;
  call.query.emplace_back("limit", page.limit);
  call.query.emplace_back("cursor", page.cursor);
  Json shown;
  do {
    const Reply reply = TRY(session.client.send(call));
    if (!redraws && reply.body == shown) continue;
    if (redraws) console.out << kClearScreen;
    session.output.list(reply.body, columns(console.now()), name_key);
    console.out << std::flush;
    shown = reply.body;
  } while (console.pause(std::chrono::seconds(1)));
  return ExitCode::kInterrupted;
}

}  // namespace millrace
