// `millrace call`: tasks that a service has accepted and answers later.
#include <string>
#include <utility>

#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

struct CallListOptions {
  std::string instance;
  PageOptions page;
};

Ended list_accepted_calls(Session& session, const CallListOptions& options) {
  ApiCall call{.path = session.path({"calls"}), .query = {{"instance", options.instance}}};
  return show_pages(session, std::move(call), options.page,
                    {field("INSTANCE", "instance"), field("STATE", "state"),
                     field("FUNCTION", "function"), age("SINCE", "since", session.console.now()),
                     field("DEADLINE", "deadline"), field("ATTEMPT", "task")},
                    "task");
}

}  // namespace

void add_call_verbs(CommandLine& commands) {
  CommandLine call = commands.noun("call", "Calls that a service has accepted and answers later");
  auto [list, listed] = call.asking<CallListOptions>(
      "list", "Lists the calls that wait for an answer from outside, the oldest first",
      "millrace call list --instance 0190b5a4-7c1e-7f2a-8000-0123456789ab", list_accepted_calls);
  list.option("--instance", listed.instance, "Only the calls of this instance", "ID");
  add_page(list, listed.page);
}

}  // namespace millrace
