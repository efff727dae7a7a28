#include "language/yaml_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <yaml.h>

#include "base/json.h"

namespace millrace {
namespace {

// Characters that libyaml would misread are replaced by noncharacters before parsing, one by one,
// so that lines and columns do not change. The original characters are restored in the scalars.
struct StandIn {
  std::string_view original;
  std::string_view stand_in;
};
constexpr std::string_view kBackslash = "\xf4\x8f\xbf\xbf";  // U+10FFFF, for `\` of a surrogate
constexpr std::array kBreaks = std::to_array<StandIn>({
    {"\xc2\x85", "\xf4\x8f\xbf\xbe"},      // U+0085: U+10FFFE
    {"\xe2\x80\xa8", "\xf3\xbf\xbf\xbf"},  // U+2028: U+FFFFF
    {"\xe2\x80\xa9", "\xf3\xbf\xbf\xbe"},  // U+2029: U+FFFFE
});

/// The number of the escape `\uXXXX` at `at`, where the character `backslash` replaces the `\`;
/// nullopt if there is no escape.
std::optional<unsigned> escape_at(std::string_view text, size_t at, std::string_view backslash) {
  if (text.substr(at, backslash.size()) != backslash) return std::nullopt;
  const std::string_view rest = text.substr(at + backslash.size());
  if (rest.size() < 5 || rest[0] != 'u') return std::nullopt;
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(rest.data() + 1, rest.data() + 5, value, 16);
  if (error != std::errc() || stop != rest.data() + 5) return std::nullopt;
  return value;
}

/// The character of the surrogate pair at `at`; 0 if there is no pair.
char32_t pair_at(std::string_view text, size_t at, std::string_view backslash) {
  const std::optional<unsigned> high = escape_at(text, at, backslash);
  if (!high || *high < 0xd800 || *high > 0xdbff) return 0;
  const std::optional<unsigned> low = escape_at(text, at + backslash.size() + 5, backslash);
  if (!low || *low < 0xdc00 || *low > 0xdfff) return 0;
  return 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
}

void append_utf8(std::string& out, char32_t c) {
  out += static_cast<char>(0xf0 | c >> 18);
  out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
  out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
  out += static_cast<char>(0x80 | (c & 0x3f));
}

/// The text with noncharacters in place of the characters that libyaml would misread.
std::string disguise(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (pair_at(text, i, "\\") != 0) {
      out.append(kBackslash).append(text, i + 1, 5).append(kBackslash).append(text, i + 7, 5);
      i += 12;
      continue;
    }
    // The first backslash escapes the second, which begins no escape.
    if (text.substr(i, 2) == "\\\\") {
      out.append(2, '\\');
      i += 2;
      continue;
    }
    size_t length = 1;
    std::string_view put = text.substr(i, 1);
    for (const StandIn& entry : kBreaks) {
      if (text.substr(i, entry.original.size()) == entry.original) {
        length = entry.original.size();
        put = entry.stand_in;
      }
    }
    out += put;
    i += length;
  }
  return out;
}

/// A scalar with its original characters. A surrogate pair becomes one character only if the scalar
/// is double-quoted.
std::string undisguise(std::string_view text, bool double_quoted) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (static_cast<unsigned char>(rest[0]) < 0xf0) {
      out += rest[0];
      ++i;
    } else if (rest.starts_with(kBackslash)) {
      const char32_t pair = double_quoted ? pair_at(text, i, kBackslash) : 0;
      if (pair != 0) {
        append_utf8(out, pair);
        i += 2 * (kBackslash.size() + 5);
      } else {
        out += '\\';
        i += kBackslash.size();
      }
    } else {
      std::string_view put = rest.substr(0, 4);
      for (const StandIn& entry : kBreaks) {
        if (put == entry.stand_in) put = entry.original;
      }
      out += put;
      i += 4;
    }
  }
  return out;
}

/// The position of the first noncharacter that disguise() uses; npos if there is none. A text that
/// already contains one cannot be read.
size_t find_noncharacter(std::string_view text) {
  size_t at = text.find(kBackslash);
  for (const StandIn& entry : kBreaks) at = std::min(at, text.find(entry.stand_in));
  return at;
}

/// Whether the text has more than 64 %TAG lines. libyaml compares each %TAG line with all %TAG
/// lines before it, so thousands of them would take seconds.
bool has_too_many_tag_lines(std::string_view text) {
  constexpr size_t kMost = 64;
  size_t lines = 0;
  for (size_t at = 0; (at = text.find("%TAG", at)) != std::string_view::npos; at += 4) {
    const bool begins_line = at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
    if (begins_line && ++lines > kMost) return true;
  }
  return false;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Advances the position by the byte at `i`, counting line breaks as libyaml does, and characters
/// instead of bytes.
void step(Position& at, std::string_view text, size_t i) {
  const bool ends_line = text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n");
  if (ends_line) {
    ++at.line;
    at.column = 1;
  } else if (i + 1 == text.size() || !continues(text[i + 1])) {
    ++at.column;
  }
}

Position position_of(std::string_view text, size_t offset) {
  Position at;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) step(at, text, i);
  return at;
}

