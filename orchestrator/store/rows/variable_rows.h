// Variable rows: those of one owner stand together, those of all owners in a namespace too. Table
// `variables`. Reading takes any View, writing the Transaction. A row that is damaged is an error
// that names it (damage.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/variable.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Decoding fails with `store.corrupt`.
std::string encode(const Variable& variable);
Result<Variable> decode_variable(std::string_view bytes);

Result<std::optional<Variable>> read_variable(const View& view, const VariableName& name);
void write_variable(Transaction& tx, const VariableName& name, const Variable& variable);
void erase_variable(Transaction& tx, const VariableName& name);

/// Those of one owner behind the key `after` (empty: all), by key, until `see` returns false.
Status each_variable(const View& view, const VariableOwner& owner, std::string_view after,
                     const std::function<bool(std::string_view key, const Variable&)>& see);

/// Erases variables of that owner, `most` of them at most; returns how many there were to erase, so
/// that less than `most` means all.
Result<size_t> erase_variables(Transaction& tx, const VariableOwner& owner, size_t most);

}  // namespace millrace
