// The id of a group of an eventsAnd start, by which a user names it: `WORKFLOW:FINGERPRINT`, the id
// of the workflow and 32 hexadecimal digits. It stays the same while the group exists. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace millrace {

struct GroupId {
  std::string workflow;
  Fingerprint group{};
};

std::string to_string(const GroupId& id);

/// nullopt: the text is no id of a group.
std::optional<GroupId> parse_group_id(std::string_view text);

}  // namespace millrace
