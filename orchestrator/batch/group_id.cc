#include "orchestrator/batch/group_id.h"

namespace millrace {

std::string to_string(const GroupId& id) { return id.workflow + ":" + to_hex(id.group); }

std::optional<GroupId> parse_group_id(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  GroupId id{.workflow = std::string(text.substr(0, colon))};
  if (!read_hex(text.substr(colon + 1), id.group)) return std::nullopt;
  return id;
}

}  // namespace millrace
