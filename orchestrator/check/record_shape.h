// The members that the detail of each kind of history record has. Only for orchestrator/check.
#pragma once

#include <optional>
#include <string>

#include "model/history.h"

namespace millrace {

/// The text of a finding about a detail that lacks a member, has an unknown one, or a member of
/// another type than releases write; nullopt: the detail fits its kind, or is not JSON, which
/// another check reports. The text has the names and types of the members, and of the values only
/// those of `by` and `how`.
std::optional<std::string> wrong_shape(const HistoryRecord& record);

}  // namespace millrace
