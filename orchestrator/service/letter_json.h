// Dead letters as queries show them, and the messages that they hold. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "model/dead_letter.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// How many bytes of the data of a dead letter a list shows.
inline constexpr size_t kDeadLetterPreviewBytes = 4096;

/// {"id","reason","detail","time","subject","size","data","encoding","source"?,"truncated"?}.
/// `id` is the sequence in the dead-letter queue. `subject` and `size` (bytes) are those of the
/// message as received. `data` is the start of the message's data, as text ("encoding":"utf-8") or
/// in Base64
/// ("base64"). `truncated` is true if the queue has only the start of the data.
Json letter_item(const StoredEvent& letter);

/// letter_item() without `data` and `encoding`.
Json letter_head(const StoredEvent& letter);

/// letter_item() with all of the data that the queue has, and with "headers":[[name,value]…], those
/// of the message as received, as far as they were kept.
Json whole_letter(const StoredEvent& letter);

/// The name of the source that read the message; empty: none, or millrace was of an earlier
/// release.
std::string source_of_letter(const StoredEvent& letter);

/// What may name a dead letter beside its id.
struct LetterNames {
  std::string reason;
  std::string event;  ///< the id of the event in it; empty: it cannot be read
};
/// The id of the event is also that of an event that is not valid.
LetterNames names_of_letter(const StoredEvent& letter);

/// Whether the dead letter belongs to that namespace, or was published under the name of the
/// namespace while no namespace had that name. Dead letters without a namespace number were written
/// by an earlier release, or for an event that was too large: such a dead letter belongs to the
/// namespace if it is not older than the namespace.
bool is_letter_of(const StoredEvent& letter, const NamespaceIdentity& identity);

/// The event in a dead letter, to be published again. `prefix` is that of the streams. Errors:
/// `dlq.not_event` (the message is not an event of the event stream), `dlq.truncated` (the queue
/// does not have all of its data).
Result<Event> event_of_letter(const StoredEvent& letter, std::string_view prefix);

/// Whether the message was read by a source: an event may be sent in its place.
bool is_of_source(const StoredEvent& letter);

/// Whether the message of the dead letter was received from the event stream. Error
/// `dlq.not_event`: it is another message of millrace.
Status check_is_from_events(const StoredEvent& letter, std::string_view prefix);

}  // namespace millrace
