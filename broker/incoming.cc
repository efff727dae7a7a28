#include "broker/incoming.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "model/origin_mark.h"

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
  bool is_malformed = false;
  std::shared_ptr<const OriginMark> origin;
  if (const auto mark = origin_of(message, is_malformed)) {
    origin = std::make_shared<const OriginMark>(*mark);
  }
  if (is_malformed) {
    Error reason{std::string(kOriginError),
                 fmt::format("the header {} is not a mark of a source; only millrace sends this "
                             "header: publish the event without it",
                             kOriginHeader)};
    return UnreadableInput{as.sequence, as.stamped, as.more, std::move(reason), std::move(message)};
  }
  Result<EncodedEvent> event = EncodedEvent::take(message);
  if (!event) {
    return UnreadableInput{as.sequence,        as.stamped,       as.more, std::move(event).error(),
                           std::move(message), std::move(origin)};
  }
  const size_t bytes = event->size();
  return EventInput{*std::move(ns),    as.sequence, as.stamped,       as.more,
                    *std::move(event), bytes,       std::move(origin)};
}

}  // namespace millrace
