#include "orchestrator/definition/read_members.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "expressions/program_facts.h"

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

}  // namespace

std::optional<std::set<std::string>> members_read(const Template& value) {
  std::set<std::string> members;
  for (const Program& program : value.programs()) {
    if (program.fast == nullptr || may_read_all(program.text)) return std::nullopt;
    for (const std::vector<std::string>& path : key_paths_of(program.text)) {
      members.insert(path.front());
    }
  }
  return members;
}

}  // namespace millrace
