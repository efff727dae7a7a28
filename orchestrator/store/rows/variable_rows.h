// Variable rows: the variables of one owner are adjacent, and so are all variables of a namespace.
// Table `variables`; the pieces of large values are rows of their own (value_piece_rows.h).
// Functions that read take any View, functions that write the Transaction. A
// damaged row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/result.h"
#include "model/variable.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A variable without its value.
struct VariableHead {
  std::string content_type;
  uint64_t size = 0;  ///< of the value, in bytes
  /// The group of the pieces that the value is stored in (value_piece_rows.h); nullopt: the row of
  /// the variable has the value.
  std::optional<uint64_t> pieces;
  Sealing sealed;
};

/// Decoding fails with `store.corrupt`.
std::string encode(const Variable& variable);
/// Precondition: the value is in pieces.
std::string encode(const VariableHead& head);
Result<VariableHead> decode_variable_head(std::string_view bytes);

/// Also reads the value that is stored in pieces. Error: a damaged row, also if one of its pieces
/// is damaged or missing.
Result<std::optional<Variable>> read_variable(const View& view, const VariableName& name);
Result<std::optional<VariableHead>> read_variable_head(const View& view, const VariableName& name);

// Both functions erase the pieces of the value that the variable has had. What stops them stays in
// Transaction::status().

void write_variable(Transaction& tx, const VariableName& name, const Variable& variable);
void erase_variable(Transaction& tx, const VariableName& name);
/// Writes a variable whose value is stored in the pieces of `head.pieces`, which is not nullopt.
void write_variable_head(Transaction& tx, const VariableName& name, const VariableHead& head);

/// Visits the variables of one owner after the key `after` (empty: all), by key, until `see`
/// returns false.
Status each_variable(const View& view, const VariableOwner& owner, std::string_view after,
                     const std::function<bool(std::string_view key, const VariableHead&)>& see);

/// Visits the sizes of the rows of the owner's variables, also of their pieces, in bytes of key and
/// value as they are stored, by key, until `see` returns false. The values are not read.
Status each_variable_size(const View& view, const VariableOwner& owner,
                          const std::function<bool(size_t bytes)>& see);

/// Erases at most `most` rows of variables of that owner, and of their pieces; returns how many it
/// erased. Fewer than `most` means that none is left.
Result<size_t> erase_variables(Transaction& tx, const VariableOwner& owner, size_t most);

// For the rows of pieces and the store check.

/// The beginning of the keys of all rows of variables of that owner.
std::string variable_owner_prefix(const VariableOwner& owner);
/// The owner at the beginning of such a key. A scope that does not exist fails the reader.
VariableOwner get_variable_owner(Reader& reader);

}  // namespace millrace
