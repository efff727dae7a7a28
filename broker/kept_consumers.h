// The consumer of a source at a stream with the retention `interest`, which drops each message that
// no consumer wants. It has one of two names. A reader that needs another start creates the
// consumer of the free name first, and deletes the other one afterwards: so one of both always
// exists, and holds all messages that are not applied. Private to broker/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"

namespace millrace {

/// One of both consumers, as the broker has it.
struct FoundConsumer {
  std::vector<std::string> subjects;  ///< its filters
  uint64_t floor = 0;  ///< it holds no message up to this sequence, as far as the answer shows

  bool operator==(const FoundConsumer&) const = default;
};
using FoundConsumers = std::array<std::optional<FoundConsumer>, 2>;

/// The two names of the consumer `name`.
std::array<std::string, 2> kept_consumer_names(std::string_view name);

/// Reads the answer to CONSUMER.INFO. Pure.
FoundConsumer read_found_consumer(const Json& answer);

/// Which of both names a new consumer with those filters gets. If both exist, because a process was
/// killed between the creation of one and the deletion of the other, the one of that name must be
/// deleted before: the one that holds less, which is the one with other filters, or the one with
/// the higher floor. Pure.
size_t spare_consumer(const FoundConsumers& found, const std::vector<std::string>& subjects);

/// Which of the consumers exist. Errors: those of Connection::api, except `broker.not_found`.
Result<FoundConsumers> find_kept_consumers(const Connection& connection, std::string_view stream,
                                           const std::array<std::string, 2>& names);

/// Deletes a consumer; ok if the stream has none of that name. Errors: those of Connection::api,
/// except `broker.not_found`.
Status delete_consumer(const Connection& connection, std::string_view stream,
                       std::string_view name);

}  // namespace millrace
