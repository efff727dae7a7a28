#include "cli/pages.h"

#include <chrono>
#include <cstdint>
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

/// How many pages without a result a table passes over, and for how long: of a list with
/// conditions, the server looks at a bounded number of items for each page.
constexpr int kMostEmptyPages = 20;
constexpr std::chrono::seconds kEmptyPagesTime{2};

struct FilledPage {
  Reply reply;
  uint64_t looked = 0;  ///< how many items the server looked at for this page and those before
  Json in_other_case = nullptr;  ///< of a list of events: see explain_other_case()
};

/// The first page with items, or the last page that was asked for. The last parameter of `call` is
/// the cursor, which moves with the pages.
Fallible<FilledPage> first_filled_page(Session& session, ApiCall& call) {
  const TimePoint began = session.console.now();
  FilledPage page;
  for (int asked = 1;; ++asked) {
    page.reply = TRY(session.client.send(call));
    Json& body = page.reply.body;
    page.looked += body.value("looked", uint64_t{0});
    if (page.in_other_case.is_null()) page.in_other_case = body.value("inOtherCase", Json());
    const bool is_over = !body["items"].empty() || !body["next"].is_string();
    const bool is_late = session.console.now() - began >= kEmptyPagesTime;
    if (is_over || is_late || asked == kMostEmptyPages) return page;
    call.query.back().second = body["next"].get<std::string>();
  }
}

/// Says that nothing was found so far in a list that continues.
void explain_unfinished(Session& session, const FilledPage& page, const std::string& items) {
  const std::string what = items == "events" ? "messages" : items;
  const std::string among =
      page.looked > 0 ? fmt::format("among the {} {} that were looked at", page.looked, what)
                      : "so far";
  session.console.err << harmless(fmt::format("nothing was found {}; continue with --cursor {}",
                                              among, page.reply.body["next"].get<std::string>()))
                      << "\n";
}

/// Says that a bound of the server has left something out which no page has.
void note_if_incomplete(Session& session, const Json& answer) {
  if (answer.value("complete", true)) return;
  session.console.err << "some results may be missing: the server looks for a key in a bounded "
                         "number of workflows; name one with --workflow\n";
}

/// Shows the first page that has a result, and says why there is none.
Ended show_table(Session& session, ApiCall call, const PageOptions& options,
                 const std::vector<Column>& columns) {
  call.query.emplace_back("limit", options.limit);
  call.query.emplace_back("cursor", options.cursor);
  FilledPage page = TRY(first_filled_page(session, call));
  Json& body = page.reply.body;
  if (!body["items"].empty()) {
    session.output.list(body, columns, "");
    note_if_incomplete(session, body);
    return ExitCode::kOk;
  }
  session.output.list({{"items", Json::array()}}, columns, "");
  const std::string items = items_of(call.path);
  if (body["next"].is_string()) {
    explain_unfinished(session, page, items);
  } else if (options.cursor.empty()) {
    explain_empty_list(session, call, items);
  } else {
    explain_empty_rest(session, call, items);
  }
  if (page.in_other_case.is_object()) explain_other_case(session, page.in_other_case);
  note_if_incomplete(session, body);
  return ExitCode::kOk;
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
  if (format == Format::kTable) return show_table(session, std::move(call), page, columns);
  const bool shows_all = page.limit.empty();
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
    if (is_last) {
      note_if_incomplete(session, reply.body);
      return ExitCode::kOk;
    }
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
