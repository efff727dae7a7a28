#include "broker/incoming.h"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {

Delivery read_delivery(NatsMessage message, const DeliveredAs& as) {
  std::optional<std::string> ns = subject_namespace(message.subject, as.prefix);
  if (!ns) {
    Error reason{"event.subject",
                 fmt::format("the subject \"{}\" does not name a namespace and a type; expected "
                             "{}<namespace>.<type>",
                             excerpt(message.subject), as.prefix)};
    return UnreadableInput{as.sequence, as.stamped, as.more, std::move(reason), std::move(message)};
  }
  Result<EncodedEvent> event = EncodedEvent::take(message);
  if (!event) {
    return UnreadableInput{as.sequence, as.stamped, as.more, std::move(event).error(),
                           std::move(message)};
  }
  const size_t bytes = event->size();
  return EventInput{*std::move(ns), as.sequence, as.stamped, as.more, *std::move(event), bytes};
}

}  // namespace millrace
