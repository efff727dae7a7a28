// Checks of variables, and of the pieces of their values.
#include <optional>

#include "model/variable.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {

void Checker::check_variables() {
  std::optional<ValuePiecePlace> last;  // the pieces of a value are adjacent
  each_row(Table::kVariables, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kVariables, key};
    Reader reader(key);
    VariableName name{.owner = get_variable_owner(reader), .key = {}};
    const std::optional<ValuePiecePlace> piece = value_piece_place(key);
    if (!piece) name.key = std::string(reader.rest());
    if (!reader.ok() || (!piece && !is_variable_key(name.key))) {
      add(StoreFault::kRowKey, place, "the key is not an owner and the key of a variable");
      return;
    }
    if (piece) {
      const bool continues = last && last->value.name == piece->value.name &&
                             last->value.number == piece->value.number;
      check_value_piece(place, *piece, continues ? last->piece + 1 : 0);
      open_and_decode(place, value, decode_value_piece);
      last = piece;
    } else if (const auto head = open_and_decode(place, value, decode_variable_head)) {
      if (head->pieces) check_pieces_of(place, {.name = name, .number = *head->pieces}, head->size);
    }
    check_variable_owner(place, name.owner);
  });
}

void Checker::check_variable_owner(const Place& place, const VariableOwner& owner) {
  if (!check_namespace(owner.ns, place)) return;
  if (owner.scope == VariableScope::kInstance && !exists(owner.ns, owner.instance)) {
    add(StoreFault::kInstanceMissing, place,
        fmt::format("the owner of the variable, instance {}, does not exist",
                    to_string(owner.instance)));
  } else if (owner.scope == VariableScope::kWorkflow) {
    const auto known = workflows_.find(owner.workflow);
    if (known != workflows_.end() && known->second.ns == owner.ns) return;
    add(StoreFault::kWorkflowMissing, place,
        fmt::format("the owner of the variable, workflow {}, does not exist",
                    static_cast<uint32_t>(owner.workflow)));
  }
}

/// Checks that a variable has all pieces of its value, which has `size` bytes.
void Checker::check_pieces_of(const Place& place, const PieceValue& value, uint64_t size) {
  note_minor(kMinorOfValuePieces, "variables with pieces");
  note_given(Counter::kHistory, value.number, place);
  const auto found = size_of_pieces(view_, value);
  if (!found || *found >= size) return;  // an error of the view ends the check
  add(StoreFault::kVariablePieces, place,
      fmt::format("the value has {} bytes, but its pieces have {}", size, *found));
}

/// Checks that the variable of a piece has it, unless a purge erases it, and that no piece before
/// it is missing. The rows `purge/` were read before.
void Checker::check_value_piece(const Place& place, const ValuePiecePlace& piece,
                                uint32_t expected) {
  note_minor(kMinorOfValuePieces, "pieces of values");
  note_given(Counter::kHistory, piece.value.number, place);
  if (staged_.contains(piece.value.number)) return;  // a purge may have erased the first ones
  const auto head = read_variable_head(view_, piece.value.name);
  if (!head) return;  // its own row has a finding, or cannot be opened
  if (!*head || (*head)->pieces != piece.value.number) {
    add(StoreFault::kVariablePieces, place, "no variable has the piece, and no purge erases it");
  } else if (piece.piece != expected) {
    add(StoreFault::kVariablePieces, place,
        fmt::format("it is piece {} of the value, but piece {} is missing", piece.piece, expected));
  }
}

}  // namespace millrace
