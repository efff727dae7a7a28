// Secret rows, which are always sealed: those of one namespace stand together. Table `secrets`.
// Reading takes any View, writing the Transaction. A row that is damaged is an error that names it
// (damage.h).
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

Result<std::optional<std::string>> read_secret(const View& view, NamespaceNumber space,
                                               std::string_view name);
/// Whether there is one, without opening it.
bool has_secret(const View& view, NamespaceNumber space, std::string_view name);
void write_secret(Transaction& tx, NamespaceNumber space, std::string_view name,
                  std::string_view value);
void erase_secret(Transaction& tx, NamespaceNumber space, std::string_view name);

/// Names behind `after` (empty: all), in order, until `see` returns false.
Status each_secret(const View& view, NamespaceNumber space, std::string_view after,
                   const std::function<bool(std::string_view name)>& see);

}  // namespace millrace
