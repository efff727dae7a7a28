#include "broker/incoming.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {

Delivery read_delivery(NatsMessage message, const DeliveredAs& as) {
  std::optional<std::string> space = subject_namespace(message.subject, as.prefix);
  if (!space) {
    Error reason{"event.subject",
                 fmt::format("the subject \"{}\" names no namespace and type; expected "
                             "{}<namespace>.<type>",
                             excerpt(message.subject), as.prefix)};
    return UnreadableInput{as.sequence, as.stamped, as.more, std::move(reason), std::move(message)};
  }
  Result<EncodedEvent> event = EncodedEvent::take(message);
  if (!event) {
    return UnreadableInput{as.sequence, as.stamped, as.more, std::move(event).error(),
                           std::move(message)};
  }
  return EventInput{*std::move(space), as.sequence, as.stamped, as.more, *std::move(event)};
}

}  // namespace millrace
