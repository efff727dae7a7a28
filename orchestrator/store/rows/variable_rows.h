// Variable rows: the variables of one owner are adjacent, and so are all variables of a namespace.
// Table `variables`. Functions that read take any View, functions that write the Transaction. A
// damaged row gives an error that names it (damage.h).
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

/// Visits the variables of one owner after the key `after` (empty: all), by key, until `see`
/// returns false.
Status each_variable(const View& view, const VariableOwner& owner, std::string_view after,
                     const std::function<bool(std::string_view key, const Variable&)>& see);

/// Visits the sizes of the rows of the owner's variables, in bytes of key and value as they are
/// stored, by key, until `see` returns false. The values are not read.
Status each_variable_size(const View& view, const VariableOwner& owner,
                          const std::function<bool(size_t bytes)>& see);

/// Erases at most `most` variables of that owner; returns how many it erased. Fewer than `most`
/// means that none is left.
Result<size_t> erase_variables(Transaction& tx, const VariableOwner& owner, size_t most);

}  // namespace millrace
