// Reads dead letters from the stream MILLRACE_DLQ, the only source of `dlq list`.
// orchestrator/outgoing/messages creates dead letters; dead_letter_queue.h deletes them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "model/dead_letter.h"

namespace millrace {

/// How many bytes of the data of a dead letter a list shows.
inline constexpr size_t kDeadLetterPreviewBytes = 4096;

/// How many dead letters are read for one page of a list.
inline constexpr size_t kMostLettersRead = 2'000;

/// The subjects on the broker of all dead letters of a namespace, with a wildcard.
std::string dead_letter_subjects(std::string_view prefix, std::string_view ns);

/// One page of the dead letters of a namespace, oldest first:
/// {"items":[{"id","reason","detail","time","subject","size","data","encoding"}],"next"}. `id` is
/// the sequence in MILLRACE_DLQ. `subject` and `size` (bytes) are those of the message as received.
/// `data` is the start of the message's data, as text ("encoding":"utf-8") or in Base64 ("base64").
/// `cursor` is the `next` of the previous page; the `next` of the last page is null. Errors:
/// `dlq.cursor`, and those of Connection::api.
///
/// `identity` identifies the present namespace with the name `ns`: dead letters of an earlier
/// namespace with that name are left out. nullopt: no namespace has that name now, and all dead
/// letters under the name are listed. A page may have a `next` although it has fewer items than
/// `limit`, or none: at most kMostLettersRead are read for one page.
Result<Json> list_dead_letters(Connection& connection, std::string_view prefix, std::string_view ns,
                               const std::optional<NamespaceIdentity>& identity, size_t limit,
                               std::string_view cursor);

}  // namespace millrace
