// What a server answers to the command line: the JSON of an answer, which is printed in each format
// and as the texts that need a certain form, and the bytes of a stream of messages. JSON of another
// form than a verb reads makes an exception of Json, which the command line reports as an error.
// Covers: cli/output.cc language/yaml_writer.cc cli/event_reader.cc
// Covers: cli/why_text.cc cli/why_instance_text.cc cli/why_parts.cc
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cli/event_reader.h"
#include "cli/output.h"
#include "cli/why_text.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/text_console.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostJsonBytes = 65'536;
constexpr size_t kMostStreamBytes = 4'096;

/// The text of a part of the command line; nullopt: the answer has another form than it reads.
template <class Print>
std::optional<std::string> text_of_answer(const Print& print) {
  try {
    return print();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void check_for_terminal(const std::optional<std::string>& text) {
  if (!text) return;
  CHECK(is_utf8(*text), "the text is not UTF-8");
  CHECK(harmless(*text, kLineEnds) == *text, "the text controls the terminal: {}", excerpt(*text));
}

/// What `print` prints with an Output of that format.
template <class Print>
std::optional<std::string> output_in(Format format, const Print& print) {
  return text_of_answer([&] {
    TextConsole text;
    Output output(text.console, format);
    print(output);
    return text.out.str();
  });
}

void check_formats(const Json& answer) {
  const std::vector<Column> columns = {field("ID", "id"), flag("ON", "on"),
                                       age("AGE", "time", from_millis(1'630'454'400'000)),
                                       field("TYPE", "type")};
  const auto as_list = [&](Output& output) { output.list(answer, columns, "id"); };
  const auto as_item = [&](Output& output) { output.item(answer, "id", {"data", "error"}); };
  const auto as_value = [&](Output& output) { output.value(answer); };
  for (const Format format : {Format::kJson, Format::kJsonl, Format::kYaml}) {
    for (const auto& text :
         {output_in(format, as_list), output_in(format, as_item), output_in(format, as_value)}) {
      CHECK(!text || is_utf8(*text), "the output is not UTF-8");
    }
  }
  check_for_terminal(output_in(Format::kTable, as_list));
  check_for_terminal(output_in(Format::kTable, as_item));
  check_for_terminal(output_in(Format::kTable, as_value));
  check_for_terminal(output_in(Format::kName, as_list));
  check_for_terminal(output_in(Format::kName, as_item));
  const std::optional<std::string> json = output_in(Format::kJson, as_value);
  CHECK(json, "a value is not printed");
  const Result<Json> again = parse_own_json(*json);
  CHECK(again && *again == answer, "a value is printed as another one");
}

void check_texts(const Json& answer) {
  check_for_terminal(text_of_answer([&] { return why_of_event_text(answer); }));
  check_for_terminal(text_of_answer([&] { return why_of_instance_text(answer); }));
  const std::string findings = render_findings(answer, "order.yaml");
  check_for_terminal(findings);
}

using StreamMessages = std::vector<std::pair<std::string, std::string>>;

/// The messages of a stream that comes in pieces of that size.
StreamMessages messages_in(std::string_view bytes, size_t piece) {
  EventReader reader;
  StreamMessages messages;
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    reader.add(some);
    while (auto message = reader.next()) {
      CHECK(!message->data.empty(), "a message without data");
      CHECK((message->event + message->data).find('\n') == std::string::npos,
            "a message has a line break");
      messages.emplace_back(std::move(message->event), std::move(message->data));
    }
  }
  return messages;
}

void check_stream(std::string_view bytes) {
  const StreamMessages messages = messages_in(bytes, std::max(bytes.size(), size_t{1}));
  CHECK(messages_in(bytes, 1) == messages, "the messages depend on the pieces of the stream");
}

}  // namespace

FUZZ_TARGET(server_answers) {
  check_stream(bytes.substr(0, kMostStreamBytes));
  if (bytes.size() > kMostJsonBytes) return;
  const Result<Json> answer = parse_own_json(bytes);
  if (!answer) return;
  check_formats(*answer);
  check_texts(*answer);
}

}  // namespace millrace::fuzz
