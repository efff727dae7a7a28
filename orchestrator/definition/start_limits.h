// The limits of the starts of a workflow: reads its keys `rateLimit` and `debounce`. Mistakes
// become findings.
#pragma once

#include <optional>

#include "language/fields.h"
#include "model/definition.h"
#include "states/state_fields.h"

namespace millrace {

/// Reads `rateLimit` of a workflow; nullopt: the key is absent, or has a mistake. A key that a jq
/// worker would have to evaluate is one (`definition.value`): a start does not wait for it.
std::optional<StartLimit> read_rate_limit(Fields& workflow, LoadContext& context);

/// Reads `debounce` of a workflow, likewise. A `timeout` below `period` is a mistake, too.
std::optional<Debounce> read_debounce(Fields& workflow, LoadContext& context);

}  // namespace millrace
