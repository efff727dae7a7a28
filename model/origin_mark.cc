#include "model/origin_mark.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>

#include "base/codec.h"

namespace millrace {
namespace {

/// The members of a header are separated by dots.
constexpr char kSeparator = '.';
constexpr size_t kMembers = 7;

std::string encoded_numbers(const OriginMark& mark) {
  Writer writer;
  writer.id(mark.origin.source);
  writer.u64(mark.origin.created);
  writer.u32(mark.origin.round);
  writer.u64(mark.previous);
  writer.u64(mark.sequence);
  writer.zigzag(to_millis(mark.stamped));
  return writer.take();
}

std::string_view view_of(const Fingerprint& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && behind == end;
}

std::vector<std::string_view> members_of(std::string_view text) {
  std::vector<std::string_view> members;
  size_t from = 0;
  while (members.size() <= kMembers) {
    const size_t to = text.find(kSeparator, from);
    members.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) break;
    from = to + 1;
  }
  return members;
}

}  // namespace

Fingerprint content_of(const NatsMessage& message) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : message.headers) {
    const std::string lower = to_lower(name);
    if (lower.starts_with("nats-") || lower.starts_with("millrace-")) continue;
    Writer line;
    line.bytes(lower);
    line.bytes(value);
    lines.push_back(line.take());
  }
  std::sort(lines.begin(), lines.end());
  Writer headers;
  for (const std::string& line : lines) headers.bytes(line);
  return fingerprint({headers.view(), message.data});
}

Fingerprint proof_of(std::string_view key, std::string_view ns, const OriginMark& mark) {
  return keyed_fingerprint(key, {"origin", ns, encoded_numbers(mark), view_of(mark.content)});
}

bool is_proved(std::string_view key, std::string_view ns, const OriginMark& mark) {
  const Fingerprint expected = proof_of(key, ns, mark);
  return sodium_memcmp(expected.data(), mark.proof.data(), expected.size()) == 0;
}

void mark_origin(std::string_view key, std::string_view ns, OriginMark mark, NatsMessage& message) {
  mark.content = content_of(message);
  mark.proof = proof_of(key, ns, mark);
  message.headers.emplace_back(
      kOriginHeader, fmt::format("{}.{}.{}.{}.{}.{}.{}", to_hex(mark.origin.source),
                                 mark.origin.created, mark.origin.round, mark.previous,
                                 mark.sequence, to_millis(mark.stamped), to_hex(mark.proof)));
}

std::optional<OriginMark> origin_of(const NatsMessage& message, bool& is_malformed) {
  is_malformed = false;
  const std::string* const text = find_header(message.headers, kOriginHeader);
  if (text == nullptr) return std::nullopt;
  const std::vector<std::string_view> members = members_of(*text);
  OriginMark mark;
  int64_t stamped = 0;
  is_malformed = members.size() != kMembers || !read_hex(members[0], mark.origin.source) ||
                 !read_number(members[1], mark.origin.created) ||
                 !read_number(members[2], mark.origin.round) ||
                 !read_number(members[3], mark.previous) ||
                 !read_number(members[4], mark.sequence) || !read_number(members[5], stamped) ||
                 !read_hex(members[6], mark.proof);
  if (is_malformed) return std::nullopt;
  mark.stamped = from_millis(stamped);
  mark.content = content_of(message);
  return mark;
}

std::string origin_message_id(std::string_view key, const OriginStream& origin, uint64_t sequence,
                              uint64_t attempt) {
  const OriginMark place{.origin = origin, .sequence = sequence};
  const std::string id = to_hex(keyed_fingerprint(key, {"origin id", encoded_numbers(place)}));
  return attempt == 0 ? id : fmt::format("{}-{}", id, attempt);
}

}  // namespace millrace
