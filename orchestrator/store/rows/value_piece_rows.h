// Value piece rows: the pieces of large values of variables. They are written before the variable
// that has them, in commits of their own, so that no commit is as large as the value. Table
// `variables`, among the rows of the owner of the variable, before its variables. Functions that
// read take any View, functions that write the Transaction. A damaged row gives an error that names
// it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/variable.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows, with variables that have them, and with rows
/// `purge/` of the kind kPieces.
inline constexpr uint64_t kMinorOfValuePieces = 14;

/// A value that is stored in pieces.
struct PieceValue {
  VariableName name;    ///< of the variable for which the pieces were written
  uint64_t number = 0;  ///< of the group of values (StagedPieces)
};

struct ValuePiecePlace {
  PieceValue value;
  uint32_t piece = 0;  ///< the pieces of a value are numbered from 0 on, without gaps
};

void write_value_piece(Transaction& tx, const ValuePiecePlace& place, std::string_view bytes,
                       Sealing sealed);

/// The bytes of all pieces of a value together. Error: a damaged row, also if a piece is missing.
Result<std::string> read_pieces(const View& view, const PieceValue& value);
/// How many bytes the rows of the pieces have, without their keys and before they are sealed,
/// about; 0: there are none.
Result<uint64_t> size_of_pieces(const View& view, const PieceValue& value);
/// Erases the pieces of a value. Errors: those of the store.
Status erase_pieces(Transaction& tx, const PieceValue& value);

/// Erases pieces of the group that no variable has, until the budget is spent. Returns whether none
/// of them is left. A piece that a variable has stays, and `kept` receives the error of a damaged
/// row.
Result<bool> purge_pieces(Transaction& tx, const StagedPieces& staged, uint64_t number,
                          PurgeBudget& budget, const OnDamage& kept);

// For the store check.

/// The place in the key of a row of the table `variables`; nullopt: it is not the key of a piece.
std::optional<ValuePiecePlace> value_piece_place(std::string_view key);
/// "KEY piece 3 of group 40", for findings.
std::string to_string(const ValuePiecePlace& place);
/// Whether the key of a row of the table `variables` is that of a piece, as far as its owner can be
/// read.
bool is_value_piece(std::string_view key);
Result<std::string> decode_value_piece(std::string_view bytes);

}  // namespace millrace
