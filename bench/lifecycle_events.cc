#include "bench/lifecycle_events.h"

#include <charconv>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/harness.h"

namespace millrace {
namespace {

/// The text after `mark`, up to the next quote.
std::string_view text_after(std::string_view event, std::string_view mark) {
  const size_t begin = event.find(mark);
  CHECK(begin != std::string_view::npos, "the event has no {}: {}", mark, event);
  const std::string_view rest = event.substr(begin + mark.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

std::string bench_subject(std::string_view ns) {
  return fmt::format("millrace.events.{}.bench", ns);
}

std::string done_subject(std::string_view workflow, std::string_view ns) {
  return fmt::format("millrace.events.{}.{}.done", ns, workflow);
}

std::string lifecycle_key(std::string_view workflow, std::string_view run, size_t number) {
  return fmt::format("{}-{}-{}", workflow, run, number);
}

std::string start_event(std::string_view workflow, std::string_view key) {
  return with_key(fmt::format("{}.start", workflow), fmt::format("s{}", key), key);
}

std::string wake_event(std::string_view workflow, std::string_view key) {
  return with_key(fmt::format("{}.go", workflow), fmt::format("g{}", key), key);
}

size_t number_of_key(std::string_view key) {
  size_t number = 0;
  const char* const digits = key.data() + key.rfind('-') + 1;
  CHECK(std::from_chars(digits, key.data() + key.size(), number).ec == std::errc(),
        "{} does not end with the number of a lifecycle", key);
  return number;
}

std::string_view key_in(std::string_view generated_event) {
  return text_after(generated_event, "\"data\":\"");
}

std::string_view id_in(std::string_view event) { return text_after(event, "\"id\":\""); }

}  // namespace millrace
