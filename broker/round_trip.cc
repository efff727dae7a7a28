#include "broker/round_trip.h"

#include <tuple>

namespace millrace {

/// If nats.c (3.4.1) cannot write the ping, natsConnection_FlushTimeout() returns NATS_OK, and only
/// the last error of this thread shows the failure. So the call without a connection first sets
/// that error to a known one, which a round trip without a failure leaves as it is.
natsStatus round_trip(natsConnection* connection, Duration at_most) {
  std::ignore = natsConnection_FlushTimeout(nullptr, 1);
  const natsStatus status = natsConnection_FlushTimeout(connection, at_most.count());
  if (status != NATS_OK) return status;
  natsStatus last = NATS_OK;
  std::ignore = nats_GetLastError(&last);
  return last == NATS_INVALID_ARG ? NATS_OK : NATS_IO_ERROR;
}

}  // namespace millrace
