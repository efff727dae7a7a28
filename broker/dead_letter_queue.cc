#include "broker/dead_letter_queue.h"

#include <utility>

#include "base/check.h"
#include "broker/json_fields.h"
#include "broker/stored_letters.h"
#include "broker/stored_message.h"
#include "broker/streams.h"

namespace millrace {
namespace {

/// The value of a result; `otherwise` if the broker has no such stream or message.
template <class T>
Result<T> unless_missing(Result<T> result, T otherwise) {
  if (!result && result.error().code == "broker.not_found") return otherwise;
  return result;
}

}  // namespace

JetStreamDeadLetterQueue::JetStreamDeadLetterQueue(Connection& connection,
                                                   const StreamOptions& streams)
    : connection_(connection),
      prefix_(streams.prefix),
      stream_(dead_letters_stream(streams).name) {}

bool JetStreamDeadLetterQueue::is_usable() const { return connection_.connected(); }

/// The answer has the number of messages of each subject. A namespace has one subject for each
/// reason of its dead letters.
Result<uint64_t> JetStreamDeadLetterQueue::count(std::string_view ns) {
  const Result<Json> answer =
      unless_missing(connection_.api("STREAM.INFO." + stream_,
                                     {{"subjects_filter", dead_letter_subjects(prefix_, ns)}}),
                     Json::object());
  if (!answer) return tl::unexpected(answer.error());
  uint64_t count = 0;
  const Json& subjects = field(field(*answer, "state"), "subjects");
  if (!subjects.is_object()) return count;
  for (const Json& messages : subjects) {
    if (messages.is_number_unsigned()) count += messages.get<uint64_t>();
  }
  return count;
}

Result<std::optional<LetterPlace>> JetStreamDeadLetterQueue::next(std::string_view ns,
                                                                  uint64_t from) {
  const Result<StoredMessage> stored = fetch_stored(
      connection_, stream_, {{"seq", from}, {"next_by_subj", dead_letter_subjects(prefix_, ns)}});
  if (!stored && stored.error().code == "broker.not_found") return std::nullopt;
  if (!stored) return tl::unexpected(stored.error());
  return LetterPlace{.sequence = stored->sequence, .stored_at = broker_time(stored->stamped)};
}

// To JetStream, a sequence of 0 or 1 and a number of 0 mean that the request does not limit what is
// purged: all dead letters of the namespace would be deleted.

Result<uint64_t> JetStreamDeadLetterQueue::delete_before(std::string_view ns, uint64_t sequence) {
  CHECK(sequence > 1);
  return purge({{"filter", dead_letter_subjects(prefix_, ns)}, {"seq", sequence}});
}

Result<uint64_t> JetStreamDeadLetterQueue::delete_all_but(std::string_view ns, uint64_t kept) {
  CHECK(kept > 0);
  return purge({{"filter", dead_letter_subjects(prefix_, ns)}, {"keep", kept}});
}

Result<uint64_t> JetStreamDeadLetterQueue::purge(const Json& request) {
  const Json answer =
      TRY(unless_missing(connection_.api("STREAM.PURGE." + stream_, request), Json::object()));
  return count_field(answer, "purged");
}

}  // namespace millrace
