// Secret rows: always sealed; the secrets of one namespace are adjacent. Table `secrets`. Functions
// that read take any View, functions that write the Transaction. A damaged row gives an error that
// names it (damage.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

Result<std::optional<std::string>> read_secret(const View& view, NamespaceNumber ns,
                                               std::string_view name);
/// Whether the secret exists. Does not open its row.
bool has_secret(const View& view, NamespaceNumber ns, std::string_view name);
void write_secret(Transaction& tx, NamespaceNumber ns, std::string_view name,
                  std::string_view value);
void erase_secret(Transaction& tx, NamespaceNumber ns, std::string_view name);

/// Visits the names after `after` (empty: all), in order, until `see` returns false.
Status each_secret(const View& view, NamespaceNumber ns, std::string_view after,
                   const std::function<bool(std::string_view name)>& see);

}  // namespace millrace
