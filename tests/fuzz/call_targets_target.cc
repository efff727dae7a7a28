// Where calls may go: URLs of services, patterns of subjects, and names of images.
// Covers: model/service_url.cc model/request_subjects.cc model/image_name.cc
#include <optional>
#include <string>
#include <vector>

#include "model/image_name.h"
#include "model/request_subjects.h"
#include "model/service_url.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

void check_url(const std::string& url) {
  const auto origin = http_origin(url);
  if (origin) {
    CHECK(origin->starts_with("http://") || origin->starts_with("https://"), "the origin is {}",
          excerpt(*origin));
    const auto again = http_origin(*origin);
    CHECK(again && *again == *origin, "the origin {} has another origin", excerpt(*origin));
  } else {
    CHECK(!origin.error().empty() && is_utf8(origin.error()), "a URL is refused without a reason");
  }
  const std::string shown = shown_url(url);
  CHECK(shown_url(shown) == shown, "{} is masked twice", excerpt(url));
  CHECK(is_masked_url(shown) || shown == url, "{} is shown as {}", excerpt(url), excerpt(shown));
  CHECK(url.find_first_of("@?#") != std::string::npos || shown == url, "{} is shown as {}",
        excerpt(url), excerpt(shown));
  const std::string of_shown = shown_origin(url);
  CHECK(of_shown.find('?') == std::string::npos && of_shown.find('#') == std::string::npos,
        "the origin {} has a query", excerpt(of_shown));
}

void check_subjects(std::string_view text) {
  const std::optional<std::vector<std::string>> patterns = read_subject_patterns(text);
  RequestSubjects subjects;
  if (patterns) {
    for (const std::string& one : *patterns) CHECK(!one.empty(), "a pattern is empty");
    subjects.allowed = *patterns;
  }
  for (const char* const subject : {"shop.ask", "$JS.API.INFO", "millrace.tasks.a.b", "_INBOX.a"}) {
    const auto refused = subjects.refusal(subject);
    CHECK(!refused || is_utf8(*refused), "a refusal is not UTF-8");
    CHECK(refused || std::string_view(subject) == "shop.ask", "the subject {} is not reserved",
          subject);
  }
  const auto refused = subjects.refusal(text);
  CHECK(!refused || is_utf8(*refused), "a refusal is not UTF-8");
}

}  // namespace

FUZZ_TARGET(call_targets) {
  if (bytes.size() > 4096) return;
  // The texts come from JSON, YAML or flags.
  if (bytes.find('\0') != std::string_view::npos || !is_utf8(bytes)) return;
  check_url(std::string(bytes));
  check_subjects(bytes);
  const Status image = check_image_name(bytes);
  if (!image) return check_shown_error(image.error(), 4 * 4096);
  CHECK(is_printable_ascii(bytes) && bytes.size() <= 512 && !bytes.starts_with('-'),
        "{} is the name of an image", excerpt(bytes));
}

}  // namespace millrace::fuzz
