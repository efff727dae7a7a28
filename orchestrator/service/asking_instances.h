// Asking instances: which instances may have the listeners of a list, as the wait index of the
// engine thread has them. Any thread except the engine thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The only instances that may have a listener of the filter, newest first, if it has a type or a
/// value; nullopt: the engine thread does not know them, or has not answered.
std::optional<std::vector<InstanceId>> instances_asking(const AskIndex& ask, std::string_view ns,
                                                        const ListenerFilter& filter);

}  // namespace millrace
