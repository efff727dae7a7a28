#include "orchestrator/store/rows/secret_rows.h"

#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

std::string key_of(NamespaceNumber ns, std::string_view name) {
  return rows::ns_prefix(ns).append(name);
}

}  // namespace

Result<std::optional<std::string>> read_secret(const View& view, NamespaceNumber ns,
                                               std::string_view name) {
  return rows::read_text(view, Table::kSecrets, key_of(ns, name));
}

bool has_secret(const View& view, NamespaceNumber ns, std::string_view name) {
  return view.get(Table::kSecrets, key_of(ns, name)).has_value();
}

void write_secret(Transaction& tx, NamespaceNumber ns, std::string_view name,
                  std::string_view value) {
  rows::put(tx, Table::kSecrets, key_of(ns, name), std::string(value), true);
}

void erase_secret(Transaction& tx, NamespaceNumber ns, std::string_view name) {
  tx.erase(Table::kSecrets, key_of(ns, name));
}

Status each_secret(const View& view, NamespaceNumber ns, std::string_view after,
                   const std::function<bool(std::string_view name)>& see) {
  const std::string prefix = rows::ns_prefix(ns);
  std::string from;
  if (!after.empty()) from = prefix + std::string(after) + '\0';
  return rows::walk(
      view, Table::kSecrets, prefix, from,
      [&](std::string_view key, auto) -> Result<bool> { return see(key.substr(prefix.size())); });
}

}  // namespace millrace
