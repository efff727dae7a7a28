// The limits of the starts of a workflow: reads its keys `rateLimit`, `debounce` and `batch`.
// Mistakes become findings.
#pragma once

#include <optional>

#include "language/fields.h"
#include "model/definition.h"
#include "states/state_fields.h"

namespace millrace {

/// Reads the `key` of a limit; nullopt: it is absent, or has a mistake. A query that a jq worker
/// would have to evaluate, or with `$instance`, is one (`definition.query`): it is evaluated in the
/// batch that commits the start.
std::optional<Template> read_start_key(StateFields& fields);
/// Reads the `priority` of starts, likewise.
std::optional<Template> read_priority(StateFields& fields);

/// Reads `rateLimit` of a workflow; nullopt: the key is absent, or has a mistake.
std::optional<StartLimit> read_rate_limit(Fields& workflow, LoadContext& context);

/// Reads `debounce` of a workflow, likewise. A `timeout` below `period` is a mistake, too.
std::optional<Debounce> read_debounce(Fields& workflow, LoadContext& context);

/// Reads `batch` of a workflow, likewise. `batch` beside `debounce` is a mistake, too
/// (`definition.both_keys`).
std::optional<StartBatch> read_start_batch(Fields& workflow, LoadContext& context);

}  // namespace millrace
