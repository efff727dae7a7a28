#include "orchestrator/definition/lint_flow.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

/// Whether the query reads something of its input. A path has a dot; so does a text with one, which
/// is then taken for a path.
bool reads_input(const Node& query) {
  if (query.text.find('.') != std::string::npos) return true;
  for (const Node& item : query.items) {
    if (reads_input(item)) return true;
  }
  for (const Member& member : query.members) {
    if (reads_input(member.value)) return true;
  }
  return false;
}

void warn_never(const Member& key, std::string path, std::string_view why, Findings& findings) {
  findings.warning("lint.concurrency_never", std::move(path), key.at,
                   fmt::format("`{}` has no effect: {}", key.key, why),
                   "remove it, or write `onLimit: queue` in `concurrency`");
}

}  // namespace

void lint_flow(const Node& document, Findings& findings) {
  const Node* const concurrency = value_of(document, "concurrency");
  const std::string on_limit = concurrency == nullptr ? "" : text_of(*concurrency, "onLimit");
  const bool drops = on_limit == "reject" || on_limit == "skip";
  if (const Member* const priority = document.find("priority")) {
    if (concurrency == nullptr) {
      warn_never(*priority, "priority", "without `concurrency` no start waits", findings);
    } else if (drops) {
      warn_never(*priority, "priority", "with this `onLimit` no start waits", findings);
    }
  }
  if (concurrency == nullptr) return;
  const Member* const timeout = concurrency->find("timeout");
  if (timeout != nullptr && drops) {
    warn_never(*timeout, path_of("concurrency", "timeout"), "with this `onLimit` no start waits",
               findings);
  }
  const Member* const key = concurrency->find("key");
  if (key == nullptr || reads_input(key->value)) return;
  findings.warning("lint.concurrency_key", path_of("concurrency", "key"), key->at,
                   "the key reads nothing of the input, so it is the same for all starts",
                   "write a path of the input, such as `jq(.customerId)`, or remove it");
}

}  // namespace millrace
