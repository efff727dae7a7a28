// Lists that come in pages, for the verbs that show one. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_parser.h"
#include "cli/output.h"
#include "cli/session.h"

namespace millrace {

/// A table shows one page. The other formats are for programs and hold all that there is, from
/// `cursor` on, unless `limit` bounds them.
struct PageOptions {
  std::string limit;
  std::string cursor;
};

/// Adds the options of a page to a verb.
void add_page(Verb& verb, PageOptions& page);

/// Shows the list behind `call`, page by page. What was left out is reported on standard error with
/// the cursor that goes on.
Ended show_pages(Session& session, ApiCall call, const PageOptions& page,
                 const std::vector<Column>& columns, const std::string& name_key);

}  // namespace millrace
