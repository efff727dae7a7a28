// Date-times, and ids of instances, which have a time in them.
// Covers: base/time.cc base/ids.cc
#include "base/ids.h"
#include "base/time.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_TARGET(times) {
  const Result<TimePoint> time = parse_rfc3339(bytes);
  if (time) {
    const std::string text = format_rfc3339(*time);
    CHECK(is_printable_ascii(text), "a time is not ASCII: {}", excerpt(text));
    const Result<TimePoint> again = parse_rfc3339(text);
    CHECK(again && *again == *time, "{} is read as another time than {}", text, excerpt(bytes));
    CHECK(from_millis(to_millis(*time)) == *time, "{} is another time in milliseconds", text);
  } else {
    check_shown_error(time.error());
  }
  const Result<InstanceId> id = parse_instance_id(bytes);
  if (id) {
    const Result<InstanceId> again = parse_instance_id(to_string(*id));
    CHECK(again && *again == *id, "{} is read as another id", excerpt(bytes));
    CHECK(is_identifier(to_string(*id)), "an id is not an identifier: {}", to_string(*id));
    time_of(*id);
  } else {
    check_shown_error(id.error());
  }
  CHECK(!is_identifier(bytes) || (is_printable_ascii(bytes) && bytes.size() <= 128),
        "{} is an identifier", excerpt(bytes));
}

}  // namespace millrace::fuzz
