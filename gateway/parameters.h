// Reads the names in the path of a request and the parameters of its query. Unless stated
// otherwise, the error is `request.parameter` or `request.identifier`, and its message names the
// wrong value. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "gateway/exchange.h"
#include "orchestrator/service/service.h"

namespace millrace {

/// The most items of a page.
inline constexpr size_t kMostListed = 1000;
/// The most listeners, or events, that an answer of the routes of "why" shows.
inline constexpr size_t kMostShown = 100;

/// The `{ns}` of the path: an identifier without dots, since it is one token of a NATS subject.
Result<std::string> namespace_of(const Request& request);

/// The `{workflow}` of the path: an identifier.
Result<std::string> workflow_of(const Request& request);

/// The `{revision}` of the path: the number of a revision. Error `revision.not_found`: no revision
/// has such a number.
Result<uint32_t> revision_of(const Request& request);

/// The `{instance}` of the path. No instance has an id that is not a UUID, so for such a text the
/// error is `instance.not_found`.
Result<InstanceId> instance_of(const Request& request);

/// The scope of the variables: the instance or workflow in the path, otherwise the namespace.
Result<VariablePlace> variable_place_of(const Request& request);

/// The `{key}` of the path: the key of a variable.
Result<std::string> variable_key_of(const Request& request);

/// The `{secret}` of the path: an identifier.
Result<std::string> secret_of(const Request& request);

/// The `{source}` of the path: an identifier.
Result<std::string> source_name_of(const Request& request);

/// The `{sequence}` of the path: the sequence of a message in a stream. No message has one that is
/// not a number, so for such a text the error is `event.not_found`.
Result<uint64_t> sequence_of(const Request& request);

/// The text of a query parameter; empty if it is not given.
std::string text_parameter(const Request& request, std::string_view name);

/// A query parameter that is `1` or `true`, `0` or `false`; false if it is not given.
Result<bool> flag_parameter(const Request& request, std::string_view name);

/// The parameters of the deletion of a workflow or a namespace.
struct DeletionParameters {
  bool cancels = false;              ///< `cancel`
  bool drops_compensations = false;  ///< `dropCompensations`
  bool leftovers = false;            ///< `leftovers`
};
Result<DeletionParameters> deletion_parameters(const Request& request);

/// A query parameter that is a number; nullopt if it is not given or empty.
Result<std::optional<uint64_t>> number_parameter(const Request& request, std::string_view name);

/// A query parameter that is a time (RFC 3339); nullopt if it is not given or empty. Error
/// `time.*`.
Result<std::optional<TimePoint>> time_parameter(const Request& request, std::string_view name);

/// The parameter `instance`, the id of an instance; nullopt if it is not given or empty.
Result<std::optional<InstanceId>> instance_parameter(const Request& request);

/// The parameter `revision`, the number of a revision; nullopt if it is not given or empty.
Result<std::optional<uint32_t>> revision_parameter(const Request& request);

/// The parameters `limit` (default: 1000) and `cursor` of a list in the order of names.
Result<PageRequest> page_of(const Request& request);

/// The parameter `limit`, from 1 to `most`; `otherwise` if it is not given.
Result<size_t> limit_parameter(const Request& request, size_t otherwise = 50,
                               size_t most = kMostListed);

}  // namespace millrace
