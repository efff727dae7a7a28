// Publishes messages and waits for their acknowledgements. Any thread that may block.
#pragma once

#include <vector>

#include "base/result.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// Publishes the messages in their order and waits until each is acknowledged or has failed. The
/// results are in the order of the messages. Errors: those of Publisher::publish(); a message
/// without an outcome after some seconds more than the publisher needs has `broker.timeout`.
std::vector<Result<PublishAck>> publish_and_wait(Publisher& publisher,
                                                 std::vector<NatsMessage> messages);

}  // namespace millrace
