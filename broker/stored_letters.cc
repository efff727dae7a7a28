#include "broker/stored_letters.h"

#include <utility>

#include <fmt/format.h>

#include "broker/json_fields.h"
#include "broker/stored_events.h"
#include "broker/stored_message.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

bool is_missing(const Error& error) { return error.code == "broker.not_found"; }

tl::unexpected<Error> no_letter(std::string_view ns, uint64_t sequence) {
  return fail(
      "dlq.not_found",
      fmt::format("namespace \"{}\" has no dead letter {}: there was none, or it was "
                  "replayed, deleted or removed; the list of dead letters has those that are there",
                  ns, sequence));
}

}  // namespace

std::string dead_letter_subjects(std::string_view prefix, std::string_view ns) {
  return fmt::format("{}.dlq.{}.>", prefix, subject_token(ns));
}

JetStreamStoredLetters::JetStreamStoredLetters(Connection& reading, Connection& working,
                                               const StreamOptions& streams)
    : reading_(reading),
      working_(working),
      prefix_(streams.prefix),
      stream_(dead_letters_stream(streams)) {}

std::string JetStreamStoredLetters::subjects_of(std::string_view ns,
                                                std::string_view reason) const {
  if (reason.empty()) return dead_letter_subjects(prefix_, ns);
  return fmt::format("{}.dlq.{}.{}", prefix_, subject_token(ns), subject_token(reason));
}

Result<StreamSpan> JetStreamStoredLetters::span() {
  const Result<StreamInfo> info = find_stream(reading_, stream_);
  if (!info && is_missing(info.error())) return StreamSpan{.created = 0, .first = 1, .last = 0};
  if (!info) return tl::unexpected(info.error());
  return StreamSpan{
      .created = info->created, .first = info->first_sequence, .last = info->last_sequence};
}

/// The broker counts the messages of each subject, and the last token of a subject is the reason.
Result<std::map<std::string, uint64_t>> JetStreamStoredLetters::count(std::string_view ns) {
  std::map<std::string, uint64_t> counts;
  const Result<Json> answer = reading_.api(
      "STREAM.INFO." + stream_.name, {{"subjects_filter", dead_letter_subjects(prefix_, ns)}});
  if (!answer && is_missing(answer.error())) return counts;
  if (!answer) return tl::unexpected(answer.error());
  const Json& subjects = field(field(*answer, "state"), "subjects");
  if (!subjects.is_object()) return counts;
  const size_t before = dead_letter_subjects(prefix_, ns).size() - 1;
  for (const auto& [subject, messages] : subjects.items()) {
    if (subject.size() <= before || !messages.is_number_unsigned()) continue;
    const std::string token = subject.substr(before);
    counts[percent_decode(token).value_or(token)] += messages.get<uint64_t>();
  }
  return counts;
}

Result<std::map<std::string, uint64_t>> JetStreamStoredLetters::count_by_namespace(
    std::string_view reason) {
  std::map<std::string, uint64_t> counts;
  const std::string before = prefix_ + ".dlq.";
  const std::string behind = "." + subject_token(reason);
  const Result<Json> answer =
      reading_.api("STREAM.INFO." + stream_.name, {{"subjects_filter", before + "*" + behind}});
  if (!answer && is_missing(answer.error())) return counts;
  if (!answer) return tl::unexpected(answer.error());
  const Json& subjects = field(field(*answer, "state"), "subjects");
  if (!subjects.is_object()) return counts;
  for (const auto& [subject, messages] : subjects.items()) {
    const bool has_name = subject.starts_with(before) && subject.ends_with(behind) &&
                          subject.size() > before.size() + behind.size();
    if (!has_name || !messages.is_number_unsigned()) continue;
    const std::string token =
        subject.substr(before.size(), subject.size() - before.size() - behind.size());
    counts[percent_decode(token).value_or(token)] += messages.get<uint64_t>();
  }
  return counts;
}

Result<StoredEvent> JetStreamStoredLetters::get(std::string_view ns, uint64_t sequence) {
  if (sequence == 0) return no_letter(ns, sequence);
  Result<StoredMessage> stored = fetch_stored(reading_, stream_.name, {{"seq", sequence}});
  if (!stored && is_missing(stored.error())) return no_letter(ns, sequence);
  if (!stored) return tl::unexpected(std::move(stored).error());
  if (!subject_covers(dead_letter_subjects(prefix_, ns), stored->message.subject)) {
    return no_letter(ns, sequence);
  }
  return StoredEvent{.ns = std::string(ns),
                     .sequence = stored->sequence,
                     .stamped = broker_time(stored->stamped),
                     .message = std::move(stored->message)};
}

Result<StoredEvents::Page> JetStreamStoredLetters::read(const Range& range) {
  Result<StoredEvents::Page> page =
      read_range(reading_, stream_, subjects_of(range.ns, range.reason),
                 {.ns = {},
                  .first = range.first,
                  .since = std::nullopt,
                  .last = range.last,
                  .limit = range.limit});
  if (!page && is_missing(page.error())) return StoredEvents::Page();
  if (!page) return page;
  for (StoredEvent& letter : page->events) letter.ns = range.ns;
  return page;
}

Status JetStreamStoredLetters::remove(uint64_t sequence) {
  const Result<Json> answer =
      working_.api("STREAM.MSG.DELETE." + stream_.name, {{"seq", sequence}, {"no_erase", true}});
  if (answer || is_missing(answer.error())) return {};
  // A message that does not exist gives an error without the code 404; nothing is to be deleted.
  const Result<StoredMessage> left = fetch_stored(reading_, stream_.name, {{"seq", sequence}});
  if (!left && is_missing(left.error())) return {};
  return tl::unexpected(answer.error());
}

/// To JetStream, a sequence of 0 or 1 means that the request does not limit what is purged.
Result<uint64_t> JetStreamStoredLetters::remove_all(std::string_view ns, std::string_view reason,
                                                    uint64_t last) {
  if (last == 0) return uint64_t{0};
  const Result<Json> answer = working_.api(
      "STREAM.PURGE." + stream_.name, {{"filter", subjects_of(ns, reason)}, {"seq", last + 1}});
  if (!answer && is_missing(answer.error())) return uint64_t{0};
  if (!answer) return tl::unexpected(answer.error());
  return count_field(*answer, "purged");
}

}  // namespace millrace
