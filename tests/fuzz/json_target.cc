// The readers, checks and scans of JSON against nlohmann's parser. They accept the texts that
// nlohmann accepts, with these differences, which are decided and stated in base/:
//  - a byte order mark and a NUL are refused; nlohmann skips the one and stops at the other;
//  - text that nests deeper than kMaxJsonDepth is refused;
//  - an integer of more than 64 bits keeps its digits; nlohmann makes it a double.
// Covers: base/json.cc base/json_scan.cc base/bytes.cc expressions/large_integers.cc
#include "base/json_scan.h"
#include "expressions/large_integers.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// Walks the outermost level of a text that may be anything: the scan must end within the text.
void scan_any_text(std::string_view text) {
  JsonLevel level(text);
  for (size_t items = 0; level.next(); ++items) {
    CHECK(items <= text.size(), "a level has more items than bytes");
    CHECK(level.begin() <= level.value_at() && level.value_at() <= level.end() &&
              level.end() <= text.size(),
          "an item is from {} to {} of {} bytes", level.begin(), level.end(), text.size());
    CHECK(level.value().size() <= text.size(), "a value is longer than its text");
  }
  size_t at = 0;
  while ((at = next_json_bracket(text, at)) < text.size()) ++at;
  string_of_json(text);
  has_foreign_escape(text);
  has_large_integer(text);
}

/// Whether the text reads as the level of `value` when it is scanned.
void check_level(std::string_view text, const Json& value) {
  JsonLevel level(text);
  size_t count = 0;
  for (; level.next(); ++count) {
    const Result<Json> item = parse_json(level.value());
    CHECK(item, "an item of a level is not JSON: {}", excerpt(level.value()));
    if (!value.is_array()) continue;
    CHECK(count < value.size() && *item == value[count], "item {} is another value", count);
  }
  if (value.is_array()) {
    CHECK(count == value.size(), "{} items of {}", count, value.size());
    return;
  }
  for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
    JsonLevel again(text);
    std::string_view last;
    while (again.next()) {
      if (again.order(name) == 0) last = again.value();
    }
    const Result<Json> found = parse_json(last);
    CHECK(found && *found == member, "the member {} is another value", excerpt(name));
  }
}

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

FUZZ_TARGET(json) {
  if (bytes.size() > 65'536) return;
  scan_any_text(bytes);
  const Result<Json> read = parse_json(bytes);
  CHECK(is_json(bytes) == read.has_value(), "is_json and parse_json differ on {}", excerpt(bytes));
  const bool is_plain = !bytes.starts_with("\xef\xbb\xbf") &&
                        bytes.find('\0') == std::string_view::npos &&
                        too_deep_at(bytes, kMaxJsonDepth) == std::string_view::npos;
  if (is_plain) {
    const Json expected = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    CHECK(read.has_value() == !expected.is_discarded(), "{}, but nlohmann {} {}",
          read ? "accepted" : read.error().message, expected.is_discarded() ? "refuses" : "accepts",
          excerpt(bytes));
    if (read) CHECK(is_same_value(*read, expected), "another value: {}", excerpt(bytes));
    const Result<Json> own = parse_own_json(bytes);
    CHECK(own.has_value() == read.has_value() && is_own_json(bytes) == own.has_value(),
          "the readers of own and of other JSON differ on {}", excerpt(bytes));
  }
  if (!read) {
    check_shown_error(read.error());
    return;
  }
  CHECK(is_plain, "accepted: {}", excerpt(bytes));
  CHECK(!nests_deeper(*read, kMaxJsonDepth), "{} nests too deep", excerpt(bytes));
  const std::string text = dump_json(*read);
  const Result<Json> again = parse_json(text);
  CHECK(again && *again == *read, "{} is not the value that it was written from", excerpt(text));
  CHECK(dump_json(*again) == text, "{} has two texts", excerpt(text));
  const std::string_view value = without_blanks(bytes);
  if (read->is_string()) {
    CHECK(string_of_json(value) == read->get<std::string>(), "{} is another string",
          excerpt(value));
  }
  if (read->is_array() || (read->is_object() && read->size() <= 64)) check_level(value, *read);
}

}  // namespace millrace::fuzz
