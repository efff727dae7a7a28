#include "cli/output.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "language/yaml_writer.h"

namespace millrace {
namespace {

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

/// Whether the text begins with a control character from U+0080 to U+009F, which has two bytes.
bool begins_with_c1(std::string_view text) {
  return text.size() > 1 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) >= 0x80 &&
         static_cast<unsigned char>(text[1]) <= 0x9f;
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "-";
  const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  return text.empty() ? "-" : harmless(text);
}

Json member(const Json& item, const std::string& key) {
  const auto found = item.find(key);
  return found == item.end() ? Json() : *found;
}

void append_indented(const Json& value, const std::string& margin, std::string& out) {
  if (!value.is_structured() || value.empty()) return append_json(value, out);
  const std::string inner = margin + "  ";
  std::string_view before = value.is_object() ? "{\n" : "[\n";
  for (const auto& [key, member] : value.items()) {
    out += std::exchange(before, ",\n");
    out += inner;
    if (value.is_object()) {
      append_json_string(key, out);
      out += ": ";
    }
    append_indented(member, inner, out);
  }
  out += "\n" + margin + (value.is_object() ? "}" : "]");
}

/// The JSON text, indented, on several lines.
std::string indented(const Json& value) {
  std::string text;
  append_indented(value, "", text);
  return text;
}

/// The text of a member; `otherwise` if the member is missing or no text.
std::string text_or(const Json& item, const std::string& key, std::string_view otherwise) {
  const Json text = member(item, key);
  return text.is_string() ? text.get<std::string>() : std::string(otherwise);
}

/// The number of a line or column; 1 if the member is missing or no integer.
int64_t place_or_one(const Json& item, const std::string& key) {
  const Json number = member(item, key);
  return number.is_number_integer() ? number.get<int64_t>() : 1;
}

/// The width in characters, not bytes.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t to) {
  return text + std::string(to - std::min(to, width(text)), ' ');
}

std::string short_span(Duration span) {
  using std::chrono::duration_cast;
  const auto seconds = std::max<int64_t>(0, duration_cast<std::chrono::seconds>(span).count());
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < int64_t{120} * 60) return fmt::format("{}m", seconds / 60);
  if (seconds < int64_t{48} * 3600) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86400);
}

}  // namespace

std::string harmless(std::string_view text, std::string_view allowed) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    const bool has_two_bytes = begins_with_c1(text.substr(at));
    const bool is_replaced = has_two_bytes || (is_control(static_cast<unsigned char>(byte)) &&
                                               allowed.find(byte) == std::string_view::npos);
    shown += is_replaced ? ' ' : byte;
    if (has_two_bytes) ++at;
  }
  return shown;
}

void show_settings_warnings(const Console& console, const Json& answer) {
  for (const Json& one : answer.value("warnings", Json::array())) {
    console.err << harmless(
        fmt::format("warning: {}: {}\n", one.value("path", ""), one.value("message", "")),
        kLineEnds);
  }
}

Fallible<Format> parse_format(const std::string& name, bool is_terminal) {
  if (name.empty()) return is_terminal ? Format::kTable : Format::kJson;
  if (name == "table") return Format::kTable;
  if (name == "json") return Format::kJson;
  if (name == "jsonl") return Format::kJsonl;
  if (name == "yaml") return Format::kYaml;
  if (name == "name") return Format::kName;
  return wrong_usage(
      fmt::format("-o {}: unknown format; expected table, json, jsonl, yaml or name", name));
}

Column field(std::string title, std::string key) {
  return {std::move(title),
          [key = std::move(key)](const Json& item) { return text_of(member(item, key)); }};
}

Column json_value(std::string title, std::string key) {
  return {std::move(title), [key = std::move(key)](const Json& item) -> std::string {
            const auto found = item.find(key);
            if (found == item.end()) return "-";
            return *found == "" || found->is_null() ? dump_json(*found) : text_of(*found);
          }};
}

Column flag(std::string title, std::string key) {
  return {std::move(title), [key = std::move(key)](const Json& item) {
            return std::string(member(item, key) == Json(true) ? "yes" : "-");
          }};
}

Column age(std::string title, std::string key, TimePoint now) {
  return {std::move(title), [key = std::move(key), now](const Json& item) {
            const Json text = member(item, key);
            const Result<TimePoint> time = parse_rfc3339(text_of(text));
            return time ? short_span(now - *time) : text_of(text);
          }};
}

