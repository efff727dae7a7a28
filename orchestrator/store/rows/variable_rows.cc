#include "orchestrator/store/rows/variable_rows.h"

#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

std::string owner_prefix(const VariableOwner& owner) {
  Writer key;
  key.u32(static_cast<uint32_t>(owner.ns));
  key.u8(static_cast<uint8_t>(owner.scope));
  if (owner.scope == VariableScope::kInstance) key.id(owner.instance.bytes);
  if (owner.scope == VariableScope::kWorkflow) key.u32(static_cast<uint32_t>(owner.workflow));
  return key.take();
}

std::string key_of(const VariableName& name) { return owner_prefix(name.owner).append(name.key); }

}  // namespace

std::string encode(const Variable& variable) {
  Writer writer = rows::begin_record();
  writer.bytes(variable.content_type);
  writer.raw(variable.bytes);
  return writer.take();
}

Result<Variable> decode_variable(std::string_view bytes) {
  Reader reader = rows::open_record(bytes);
  Variable variable;
  variable.content_type = rows::get_string(reader);
  variable.bytes = std::string(reader.rest());
  return rows::end_record(reader, std::move(variable), "variable");
}

Result<std::optional<Variable>> read_variable(const View& view, const VariableName& name) {
  return rows::read(view, Table::kVariables, key_of(name), decode_variable);
}

void write_variable(Transaction& tx, const VariableName& name, const Variable& variable) {
  rows::put(tx, Table::kVariables, key_of(name), encode(variable), variable.sealed);
}

void erase_variable(Transaction& tx, const VariableName& name) {
  tx.erase(Table::kVariables, key_of(name));
}

Status each_variable(const View& view, const VariableOwner& owner, std::string_view after,
                     const std::function<bool(std::string_view key, const Variable&)>& see) {
  const std::string prefix = owner_prefix(owner);
  std::string from;
  if (!after.empty()) from = prefix + std::string(after) + '\0';
  return rows::walk(view, Table::kVariables, prefix, from,
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      return see(
                          key.substr(prefix.size()),
                          TRY(rows::decode(view, Table::kVariables, key, value, decode_variable)));
                    });
}

Status each_variable_size(const View& view, const VariableOwner& owner,
                          const std::function<bool(size_t bytes)>& see) {
  return rows::walk(view, Table::kVariables, owner_prefix(owner), {},
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      return see(key.size() + value.size());
                    });
}

Result<size_t> erase_variables(Transaction& tx, const VariableOwner& owner, size_t most) {
  return rows::erase_some(tx, Table::kVariables, owner_prefix(owner), most);
}

}  // namespace millrace
