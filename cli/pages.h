// Paginated lists, for the verbs that print one. For one thread only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/command_parser.h"
#include "cli/output.h"
#include "cli/session.h"

namespace millrace {

/// A table shows one page. The other formats are for programs and contain all results from `cursor`
/// on, unless `limit` bounds them.
struct PageOptions {
  std::string limit;
  std::string cursor;
};

/// Adds the options --limit and --cursor to a verb. `in_table`: the server's limit for the list if
/// a call names none.
void add_page(Verb& verb, PageOptions& page, std::string_view in_table = "50");

/// Fetches the list that `call` returns, page by page, and prints it. If results are left out,
/// prints the cursor of the next page on standard error. A table passes over pages without a
/// result, at most 20 and for about 2 s; a table without rows is explained on standard error.
Ended show_pages(Session& session, ApiCall call, const PageOptions& page,
                 const std::vector<Column>& columns, const std::string& name_key);

/// Shows one page of a list once a second until Console::pause returns false; on a terminal in
/// place of the page before, elsewhere only when the page has changed. `columns` makes the columns
/// for the current time.
Ended watch_page(Session& session, ApiCall call, const PageOptions& page,
                 const std::function<std::vector<Column>(TimePoint now)>& columns,
                 const std::string& name_key);

}  // namespace millrace
