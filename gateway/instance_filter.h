// Reads the parameters of lists: of instances, their histories and counts, and listeners. Pure.
#pragma once

#include "base/result.h"
#include "gateway/exchange.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The filter in the query of a request: `workflow`, `status`, `since`, `until`, `endedSince`,
/// `endedUntil`, `id`, `key`, `correlation`, `parent`, `state`, `error`, `has`, `waitsFor`,
/// `order`, `limit` and `cursor`. Which of them a request may have, its route says. Errors:
/// `request.parameter`, `time.malformed`, `id.malformed`; each names the parameter.
Result<InstanceFilter> instance_filter_of(const Request& request);

/// The request for counts in the query of a request: `by`, `workflow` and `status`. Error
/// `request.parameter`.
Result<CountRequest> count_request_of(const Request& request);
Result<GroupFilter> group_filter_of(const Request& request);

/// The filter of a list of listeners in the query of a request: `kind`, `type`, `workflow`,
/// `attribute`, `value`, `limit` and `cursor`. Error `request.parameter`.
Result<ListenerFilter> listener_filter_of(const Request& request);

/// The filter of a history in the query of a request: `limit`, `cursor`, `order`, `data`, `after`,
/// `before` and `kind`. Error `request.parameter`.
Result<HistoryFilter> history_filter_of(const Request& request);

}  // namespace millrace
