// Stale reads: with the parameter `stale`, a node of a cluster that is not the active answers a
// read from its own folder, in place of handing it on, also if no active is known. The answer says
// how old it is.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "gateway/exchange.h"
#include "gateway/node_front.h"
#include "gateway/router.h"

namespace millrace {

/// The parameter of the query with which a read may be answered from a copy of the store.
inline constexpr std::string_view kStaleParameter = "stale";

/// The header of an answer from a copy: the answer has every commit that the log had this many
/// seconds ago, with three decimal places.
inline constexpr std::string_view kStaleHeader = "Millrace-Stale";
/// The header of an answer from a copy: the sequence, in the log, of the last commit that it shows.
inline constexpr std::string_view kPositionHeader = "Millrace-Position";

/// Whether the request permits that it is answered from a copy, and the route only reads the store.
/// Error `request.parameter`.
Result<bool> may_be_stale(const Route& route, const Request& request);

/// Answers the exchange from the store of the node; also an error of the read has the headers. May
/// read many rows, so it must not run on the gateway's thread. Errors: those of NodeStore::copy().
Status answer_stale(const NodeStore& store, const Route& route,
                    const std::shared_ptr<Exchange>& exchange);

}  // namespace millrace
