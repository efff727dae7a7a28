#include "orchestrator/store/rows/value_piece_rows.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Comes before the keys of variables, which begin with a letter, and behind the key in a piece's.
constexpr char kMark = '\0';

std::string group_prefix(const VariableOwner& owner, uint64_t number) {
  Writer key(variable_owner_prefix(owner));
  key.u8(kMark);
  key.u64(number);
  return key.take();
}

std::string value_prefix(const PieceValue& value) {
  std::string prefix = group_prefix(value.name.owner, value.number).append(value.name.key);
  prefix.push_back(kMark);
  return prefix;
}

std::string key_of(const ValuePiecePlace& place) {
  Writer key(value_prefix(place.value));
  key.u32(place.piece);
  return key.take();
}

/// Whether the variable of the piece has the group of the piece.
Result<bool> has_piece(const View& view, const ValuePiecePlace& place) {
  const auto head = read_variable_head(view, place.value.name);
  // It is not known whether a damaged variable has it.
  if (!head && is_damaged_row(head.error())) return true;
  if (!head) return tl::unexpected(head.error());
  return *head && (*head)->pieces == place.value.number;
}

}  // namespace

void write_value_piece(Transaction& tx, const ValuePiecePlace& place, std::string_view bytes,
                       Sealing sealed) {
  Writer writer = rows::begin_record();
  writer.raw(bytes);
  rows::put(tx, Table::kVariables, key_of(place), writer.take(), sealed);
}

Result<std::string> decode_value_piece(std::string_view bytes) {
  Reader reader = rows::open_record(bytes);
  std::string piece(reader.rest());
  return rows::end_record(reader, std::move(piece), "piece of a value");
}

Result<std::string> read_pieces(const View& view, const PieceValue& value) {
  std::string bytes;
  uint32_t next = 0;
  TRY(rows::walk(
      view, Table::kVariables, value_prefix(value), {},
      [&](std::string_view key, std::string_view row) -> Result<bool> {
        const auto place = value_piece_place(key);
        if (!place || place->piece != next) {
          return tl::unexpected(damaged_row(
              Table::kVariables, key, fmt::format("piece {} of the value should be here", next)));
        }
        ++next;
        bytes += TRY(rows::decode(view, Table::kVariables, key, row, decode_value_piece));
        return true;
      }));
  return bytes;
}

Result<uint64_t> size_of_pieces(const View& view, const PieceValue& value) {
  uint64_t size = 0;
  TRY(rows::walk(view, Table::kVariables, value_prefix(value), {},
                 [&](std::string_view, std::string_view row) -> Result<bool> {
                   size += row.size();
                   return true;
                 }));
  return size;
}

Status erase_pieces(Transaction& tx, const PieceValue& value) {
  constexpr size_t kMostPieces = 1'000;  // a value has far fewer
  TRY(rows::erase_some(tx, Table::kVariables, value_prefix(value), kMostPieces));
  return {};
}

Result<bool> purge_pieces(Transaction& tx, const StagedPieces& staged, uint64_t number,
                          PurgeBudget& budget, const OnDamage& kept) {
  constexpr std::array kScopes = {VariableScope::kInstance, VariableScope::kWorkflow,
                                  VariableScope::kNamespace};
  for (const VariableScope scope : kScopes) {
    const VariableOwner owner = owner_of(staged.ns, staged.workflow, staged.instance, scope);
    std::vector<std::string> keys;
    bool is_all = true;
    TRY(rows::walk(tx, Table::kVariables, group_prefix(owner, number), {},
                   [&](std::string_view key, std::string_view row) -> Result<bool> {
                     is_all = !budget.is_spent();
                     if (!is_all) return false;
                     budget.count(row.size());  // a long row has pages that are freed
                     const auto place = value_piece_place(key);
                     if (place && TRY(has_piece(tx, *place))) {
                       kept(damaged_row(Table::kVariables, key,
                                        "a purge should erase it, and its variable has it"));
                       return true;
                     }
                     keys.emplace_back(key);
                     budget.erase();
                     return true;
                   }));
    for (const std::string& key : keys) tx.erase(Table::kVariables, key);
    if (!is_all) return false;
  }
  return true;
}

std::optional<ValuePiecePlace> value_piece_place(std::string_view key) {
  Reader reader(key);
  ValuePiecePlace place;
  VariableOwner& owner = place.value.name.owner;
  owner = get_variable_owner(reader);
  if (reader.u8() != kMark) return std::nullopt;
  place.value.number = reader.u64();
  const std::string_view rest = reader.ok() ? reader.rest() : std::string_view();
  const size_t end = rest.find(kMark);
  if (end == std::string_view::npos || !is_variable_key(rest.substr(0, end))) return std::nullopt;
  place.value.name.key = std::string(rest.substr(0, end));
  Reader piece(rest.substr(end + 1));
  place.piece = piece.u32();
  return piece.done() ? std::optional(std::move(place)) : std::nullopt;
}

std::string to_string(const ValuePiecePlace& place) {
  return fmt::format("{} piece {} of group {}", place.value.name.key, place.piece,
                     place.value.number);
}

bool is_value_piece(std::string_view key) {
  Reader reader(key);
  get_variable_owner(reader);
  return reader.u8() == kMark && reader.ok();
}

}  // namespace millrace
