// A block of headers as the broker stores and sends it, byte for byte.
// Covers: broker/wire.cc broker/task_message.cc broker/pull_status.cc cloudevents/headers.cc
#include <string>

#include "broker/pull_status.h"
#include "broker/task_message.h"
#include "broker/wire.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr std::string_view kBlockVersion = "NATS/1.0\r\n";

/// The block that a client sends for these headers.
std::string block_of(const Headers& headers) {
  std::string block(kBlockVersion);
  for (const auto& [name, value] : headers) block += name + ": " + value + "\r\n";
  return block + "\r\n";
}

bool are_sendable(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!is_sendable_header(name, value)) return false;
  }
  return true;
}

}  // namespace

FUZZ_TARGET(nats_headers) {
  const Headers headers = parse_header_block(bytes);
  size_t size = 0;
  for (const auto& [name, value] : headers) {
    size += name.size() + value.size();
    CHECK(name.find("\r\n") == std::string::npos, "a name has a line break");
    CHECK(value.find("\r\n") == std::string::npos, "a value has a line break");
    CHECK(value.empty() || (value.front() != ' ' && value.back() != ' '));
    CHECK(find_header(headers, to_lower(name)) != nullptr);
  }
  CHECK(size <= bytes.size(), "the headers have more bytes than their block");

  // Headers that may be sent are read back as they are, so a forwarded message stays the same.
  if (are_sendable(headers)) {
    const std::string block = block_of(headers);
    CHECK(parse_header_block(block) == headers, "other headers are read from {}", block);
    CHECK(headers.empty() || encoded_size(headers) == block.size());
    const NatsMessage message{.subject = "a", .headers = headers};
    CHECK(check_message(message, encoded_size(headers)).has_value());
    if (!headers.empty()) CHECK(!check_message(message, encoded_size(headers) - 1));
  }

  // What nats.c may have joined comes apart; no header is lost.
  const Headers split = apart(headers);
  CHECK(split.size() >= headers.size());
  for (size_t i = 0; i < headers.size(); ++i) CHECK(split[i].first == headers[i].first);

  const std::string* const code = find_header(headers, "Status");
  const std::string* const text = find_header(headers, "Description");
  const std::string* const pending = find_header(headers, "Nats-Pending-Messages");
  const std::string description = text == nullptr ? "" : *text;
  if (code != nullptr) classify_pull_status(*code, description);
  CHECK(messages_left(description, pending == nullptr ? "" : *pending, 10) <= 10);
}

}  // namespace millrace::fuzz
