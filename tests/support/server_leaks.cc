#include "tests/support/server_leaks.h"

#include <utility>

#include "tests/support/leaks.h"

namespace millrace {

std::vector<std::string> leaks_of(MillraceServer& millrace, std::string_view value) {
  std::vector<std::string> leaks = leaks_in_folder(millrace.data(), value);
  const auto look = [&](const std::string& name, std::string_view text) {
    for (std::string& leak : leaks_in(name, text, value)) leaks.push_back(std::move(leak));
  };
  const auto ask = [&](const std::string& path) { look(path, millrace.ask("GET", path).body); };
  look("standard error", millrace.process().errors());
  look("standard output", millrace.process().output());
  for (const char* const path :
       {"/metrics", "/v1/info", "/readyz", "/v1/ns", "workflows?", "instances?limit=1000",
        "listeners?limit=1000", "variables?limit=1000", "secrets?limit=1000"}) {
    ask(path);
  }
  ask("instances/count?by=workflow,revision,state,status");
  for (const Json& instance : millrace.instances("")) {
    const std::string path = "instances/" + instance.at("id").get<std::string>();
    for (const char* const below : {"", "/history", "/variables", "/calls", "/children"}) {
      ask(path + below);
    }
  }
  return leaks;
}

}  // namespace millrace