Output::Output(Console& console, Format format)
    : console_(console),
      format_(format),
      colour_(console.out_is_terminal && console.env("NO_COLOR").value_or("").empty()) {}

/// Colours a status, the value that a reader looks for: green for complete; red for failed,
/// timedout and cancelled.
std::string Output::coloured(const std::string& cell, const std::string& text) const {
  if (!colour_) return text;
  const bool good = cell == "complete";
  const bool bad = cell == "failed" || cell == "timedout" || cell == "cancelled";
  if (!good && !bad) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", good ? 32 : 31, text);
}

void Output::list(const Json& answer, const std::vector<Column>& columns,
                  const std::string& name_key) {
  list(answer, columns, field("", name_key));
}

void Output::list(const Json& answer, const std::vector<Column>& columns, const Column& name) {
  print_list(answer, columns, name);
  if (const Json next = member(answer, "next"); next.is_string() && !next.empty()) {
    console_.err << fmt::format("more results: --cursor {}\n", harmless(next.get<std::string>()));
  }
}

void Output::print_list(const Json& answer, const std::vector<Column>& columns,
                        const Column& name) {
  const Json items = member(answer, "items");
  switch (format_) {
    case Format::kJsonl:
      for (const Json& item : items) console_.out << dump_json(item) << "\n";
      return;
    case Format::kName:
      for (const Json& item : items) console_.out << name.cell(item) << "\n";
      return;
    case Format::kJson:
    case Format::kYaml:
      return value(answer);
    case Format::kTable:
      break;
  }
  std::vector<size_t> widths;
  lines(items, columns, widths);
}

void Output::lines(const Json& items, const std::vector<Column>& columns,
                   std::vector<size_t>& widths) {
  std::vector<std::vector<std::string>> rows;
  if (widths.empty()) {
    widths.resize(columns.size());
    auto& titles = rows.emplace_back();
    for (const Column& column : columns) titles.push_back(column.title);
  }
  for (const Json& item : items) {
    auto& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(column.cell(item));
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      console_.out << coloured(row[i], last ? row[i] : padded(row[i], widths[i] + 2));
    }
    console_.out << "\n";
  }
}

void Output::item(const Json& item, const std::string& name_key,
                  const std::vector<std::string>& last) {
  if (format_ == Format::kName) {
    console_.out << text_of(member(item, name_key)) << "\n";
    return;
  }
  if (format_ != Format::kTable || !item.is_object()) return value(item);
  std::vector<std::pair<std::string, std::string>> lines;
  size_t widest = 0;
  for (const auto& [key, member_value] : item.items()) {
    const bool is_last = std::find(last.begin(), last.end(), key) != last.end();
    if (is_last || member_value.is_null()) continue;
    lines.emplace_back(harmless(key), text_of(member_value));
    widest = std::max(widest, width(key));
  }
  for (const auto& [key, text] : lines) {
    console_.out << padded(key, widest + 2) << coloured(text, text) << "\n";
  }
  for (const std::string& key : last) {
    const Json member_value = member(item, key);
    if (member_value.is_null()) continue;
    const std::string text = member_value.is_string()
                                 ? harmless(member_value.get<std::string>(), kLineEnds)
                                 : harmless(indented(member_value), kLineEnds);
    console_.out << "\n" << key << ":\n" << text << (text.ends_with('\n') ? "" : "\n");
  }
}

void Output::value(const Json& value) {
  switch (format_) {
    case Format::kTable:
      console_.out << harmless(indented(value), kLineEnds) << "\n";
      return;
    case Format::kJson:
    case Format::kName:
      console_.out << indented(value) << "\n";
      return;
    case Format::kJsonl:
      console_.out << dump_json(value) << "\n";
      return;
    case Format::kYaml:
      console_.out << to_yaml(value);
      return;
  }
}

std::string render_findings(const Json& errors, std::string_view file) {
  std::string text;
  for (const Json& finding : errors) {
    const std::string path = text_or(finding, "path", "");
    text +=
        harmless(fmt::format("{}:{}:{}: {}: {}{}{} [{}]\n", file, place_or_one(finding, "line"),
                             place_or_one(finding, "column"), text_or(finding, "severity", "error"),
                             path, path.empty() ? "" : ": ", text_or(finding, "message", ""),
                             text_or(finding, "code", "")),
                 kLineEnds);
  }
  return text;
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("._-:/@%+=,").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

}  // namespace millrace
