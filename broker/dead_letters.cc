#include "broker/dead_letters.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "broker/stored_message.h"
#include "broker/streams.h"
#include "cloudevents/percent.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

constexpr std::string_view kReason = "Millrace-Reason";
constexpr std::string_view kDetail = "Millrace-Detail";
constexpr std::string_view kSubject = "Millrace-Subject";
constexpr std::string_view kTruncated = "Millrace-Truncated";

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

Json list_item(const StoredMessage& stored) {
  const Headers& headers = stored.message.headers;
  const std::string& data = stored.message.data;
  uint64_t size = data.size();
  if (const std::string* const whole = find_header(headers, kTruncated)) {
    std::from_chars(whole->data(), whole->data() + whole->size(), size);
  }
  const std::string_view head = preview(data, true);
  const bool text = is_utf8(head);
  return {{"id", std::to_string(stored.sequence)},
          {"reason", shown_header(read_header_text(headers, kReason))},
          {"detail", shown_header(read_header_text(headers, kDetail))},
          {"time", format_rfc3339(broker_time(stored.stamped))},
          {"subject", shown_header(read_header_text(headers, kSubject))},
          {"size", size},
          {"data", text ? std::string(head) : base64_encode(preview(data, false))},
          {"encoding", text ? "utf-8" : "base64"}};
}

/// Whether the dead letter belongs to that namespace, or was published under the name of the
/// namespace while no namespace had that name. Dead letters without a namespace number were written
/// by an earlier release, or for an event that was too large: such a dead letter belongs to the
/// namespace if it is not older than the namespace.
bool is_of(const StoredMessage& stored, const NamespaceIdentity& identity) {
  const std::string* const number = find_header(stored.message.headers, kDeadLetterNamespace);
  if (number == nullptr) return broker_time(stored.stamped) >= identity.created_at;
  return *number == "0" || *number == std::to_string(static_cast<uint32_t>(identity.number));
}

}  // namespace

std::string dead_letter_subjects(std::string_view prefix, std::string_view ns) {
  return fmt::format("{}.dlq.{}.>", prefix, subject_token(ns));
}

Result<Json> list_dead_letters(Connection& connection, std::string_view prefix, std::string_view ns,
                               const std::optional<NamespaceIdentity>& identity, size_t limit,
                               std::string_view cursor) {
  uint64_t last = 0;
  if (!cursor.empty()) {
    const char* const end = cursor.data() + cursor.size();
    if (std::from_chars(cursor.data(), end, last).ptr != end) {
      return fail("dlq.cursor",
                  fmt::format("\"{}\" is not a cursor of a list of dead letters; use the "
                              "`next` of the previous page",
                              excerpt(cursor)));
    }
  }
  const std::string stream = dead_letters_stream({.prefix = std::string(prefix)}).name;
  const std::string subjects = dead_letter_subjects(prefix, ns);
  Json page = {{"items", Json::array()}, {"next", nullptr}};
  for (size_t read = 0;; ++read) {
    const Result<StoredMessage> stored =
        fetch_stored(connection, stream, {{"seq", last + 1}, {"next_by_subj", subjects}});
    if (!stored && stored.error().code == "broker.not_found") return page;
    if (!stored) return tl::unexpected(stored.error());
    const bool is_listed = !identity || is_of(*stored, *identity);
    if (is_listed && page["items"].size() == limit) {  // there is at least one more dead letter
      page["next"] = std::to_string(last);
      return page;
    }
    if (is_listed) page["items"].push_back(list_item(*stored));
    last = stored->sequence;
    if (read + 1 >= std::max(limit + 1, kMostLettersRead)) {
      page["next"] = std::to_string(last);
      return page;
    }
  }
}

}  // namespace millrace
