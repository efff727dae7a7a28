#include "orchestrator/service/letter_json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "cloudevents/headers.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

constexpr std::string_view kReason = "Millrace-Reason";
constexpr std::string_view kDetail = "Millrace-Detail";
constexpr std::string_view kSubject = "Millrace-Subject";
constexpr std::string_view kTruncated = "Millrace-Truncated";
constexpr std::string_view kEventId = "ce-id";

std::string read_header_text(const Headers& headers, std::string_view name) {
  const std::string* const value = find_header(headers, name);
  if (value == nullptr) return "";
  return percent_decode(*value).value_or(*value);
}

/// The first kDeadLetterPreviewBytes of the data; text is not cut within a character.
std::string_view preview(std::string_view data, bool text) {
  if (data.size() <= kDeadLetterPreviewBytes) return data;
  size_t size = kDeadLetterPreviewBytes;
  for (int i = 0; text && i < 3 && (static_cast<unsigned char>(data[size]) & 0xc0) == 0x80; ++i) {
    --size;
  }
  return data.substr(0, size);
}

/// Returns a header's text as valid UTF-8, as a list requires: any other text is percent-encoded.
std::string shown_header(std::string text) {
  return is_utf8(text) ? std::move(text) : percent_encode(text, "");
}

/// Whether millrace or the broker added the header.
bool is_added(std::string_view name) {
  const std::string lower = to_lower(name);
  return lower.starts_with("millrace-") || lower.starts_with("nats-");
}

uint64_t whole_size(const StoredEvent& letter) {
  uint64_t size = letter.message.data.size();
  if (const std::string* const whole = find_header(letter.message.headers, kTruncated)) {
    std::from_chars(whole->data(), whole->data() + whole->size(), size);
  }
  return size;
}

bool is_truncated(const StoredEvent& letter) {
  return find_header(letter.message.headers, kTruncated) != nullptr;
}

void add_data(Json& item, std::string_view text, std::string_view bytes) {
  const bool is_text = is_utf8(text);
  item["data"] = is_text ? std::string(text) : base64_encode(bytes);
  item["encoding"] = is_text ? "utf-8" : "base64";
}

}  // namespace

std::string source_of_letter(const StoredEvent& letter) {
  return shown_header(read_header_text(letter.message.headers, kDeadLetterSource));
}

Json letter_head(const StoredEvent& letter) {
  const Headers& headers = letter.message.headers;
  Json item = {{"id", std::to_string(letter.sequence)},
               {"reason", shown_header(read_header_text(headers, kReason))},
               {"detail", shown_header(read_header_text(headers, kDetail))},
               {"time", format_rfc3339(letter.stamped)},
               {"subject", shown_header(read_header_text(headers, kSubject))},
               {"size", whole_size(letter)}};
  if (std::string source = source_of_letter(letter); !source.empty()) {
    item["source"] = std::move(source);
  }
  if (is_truncated(letter)) item["truncated"] = true;
  return item;
}

Json letter_item(const StoredEvent& letter) {
  Json item = letter_head(letter);
  add_data(item, preview(letter.message.data, true), preview(letter.message.data, false));
  return item;
}

Json whole_letter(const StoredEvent& letter) {
  Json item = letter_head(letter);
  add_data(item, letter.message.data, letter.message.data);
  Json headers = Json::array();
  for (const auto& [name, value] : letter.message.headers) {
    if (!is_added(name)) headers.push_back({shown_header(name), shown_header(value)});
  }
  item["headers"] = std::move(headers);
  return item;
}

LetterNames names_of_letter(const StoredEvent& letter) {
  const Headers& headers = letter.message.headers;
  LetterNames names{.reason = shown_header(read_header_text(headers, kReason)),
                    .event = read_header_text(headers, kEventId)};
  if (!names.event.empty()) return names;
  const Result<Json> event = parse_json(letter.message.data);
  if (!event || !event->is_object()) return names;
  const auto id = event->find("id");
  if (id != event->end() && id->is_string()) names.event = *id;
  return names;
}

bool is_letter_of(const StoredEvent& letter, const NamespaceIdentity& identity) {
  const std::string* const number = find_header(letter.message.headers, kDeadLetterNamespace);
  if (number == nullptr) return letter.stamped >= identity.created_at;
  return *number == "0" || *number == std::to_string(static_cast<uint32_t>(identity.number));
}

bool is_of_source(const StoredEvent& letter) {
  return find_header(letter.message.headers, kDeadLetterSource) != nullptr;
}

Status check_is_from_events(const StoredEvent& letter, std::string_view prefix) {
  const std::string subject = read_header_text(letter.message.headers, kSubject);
  // An event that millrace itself could not use has the subject inside millrace.
  if (subject.starts_with(fmt::format("{}.events", prefix))) return {};
  if (subject.starts_with(kEventSubjectPrefix)) return {};
  if (is_of_source(letter)) {
    return fail("dlq.not_event",
                fmt::format("dead letter {} is a message of a source to \"{}\", not an event; send "
                            "the event that it stands for (`millrace dlq replay {} -f FILE`, or in "
                            "the body of the request), or delete the dead letter",
                            letter.sequence, excerpt(subject), letter.sequence));
  }
  return fail(
      "dlq.not_event",
      fmt::format("dead letter {} is a message to \"{}\", not an event of the event stream; "
                  "correct what its detail names, and delete it",
                  letter.sequence, excerpt(subject)));
}

Result<Event> event_of_letter(const StoredEvent& letter, std::string_view prefix) {
  TRY(check_is_from_events(letter, prefix));
  if (is_truncated(letter)) {
    return fail("dlq.truncated",
                fmt::format("dead letter {} has only the first {} of {} bytes of the event; send "
                            "the whole event (`millrace dlq replay {} -f FILE`, or in the body of "
                            "the request), or delete the dead letter",
                            letter.sequence, letter.message.data.size(), whole_size(letter),
                            letter.sequence));
  }
  NatsMessage original = letter.message;
  std::erase_if(original.headers, [](const auto& header) { return is_added(header.first); });
  Result<Event> event = decode_nats(original);
  if (event) return event;
  return fail(
      "dlq.not_event",
      fmt::format("dead letter {} is not a CloudEvent ({}); send the corrected event "
                  "(`millrace dlq replay {} -f FILE`, or in the body of the request), or delete "
                  "the dead letter",
                  letter.sequence, event.error().message, letter.sequence));
}

}  // namespace millrace