Position position_of(const yaml_mark_t& mark) { return {mark.line + 1, mark.column + 1}; }

/// The byte at a position; NUL after the end of the text.
char byte_at(std::string_view text, Position wanted) {
  Position at;
  for (size_t i = 0; i < text.size(); ++i) {
    if (at >= wanted) return text[i];
    step(at, text, i);
  }
  return '\0';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : ready_(yaml_parser_initialize(&parser_) == 1) {
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Parser() {
    if (ready_) yaml_parser_delete(&parser_);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  bool next(yaml_event_t* event) { return ready_ && yaml_parser_parse(&parser_, event) == 1; }
  const yaml_parser_t& state() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  bool ready_;
};

/// One event of libyaml, freed with the object.
class OwnedEvent {
 public:
  OwnedEvent() = default;
  ~OwnedEvent() { yaml_event_delete(&event); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  yaml_event_t event{};
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

/// A replacement for a message of libyaml. `context` is what libyaml was reading; an empty context
/// matches every context.
struct PlainMessage {
  std::string_view context;
  std::string_view problem;
  std::string_view message;
};

constexpr PlainMessage kPlainMessages[] = {
    {"while scanning an alias", "did not find expected alphabetic or numeric character",
     "a text that begins with \"*\" must be in quotes: \"*\""},
    {"while scanning an anchor", "did not find expected alphabetic or numeric character",
     "a text that begins with \"&\" must be in quotes"},
    {"while parsing a block mapping", "did not find expected key",
     "expected a key of the mapping{}, in the same column as its other keys"},
    {"while parsing a block collection", "did not find expected '-' indicator",
     "expected the next \"- \" item of the list{}, in the same column as its other items"},
    {"while parsing a flow sequence", "did not find expected ',' or ']'",
     "expected \",\" or \"]\" in the list{}; put a text with brackets or commas in quotes, "
     "such as 'jq(.a[0])'"},
    {"while parsing a flow mapping", "did not find expected ',' or '}'",
     "expected \",\" or \"}}\" in the mapping{}; put a text with brackets or commas in quotes, "
     "such as 'jq(.a[0])'"},
    {"while scanning a simple key", "could not find expected ':'",
     "expected \": \" after the key{}"},
    {"while scanning a quoted scalar", "found unexpected end of stream",
     "the text in quotes{} is not closed"},
    {"while parsing a quoted scalar", "found unknown escape character",
     "unknown escape in the text in double quotes{}; use single quotes"},
    {"while parsing a block mapping", "found a tab character that violates indentation",
     "YAML does not allow tabs as indentation; use spaces"},
    {"", "block sequence entries are not allowed in this context",
     "an item \"- \" of a list cannot begin here; start the list on a new line"},
    {"", "did not find expected <document start>",
     "expected the end of the text: the document is already complete, or an indentation is wrong"},
    {"", "did not find expected node content", "expected a value"},
    {"", "found undefined tag handle", "a text that begins with \"!\" must be in quotes"},
};

/// The replacement for a message of libyaml; empty if the table has none. `begins` is inserted
/// where the message has a placeholder: ` that begins on line N`, or empty.
std::string plain_message(std::string_view context, std::string_view problem,
                          std::string_view begins) {
  for (const PlainMessage& one : kPlainMessages) {
    if (one.problem == problem && (one.context.empty() || one.context == context)) {
      return fmt::format(fmt::runtime(one.message), begins);
    }
  }
  return "";
}

/// The usual cause of a message of libyaml, as a text to append to the message; empty if the cause
/// is not known.
std::string_view hint(std::string_view problem, char byte) {
  if (problem == "found character that cannot start any token") {
    if (byte == '\t') return "; YAML does not allow tabs as indentation, use spaces";
    return "; a text that begins with this character must be in quotes";
  }
  if (problem == "mapping values are not allowed in this context") {
    return "; a text that contains \": \" must be in quotes";
  }
  return "";
}

class Recorder {
 public:
  Recorder(std::string_view text, Findings& findings)
      : text_(text), end_(position_of(text, text.size())), parser_(text), findings_(findings) {}

  std::optional<std::vector<YamlPart>> read() {
    while (true) {
      OwnedEvent owned;
      const yaml_event_t& event = owned.event;
      if (!parser_.next(&owned.event)) {
        report_syntax();
        return std::nullopt;
      }
      const Position at = place_of(event.start_mark);
      switch (event.type) {
        case YAML_STREAM_END_EVENT:
          return finish(at);
        case YAML_DOCUMENT_START_EVENT:
          if (!parts_.empty()) {
            findings_.error("definition.documents", "", at,
                            "a second document begins here; a file must have only one");
            return finish(at);
          }
          break;
        case YAML_SCALAR_EVENT:
          add_scalar(event);
          break;
        case YAML_ALIAS_EVENT:
          add_alias(event);
          break;
        case YAML_SEQUENCE_START_EVENT:
          open(YamlPart::Type::kSequence, at, event.data.sequence_start.anchor,
               event.data.sequence_start.tag);
          break;
        case YAML_MAPPING_START_EVENT:
          open(YamlPart::Type::kMapping, at, event.data.mapping_start.anchor,
               event.data.mapping_start.tag);
          break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
          parts_.push_back({.type = YamlPart::Type::kEnd, .at = at, .past = parts_.size() + 1});
          parts_[open_.back()].past = parts_.size();
          open_.pop_back();
          break;
        default:
          break;
      }
      if (open_.size() > kMaxJsonDepth) {
        findings_.error("definition.depth", "", at,
                        fmt::format("lists and mappings are nested deeper than {}", kMaxJsonDepth));
        return std::nullopt;
      }
    }
  }

 private:
  /// libyaml places the end of a text without a line end in the line behind the last one.
  Position place_of(const yaml_mark_t& mark) const { return std::min(position_of(mark), end_); }

  std::optional<std::vector<YamlPart>> finish(Position at) {
    if (parts_.empty()) {
      findings_.error("definition.empty", "", at, "the text has no document");
      return std::nullopt;
    }
    return std::move(parts_);
  }

  void anchor(const yaml_char_t* name) {
    if (name != nullptr) anchors_[text_of(name)] = parts_.size();
  }

  void add_scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string_view value(reinterpret_cast<const char*>(scalar.value), scalar.length);
    anchor(scalar.anchor);
    parts_.push_back({.type = YamlPart::Type::kScalar,
                      .plain = scalar.style == YAML_PLAIN_SCALAR_STYLE,
                      .at = place_of(event.start_mark),
                      .text = undisguise(value, scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE),
                      .tag = text_of(scalar.tag),
                      .past = parts_.size() + 1});
  }

  void add_alias(const yaml_event_t& event) {
    YamlPart part{.type = YamlPart::Type::kAlias,
                  .at = place_of(event.start_mark),
                  .text = text_of(event.data.alias.anchor),
                  .past = parts_.size() + 1};
    if (const auto found = anchors_.find(part.text); found != anchors_.end()) {
      part.target = found->second;
      part.in_itself = parts_[part.target].past == YamlPart::kNone;
    }
    parts_.push_back(std::move(part));
  }

  void open(YamlPart::Type type, Position at, const yaml_char_t* name, const yaml_char_t* tag) {
    anchor(name);
    open_.push_back(parts_.size());
    parts_.push_back({.type = type, .at = at, .tag = text_of(tag)});
  }

  void report_syntax() {
    const yaml_parser_t& state = parser_.state();
    const std::string_view problem = state.problem != nullptr ? state.problem : "out of memory";
    if (state.error == YAML_READER_ERROR) {
      findings_.error(
          "definition.syntax", "", position_of(text_, state.problem_offset),
          fmt::format("{}; the text must be UTF-8 without control characters", problem));
      return;
    }
    const std::string_view context = state.context != nullptr ? state.context : "";
    const std::string begins =
        context.empty() ? "" : fmt::format(" that begins on line {}", state.context_mark.line + 1);
    std::string message = plain_message(context, problem, begins);
    if (message.empty()) {
      message = fmt::format("{}{}{}{}", problem, context.empty() ? "" : " ", context, begins);
    }
    const Position at = place_of(state.problem_mark);
    message += hint(problem, byte_at(text_, at));
    findings_.error("definition.syntax", "", at, std::move(message));
  }

  std::string_view text_;
  const Position end_;
  Parser parser_;
  Findings& findings_;
  std::vector<YamlPart> parts_;
  std::vector<size_t> open_;  ///< the sequences and mappings that have not ended
  std::map<std::string, size_t> anchors_;
};

}  // namespace

std::optional<std::vector<YamlPart>> read_yaml_parts(std::string_view text, Findings& findings) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const size_t at = find_noncharacter(text); at != std::string_view::npos) {
    findings.error("definition.syntax", "", position_of(text, at),
                   "a text must not contain noncharacters such as U+10FFFF");
    return std::nullopt;
  }
  if (has_too_many_tag_lines(text)) {
    findings.error("definition.syntax", "", {}, "the text has more than 64 %TAG lines");
    return std::nullopt;
  }
  return Recorder(disguise(text), findings).read();
}

}  // namespace millrace
