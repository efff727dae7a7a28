// For tests of deleted namespaces: definitions, the keys of the rows in the store, and a function
// that erases rows with names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kCallsAndGoesOn = R"(
id: calls
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, async: true, action: {function: charge}}
)";

inline constexpr const char* kWaitsInDeleted = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

inline std::string job(std::string_view id, std::string_view more = "") {
  return fmt::format("id: {}\nstates:\n- {{id: done, type: noop}}\n{}", id, more);
}

/// The keys of all rows except counters, messages and fingerprints.
inline std::vector<std::string> keys(const World& world) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : world.rows()) {
    const std::string table = key.substr(0, key.find('/'));
    const bool is_state =
        table != "outbox" && table != "sent" && table != "dedupe" && table != "effects";
    if (is_state &&
        (table != "meta" || key.starts_with("meta/purge/") || key.starts_with("meta/retired/"))) {
      keys.push_back(key);
    }
  }
  return keys;
}

inline bool is_purging(const World& world) {
  const auto rows = world.rows();
  const auto first = rows.lower_bound("meta/purge/");
  return first != rows.end() && first->first.starts_with("meta/purge/");
}

/// Erases the rows with the names of the namespace and its workflows, and keeps all other rows.
inline void delete_names(Transaction& tx, const std::string& ns) {
  const auto record = read_namespace(tx, ns);
  ASSERT_TRUE(record && *record);
  std::vector<std::string> ids;
  const Status walked =
      each_workflow(tx, [&](NamespaceNumber of, std::string_view id, const WorkflowRecord&) {
        if (of == (*record)->number) ids.emplace_back(id);
      });
  ASSERT_TRUE(walked);
  for (const std::string& id : ids) erase_workflow(tx, (*record)->number, id);
  std::vector<WorkflowNumber> retired;
  ASSERT_TRUE(each_retired(
      tx, [&](WorkflowNumber workflow, NamespaceNumber) { retired.push_back(workflow); }));
  for (const WorkflowNumber workflow : retired) erase_retired(tx, workflow);
  erase_namespace(tx, ns);
}

}  // namespace millrace
