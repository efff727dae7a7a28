#include "base/id_range.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// The end of the times that ids have, in milliseconds.
constexpr int64_t kTimes = int64_t{1} << 48;

constexpr std::string_view kSmallestId = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kGreatestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// The first id with a time, which is from 0 to kTimes - 1.
InstanceId first_at(int64_t millis) {
  InstanceId id;
  for (size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<uint8_t>(millis >> (40 - 8 * i));
  return id;
}

void make_empty(IdRange& range) { range = {.first = kLastId, .last = {}}; }

}  // namespace

void IdRange::begin_behind(const InstanceId& id) {
  if (id == kLastId) return make_empty(*this);
  InstanceId next = id;
  for (size_t i = next.bytes.size(); i > 0 && ++next.bytes[i - 1] == 0; --i) {
  }
  first = std::max(first, next);
}

void IdRange::end_before(const InstanceId& id) {
  if (id == InstanceId{}) return make_empty(*this);
  InstanceId before = id;
  for (size_t i = before.bytes.size(); i > 0 && before.bytes[i - 1]-- == 0; --i) {
  }
  last = std::min(last, before);
}

void IdRange::begin_at(TimePoint time) {
  const int64_t millis = to_millis(time);
  if (millis >= kTimes) return make_empty(*this);
  if (millis > 0) first = std::max(first, first_at(millis));
}

void IdRange::end_before(TimePoint time) {
  const int64_t millis = to_millis(time);
  if (millis <= 0) return make_empty(*this);
  if (millis < kTimes) end_before(first_at(millis));
}

Result<IdRange> ids_with_prefix(std::string_view text) {
  std::string smallest(kSmallestId);
  std::string greatest(kGreatestId);
  if (text.size() <= smallest.size()) {
    std::copy(text.begin(), text.end(), smallest.begin());
    std::copy(text.begin(), text.end(), greatest.begin());
    const Result<InstanceId> first = parse_instance_id(smallest);
    const Result<InstanceId> last = parse_instance_id(greatest);
    if (first && last) return IdRange{.first = *first, .last = *last};
  }
  return fail(
      "id.malformed",
      fmt::format("no instance id begins with \"{}\"; expected the beginning of a UUID such "
                  "as 0190b5a4-7c1e-7f2a-8000-0123456789ab",
                  excerpt(text)));
}

}  // namespace millrace
