// One message as the broker has it, asked for by STREAM.MSG.GET: every byte of its headers, which
// delivery through nats.c does not keep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

struct StoredMessage {
  uint64_t sequence = 0;
  int64_t stamped = 0;  ///< nanoseconds
  NatsMessage message;
};

/// The broker's nanoseconds as the time that the rest of millrace knows: cut to the millisecond.
inline TimePoint broker_time(int64_t nanoseconds) {
  return std::chrono::floor<Duration>(
      std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds)));
}

/// `query` as the API has it: {"seq":n}, or with "next_by_subj" the first of that subject from
/// there on. Errors: `broker.not_found`, and those of Connection::api.
Result<StoredMessage> fetch_stored(Connection& connection, std::string_view stream,
                                   const Json& query);

/// The body of STREAM.MSG.DELETE: the message is gone, and its bytes stay until they are written
/// over.
std::string delete_request(uint64_t sequence);

/// Reads the answer to fetch_stored's request. Error `broker.protocol`.
Result<StoredMessage> read_stored(const Json& answer);

}  // namespace millrace
