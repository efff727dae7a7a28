#include "orchestrator/outgoing/messages.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "cloudevents/headers.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

constexpr const char* kMessageId = "Nats-Msg-Id";
constexpr const char* kTruncated = "Millrace-Truncated";

/// Limits in bytes: for each header that a dead letter adds, and for all received headers that it
/// keeps. The rest of the maximum message size is for the received data.
constexpr size_t kMaxDetail = 1024;
constexpr size_t kMaxKeptHeaders = size_t{8} * 1024;

/// Encodes a text as a header's value: printable ASCII, with spaces; all else percent-encoded.
std::string header_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    if (c == ' ') {
      value.push_back(c);
    } else {
      append_percent_encoded(c, "", value);
    }
  }
  return value;
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
}

bool is_header_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return (c >= ' ' && c < 0x7f) || c == '\t'; });
}

/// Copies the received headers, except those that the broker or its clients interpret and those
/// that cannot be sent again. NATS clients take an empty message with the header Status for a
/// message of the broker itself, so a reader of the dead-letter queue would not get such a dead
/// letter.
void keep_headers(const Headers& received, Headers& headers) {
  size_t size = 0;
  for (const auto& [name, value] : received) {
    const std::string lower = to_lower(name);
    if (lower.starts_with("nats-") || lower.starts_with("millrace-")) continue;
    if (lower == "status" || lower == "description") continue;
    if (!is_header_name(name) || !is_header_value(value)) continue;
    size += name.size() + value.size() + 4;
    if (size > kMaxKeptHeaders) return;
    headers.emplace_back(name, value);
  }
}

/// Makes one token of a subject from a text, cut at the maximum length of a valid name: the text
/// may be the name of a namespace that does not exist, and such a name may be invalid.
std::string token(std::string_view text) {
  return text.empty() ? "%" : percent_encode(text.substr(0, kMaxSubjectTail), ".*>");
}

}  // namespace

NatsMessage event_message(std::string_view ns, const Event& event) {
  NatsMessage message = encode_nats(event);
  message.subject = event_subject(ns, event.type);
  return message;
}

std::string message_id(std::string_view key, std::string_view ns, const Event& event) {
  return to_hex(keyed_fingerprint(key, {ns, event.source, event.id}));
}

std::string earlier_message_id(std::string_view ns, const Event& event) {
  return to_hex(fingerprint({ns, event.source, event.id}));
}

NatsMessage message_to_publish(std::string_view key, std::string_view ns, const Event& event) {
  NatsMessage message = event_message(ns, event);
  message.headers.emplace_back(kMessageId, message_id(key, ns, event));
  return message;
}

NatsMessage dead_letter_message(const DeadLetter& letter, int64_t stream_created) {
  NatsMessage message;
  message.subject = fmt::format("millrace.dlq.{}.{}", token(letter.ns), token(letter.reason.code));
  keep_headers(letter.message.headers, message.headers);
  message.headers.emplace_back("Millrace-Reason", letter.reason.code);
  message.headers.emplace_back("Millrace-Detail",
                               header_value(shorten(letter.reason.message, kMaxDetail)));
  message.headers.emplace_back("Millrace-Subject", header_value(letter.message.subject));
  message.headers.emplace_back("Millrace-Sequence", std::to_string(letter.sequence));
  if (!letter.source.empty()) {
    message.headers.emplace_back(kDeadLetterSource, header_value(letter.source));
  }
  message.headers.emplace_back(
      kMessageId, fmt::format("dlq-{}-{}-{}", stream_created, letter.sequence,
                              to_hex(fingerprint({letter.reason.code, letter.reason.message,
                                                  letter.message.subject, letter.message.data}))));

  constexpr size_t kMostData = kMaxMessageBytes - kMaxKeptHeaders - 4 * kMaxDetail;
  if (letter.message.data.size() > kMostData) {
    message.headers.emplace_back(kTruncated, std::to_string(letter.message.data.size()));
  }
  message.data = letter.message.data.substr(0, kMostData);
  return message;
}

NatsMessage too_large_letter(NatsMessage event, const Error& error) {
  DeadLetter letter{.reason = {"millrace.event.tooLarge", error.message}};
  letter.ns = subject_namespace(event.subject).value_or("default");
  letter.message = std::move(event);
  NatsMessage message = dead_letter_message(letter, 0);
  shorten_letter(message);
  return message;
}

bool shorten_letter(NatsMessage& letter) {
  if (letter.data.empty()) return false;
  if (find_header(letter.headers, kTruncated) == nullptr) {
    letter.headers.emplace_back(kTruncated, std::to_string(letter.data.size()));
  }
  letter.data.resize(letter.data.size() / 4);
  return true;
}

}  // namespace millrace
