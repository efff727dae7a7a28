#include "broker/wire.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_set.h"
#include "cloudevents/subject.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {
namespace {

constexpr std::string_view kVersionLine = "NATS/1.0\r\n";

constexpr ByteSet kOfHeaderName("", {{'!', '9'}, {';', '~'}});
constexpr ByteSet kNotInHeaderValue(std::string_view("\r\n\0", 3));

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

Status check_message(const NatsMessage& message, size_t max_payload) {
  if (!is_publish_subject(message.subject)) {
    return fail("broker.refused",
                fmt::format("\"{}\" is not a subject to publish to; expected tokens "
                            "without blanks and wildcards, joined by dots, of "
                            "3 KiB at most",
                            message.subject));
  }
  for (const auto& [name, value] : message.headers) {
    if (!is_sendable_header(name, value)) {
      return fail(
          "broker.refused",
          fmt::format("header \"{}\" of a message to {} cannot be sent: names are printable "
                      "ASCII without a colon, values have no CR, LF or NUL",
                      name, message.subject));
    }
  }
  const size_t size = encoded_size(message.headers) + message.data.size();
  if (size > max_payload) {
    return fail(std::string(kTooLarge),
                fmt::format("a message of {} bytes to {} is larger than the broker's max_payload "
                            "of {}",
                            size, message.subject, max_payload));
  }
  return {};
}

bool is_sendable_header(std::string_view name, std::string_view value) {
  return !name.empty() && kOfHeaderName.has_all(name) &&
         std::none_of(value.begin(), value.end(), [](char c) { return kNotInHeaderValue.has(c); });
}

size_t encoded_size(const Headers& headers) {
  if (headers.empty()) return 0;
  size_t size = kVersionLine.size() + 2;
  for (const auto& [name, value] : headers) size += name.size() + value.size() + 4;
  return size;
}

Headers parse_header_block(std::string_view block) {
  Headers headers;
  bool first = true;
  while (!block.empty()) {
    const size_t end = block.find("\r\n");
    const std::string_view line = block.substr(0, end);
    block = end == std::string_view::npos ? std::string_view() : block.substr(end + 2);
    if (first) {
      // The first line is the version; in messages that the broker itself sends, the line also has
      // a status.
      first = false;
      continue;
    }
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      headers.emplace_back(line, "");
    } else {
      headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    }
  }
  return headers;
}

bool may_hold_the_next_header(std::string_view value) {
  const size_t colon = value.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view name = value.substr(0, colon);
  if (!kOfHeaderName.has_all(name)) return false;
  const std::string_view rest = value.substr(colon + 1);
  return rest.empty() || rest.starts_with(' ') || same_header(name.substr(0, 3), "ce-") ||
         same_header(name, "content-type");
}

}  // namespace millrace
