// Reads the dead letters back from the stream MILLRACE_DLQ, which is the one truth for `dlq list`.
// They are made by orchestrator/outgoing/messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "broker/connection.h"
#include "model/dead_letter.h"

namespace millrace {

/// How much of the data of a dead letter a list shows.
inline constexpr size_t kDeadLetterPreviewBytes = 4096;

/// How many dead letters are read for one page of a list.
inline constexpr size_t kMostLettersRead = 2'000;

/// {"items":[{"id","reason","detail","time","subject","size","data","encoding"}],"next"} of one
/// namespace, oldest first. `id` is the sequence in MILLRACE_DLQ, `subject` and `size` are those of
/// the message as received, `data` its head as text ("encoding":"utf-8") or in Base64 ("base64").
/// `cursor` is the `next` of the page before, which the last page does not have. Errors:
/// `dlq.cursor`, and those of Connection::api.
///
/// `identity` is that of the namespace where there is one of that name now: then the letters of an
/// earlier one are left out. A page may be short of `limit`, or empty, and have a `next`: no more
/// than kMostLettersRead are read for one.
Result<Json> list_dead_letters(Connection& connection, std::string_view prefix,
                               std::string_view space,
                               const std::optional<NamespaceIdentity>& identity, size_t limit,
                               std::string_view cursor);

}  // namespace millrace
