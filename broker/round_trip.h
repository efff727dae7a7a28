// A round trip to the NATS server on a connection of nats.c. Private to broker/.
#pragma once

#include "base/time.h"
#include "broker/nats_handles.h"

namespace millrace {

/// Sends a ping and waits for the answer. NATS_OK: the NATS server has read all that was sent on
/// this connection before, and the read loop of nats.c has processed all that the server had sent.
/// Other results, such as NATS_TIMEOUT and NATS_IO_ERROR, say nothing about either.
natsStatus round_trip(natsConnection* connection, Duration at_most);

}  // namespace millrace
