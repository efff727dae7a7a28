#include "orchestrator/definition/read_members.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"

namespace millrace {
namespace {

/// Whether a program of the fast lane may read its input otherwise than by the key of a member: it
/// has a dot without a key, `length` or `not`.
bool may_read_all(std::string_view program) {
  for (size_t at = program.find('.'); at != std::string_view::npos;
       at = program.find('.', at + 1)) {
    const std::string_view rest = program.substr(at + 1);
    const bool has_key =
        !rest.empty() && (is_in_name(rest[0]) || rest[0] == '"' || rest.starts_with("[\""));
    if (!has_key) return true;
  }
  return program.find("length") != std::string_view::npos ||
         program.find("not") != std::string_view::npos;
}

/// Adds the members that the value reads; false: it may read others.
bool gather_members(const Node& value, std::set<std::string>& members) {
  for (const Node& item : value.items) {
    if (!gather_members(item, members)) return false;
  }
  for (const Member& member : value.members) {
    if (!gather_members(member.value, members)) return false;
  }
  if (value.kind != Node::Kind::kString) return true;
  const auto text = Template::literal_or_jq(value.text, Template::Dot::kIdentity);
  if (!text) return false;
  for (const Program& program : text->programs()) {
    if (program.fast == nullptr || may_read_all(program.text)) return false;
    for (const std::vector<std::string>& path : key_paths_of(program.text)) {
      members.insert(path.front());
    }
  }
  return true;
}

}  // namespace

std::optional<std::set<std::string>> members_read(const Node& value) {
  std::set<std::string> members;
  if (!gather_members(value, members)) return std::nullopt;
  return members;
}

}  // namespace millrace
