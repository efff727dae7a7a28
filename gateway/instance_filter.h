// Reads the parameters of a list of instances. Pure.
#pragma once

#include "base/result.h"
#include "gateway/exchange.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The filter in the query of a request: `workflow`, `status`, `since`, `until`, `id`, `key`,
/// `correlation`, `parent`, `state`, `error`, `has`, `order`, `limit` and `cursor`. Which of them a
/// request may have, its route says. Errors: `request.parameter`, `time.malformed`, `id.malformed`;
/// each names the parameter.
Result<InstanceFilter> instance_filter_of(const Request& request);

/// The statuses in a text with names that commas separate; none if the text is empty. Error
/// `request.parameter`.
Result<std::vector<InstanceStatus>> statuses_of(std::string_view text);

/// The names in a text, which commas separate; none if the text is empty.
std::vector<std::string> names_in(std::string_view text);

}  // namespace millrace
