// Queries about variables and secrets.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/commands/variable_owner.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// The most bytes that the variables have in one line of the archive, which is made in memory, and
/// how many bytes each of them counts besides its value and its content type.
constexpr size_t kMostArchivedBytes = size_t{16} << 20;
constexpr size_t kBesideBytes = 256;

}  // namespace

Result<VariableOwner> Queries::owner_of(const View& view, const VariablePlace& place) {
  return find_owner(
      place,
      {.find_namespace = [&](std::string_view ns) { return find_namespace(view, ns); },
       .find_workflow = [&](std::string_view ns, std::string_view id) -> Result<WorkflowNumber> {
         return TRY(find_workflow(view, ns, id)).number;
       },
       .check_instance = [&](NamespaceNumber, const InstanceId& id) -> Status {
         TRY(find_instance(view, place.ns, id));
         return {};
       }});
}

Result<Json> Queries::variables(const View& view, const VariablePlace& place, size_t limit,
                                std::string_view cursor) {
  const VariableOwner owner = TRY(owner_of(view, place));
  Page page(limit);
  TRY(each_variable(view, owner, cursor, [&](std::string_view key, const VariableHead& variable) {
    if (!page.has_room()) return false;
    page.add(variable_item(key, variable), std::string(key));
    return true;
  }));
  return std::move(page).json();
}

Status Queries::add_variables(const View& view, const Instance& found, Json& line) {
  const VariableOwner owner = millrace::owner_of(found, VariableScope::kInstance);
  std::vector<std::string> keys;
  size_t bytes = 0;
  uint64_t left_out = 0;
  TRY(each_variable(view, owner, {}, [&](std::string_view key, const VariableHead& variable) {
    const size_t own = variable.size + variable.content_type.size() + kBesideBytes;
    if (bytes + own > kMostArchivedBytes) {
      ++left_out;
      return true;
    }
    bytes += own;
    keys.emplace_back(key);
    return true;
  }));
  Json items = Json::array();
  for (const std::string& key : keys) {
    const auto variable = TRY(read_variable(view, {owner, key}));
    if (variable) items.push_back(whole_variable(key, *variable));
  }
  line["variables"] = std::move(items);
  if (left_out > 0) line["variablesLeftOut"] = left_out;
  return {};
}

Result<Variable> Queries::variable(const View& view, const VariablePlace& place,
                                   std::string_view key) {
  const VariableName name{TRY(owner_of(view, place)), std::string(key)};
  auto found = TRY(read_variable(view, name));
  if (!found) return tl::unexpected(no_variable(key));
  if (found->sealed) {
    return fail("variable.sealed",
                fmt::format("variable \"{}\" was set by an instance that holds a secret; only "
                            "instances can read it",
                            key));
  }
  return std::move(*found);
}

Result<Json> Queries::secrets(const View& view, std::string_view ns, size_t limit,
                              std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  Page page(limit);
  TRY(each_secret(view, number, cursor, [&](std::string_view name) {
    if (!page.has_room()) return false;
    page.add({{"name", name}}, std::string(name));
    return true;
  }));
  return std::move(page).json();
}

}  // namespace millrace
