#include "orchestrator/store/rows/variable_rows.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/value_piece_rows.h"

namespace millrace {
namespace {

/// A row of this version has no value, but the group of its pieces.
constexpr uint8_t kVersionWithPieces = 2;

std::string key_of(const VariableName& name) {
  return variable_owner_prefix(name.owner).append(name.key);
}

/// A row of a variable.
struct VariableRow {
  VariableHead head;
  std::string bytes;  ///< the value, if it is not in pieces
  Sealing sealed;
};

VariableHead get_head(Reader& reader, std::string_view& value) {
  const uint8_t version = rows::read_version(reader, kVersionWithPieces);
  VariableHead head{.content_type = rows::get_string(reader)};
  if (version == kVersionWithPieces) {
    head.size = reader.varint();
    head.pieces = rows::get_number(reader);
  } else {
    value = reader.rest();
    head.size = value.size();
  }
  return head;
}

Result<VariableRow> decode_row(std::string_view bytes) {
  Reader reader(bytes);
  std::string_view value;
  VariableRow row{.head = get_head(reader, value)};
  row.bytes = std::string(value);
  return rows::end_record(reader, std::move(row), "variable");
}

/// To be called before the variable is written or erased.
void erase_former_pieces(Transaction& tx, const VariableName& name) {
  const auto former = read_variable_head(tx, name);
  // What a damaged row has is not known; `millrace verify` finds its pieces.
  if (former && *former && (*former)->pieces) {
    static_cast<void>(erase_pieces(tx, {.name = name, .number = *(*former)->pieces}));
  }
}

}  // namespace

std::string variable_owner_prefix(const VariableOwner& owner) {
  Writer key;
  key.u32(static_cast<uint32_t>(owner.ns));
  key.u8(static_cast<uint8_t>(owner.scope));
  if (owner.scope == VariableScope::kInstance) key.id(owner.instance.bytes);
  if (owner.scope == VariableScope::kWorkflow) key.u32(static_cast<uint32_t>(owner.workflow));
  return key.take();
}

VariableOwner get_variable_owner(Reader& reader) {
  VariableOwner owner{.ns = NamespaceNumber(reader.u32())};
  owner.scope = rows::get_enum(reader, VariableScope::kNamespace);
  if (owner.scope == VariableScope::kInstance) owner.instance.bytes = reader.id();
  if (owner.scope == VariableScope::kWorkflow) owner.workflow = WorkflowNumber(reader.u32());
  return owner;
}

std::string encode(const Variable& variable) {
  Writer writer = rows::begin_record();
  writer.bytes(variable.content_type);
  writer.raw(variable.bytes);
  return writer.take();
}

std::string encode(const VariableHead& head) {
  Writer writer = rows::begin_record(kVersionWithPieces);
  writer.bytes(head.content_type);
  writer.varint(head.size);
  writer.varint(*head.pieces);
  return writer.take();
}

Result<VariableHead> decode_variable_head(std::string_view bytes) {
  Reader reader(bytes);
  std::string_view value;
  VariableHead head = get_head(reader, value);
  return rows::end_record(reader, std::move(head), "variable");
}

Result<std::optional<Variable>> read_variable(const View& view, const VariableName& name) {
  auto row = TRY(rows::read(view, Table::kVariables, key_of(name), decode_row));
  if (!row) return std::optional<Variable>();
  const VariableHead& head = row->head;
  if (head.pieces) row->bytes = TRY(read_pieces(view, {.name = name, .number = *head.pieces}));
  if (row->bytes.size() != head.size) {
    return tl::unexpected(
        damaged_row(Table::kVariables, key_of(name),
                    fmt::format("its value has {} bytes, but {} are in its pieces", head.size,
                                row->bytes.size())));
  }
  return std::optional(
      Variable{std::move(row->head.content_type), std::move(row->bytes), row->sealed});
}

Result<std::optional<VariableHead>> read_variable_head(const View& view, const VariableName& name) {
  return rows::read(view, Table::kVariables, key_of(name), decode_variable_head);
}

void write_variable(Transaction& tx, const VariableName& name, const Variable& variable) {
  erase_former_pieces(tx, name);
  rows::put(tx, Table::kVariables, key_of(name), encode(variable), variable.sealed);
}

void write_variable_head(Transaction& tx, const VariableName& name, const VariableHead& head) {
  erase_former_pieces(tx, name);
  rows::put(tx, Table::kVariables, key_of(name), encode(head), head.sealed);
}

void erase_variable(Transaction& tx, const VariableName& name) {
  erase_former_pieces(tx, name);
  tx.erase(Table::kVariables, key_of(name));
}

Status each_variable(const View& view, const VariableOwner& owner, std::string_view after,
                     const std::function<bool(std::string_view key, const VariableHead&)>& see) {
  const std::string prefix = variable_owner_prefix(owner);
  // The pieces come before the variables.
  const std::string from = after.empty() ? prefix + '\1' : prefix + std::string(after) + '\0';
  return rows::walk(
      view, Table::kVariables, prefix, from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        return see(key.substr(prefix.size()),
                   TRY(rows::decode(view, Table::kVariables, key, value, decode_variable_head)));
      });
}

Status each_variable_size(const View& view, const VariableOwner& owner,
                          const std::function<bool(size_t bytes)>& see) {
  return rows::walk(view, Table::kVariables, variable_owner_prefix(owner), {},
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      return see(key.size() + value.size());
                    });
}

Result<size_t> erase_variables(Transaction& tx, const VariableOwner& owner, size_t most) {
  return rows::erase_some(tx, Table::kVariables, variable_owner_prefix(owner), most);
}

}  // namespace millrace
