// Texts of the command line, of its environment variables and of the files that it reads:
// quantities, tokens, keys, URLs, prefixes of streams, names of images; and texts of the server
// that it prints. Each reader gets all bytes.
// Covers: cli/quantity.cc language/yaml_writer.cc base/quantity.cc policies/duration.cc
// Covers: broker/nkey.cc broker/stream_options.cc cloudevents/subject.cc model/image_name.cc
// Covers: model/service_url.cc
#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "broker/nkey.h"
#include "broker/stream_options.h"
#include "cli/output.h"
#include "cli/quantity.h"
#include "cli/token_file.h"
#include "cloudevents/subject.h"
#include "language/document.h"
#include "language/yaml_writer.h"
#include "model/image_name.h"
#include "model/service_url.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// libyaml reads a key of at most 1024 bytes; an escape takes six for one.
constexpr size_t kLongestKey = 128;

void check_quantities(const std::string& text) {
  if (const Fallible<Duration> duration = read_duration("flag", text)) {
    CHECK(*duration >= Duration(0));
    const std::string shown = duration_text(*duration);
    // A duration below a millisecond is cut to zero, which is not above zero.
    const Fallible<Duration> again = read_duration("flag", shown);
    CHECK(*duration == Duration(0) || (again && *again == *duration), "{} is shown as {}", text,
          shown);
  }
  if (const Fallible<uint64_t> number = read_number("flag", text)) {
    CHECK(*number > 0);
    const std::string shown = bytes_text(*number);
    const Fallible<uint64_t> again = read_number("flag", shown);
    CHECK(again && *again == *number, "{} is shown as {}", text, shown);
  }
}

void check_login(const std::string& text) {
  const Status token = check_token(text, "the token");
  CHECK(!token || (text.size() >= 16 && is_printable_ascii(text)));
  CHECK(token || token.error().code == "token.malformed");
  CHECK(!check_token_strength(text, "the token") || text.size() >= 32);
  if (const Result<std::string> key = public_nkey(text)) {
    CHECK(key->size() == 56 && key->starts_with('U'), "the key is {}", *key);
    CHECK(!public_nkey(*key), "a public key is taken for a seed");
  }
}

void check_names(const std::string& text) {
  const auto origin = http_origin(text);
  if (origin) {
    CHECK(origin->starts_with("http://") || origin->starts_with("https://"));
    CHECK(http_origin(*origin) == *origin, "the origin {} has another origin", *origin);
  }
  if (check_image_name(text)) CHECK(!text.starts_with('-') && is_printable_ascii(text));
  if (is_subject_pattern(text)) CHECK(subject_covers(text, text));
  if (is_publish_subject(text)) CHECK(is_subject_pattern(text) && subject_covers(">", text));
  CHECK(is_publish_subject("a." + subject_token(text)) || text.size() > 1'000);

  const StreamOptions options{.prefix = text};
  if (!check_stream_options(options)) return;
  const std::string subject = "millrace.events.default.t";
  const std::string on_broker = broker_subject(text, subject);
  CHECK(is_publish_subject(on_broker), "{} is not a subject", on_broker);
  CHECK(inside_subject(text, on_broker) == subject);
}

/// What the server quotes must not send commands to a terminal, and YAML must be the same value to
/// other programs.
void check_printed(const std::string& text) {
  const std::string shown = harmless(text);
  CHECK(shown.size() <= text.size());
  CHECK(std::all_of(shown.begin(), shown.end(),
                    [](unsigned char c) { return c >= 0x20 && c != 0x7f; }));
  // The reader of YAML refuses noncharacters beyond U+FFFF, which end with these bytes.
  const bool has_noncharacter =
      text.find("\xbf\xbe") != std::string::npos || text.find("\xbf\xbf") != std::string::npos;
  if (!is_utf8(text) || has_noncharacter) return;
  Json value = {{"text", text}, {"list", {text, {{"nested", text}}, Json::array()}}};
  if (text.size() <= kLongestKey) value[text] = 1;
  const std::string yaml = to_yaml(value);
  Findings findings;
  const std::optional<Node> node = parse_document(yaml, findings);
  CHECK(node && !findings.has_errors(), "the YAML is refused: {}", yaml);
  CHECK(to_json(*node) == value, "the YAML is another value: {}", yaml);
}

}  // namespace

FUZZ_TARGET(command_texts) {
  const std::string text(bytes);
  check_quantities(text);
  check_login(text);
  check_names(text);
  check_printed(text);
}

}  // namespace millrace::fuzz
