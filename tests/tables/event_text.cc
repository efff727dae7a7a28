#include "tests/tables/event_text.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/event_check.h"
#include "model/hops.h"

namespace millrace {
namespace {

std::optional<AttributeValue> typed(std::string_view word) {
  if (word == "true") return true;
  if (word == "false") return false;
  int32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size()) return number;
  return std::nullopt;
}

/// Whether the text looks like a number or a boolean.
bool looks_typed(const std::string& text) {
  const Result<Json> json = parse_json(text);
  return json && (json->is_number() || json->is_boolean());
}

bool is_bare(std::string_view text) {
  return !text.empty() && text.find_first_of(" \"|") == std::string_view::npos;
}

std::string quoted(const std::string& text) { return dump_json(Json(text)); }
std::string shown_word(const std::string& text) { return is_bare(text) ? text : quoted(text); }

/// Removes a bare word or a JSON string from the front of the text.
Result<std::pair<std::string, bool>> take_value(std::string_view& text) {
  const bool is_quoted = text.starts_with('"');
  size_t end = 0;
  if (is_quoted) {
    for (end = 1; end < text.size() && text[end] != '"'; ++end) {
      if (text[end] == '\\') ++end;
    }
    end = std::min(end + 1, text.size());
  } else {
    end = std::min(text.find(' '), text.size());
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  if (!is_quoted) return std::pair(std::string(word), false);
  const Json value = TRY(parse_json(word));
  return std::pair(value.get<std::string>(), true);
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

void set(Event& event, const std::string& name, std::string value, bool is_quoted) {
  if (name == "id") {
    event.id = std::move(value);
  } else if (name == "source") {
    event.source = std::move(value);
  } else if (name == "subject") {
    event.subject = std::move(value);
  } else if (name == "time") {
    event.time = std::move(value);
  } else if (name == "datacontenttype") {
    event.datacontenttype = std::move(value);
  } else if (name == "dataschema") {
    event.dataschema = std::move(value);
  } else {
    const auto plain = is_quoted ? std::nullopt : typed(value);
    event.extensions[name] = plain ? *plain : AttributeValue(std::move(value));
  }
}

/// Whether the bytes can be written after `data=` and read again.
bool is_line(const std::string& bytes) {
  return !bytes.empty() && bytes.back() != ' ' && is_attribute_string(bytes);
}

}  // namespace

Result<Event> parse_event_text(std::string_view text, const Event& defaults) {
  Event event = defaults;
  skip_spaces(text);
  event.type = TRY(take_value(text)).first;
  for (skip_spaces(text); !text.empty(); skip_spaces(text)) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || text.find(' ') < equals) {
      return fail("table.event", fmt::format("expected name=value, not \"{}\"", text));
    }
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    if (name == "data") {
      event.data = std::string(text);
      break;
    }
    auto [value, is_quoted] = TRY(take_value(text));
    if (name == "base64") {
      event.data = base64_decode(value);
      if (!event.data) return fail("table.event", fmt::format("\"{}\" is no Base64", value));
    } else {
      set(event, name, std::move(value), is_quoted);
    }
  }
  TRY(check_event(event));
  return event;
}

std::string print_event_text(const Event& event) {
  std::string text = shown_word(event.type);
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format(" {}={}", name, value);
  };
  const auto add_core = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) add(name, shown_word(*value));
  };
  add_core("id", event.id);
  add_core("source", event.source);
  add_core("subject", event.subject);
  add_core("time", event.time);
  add_core("datacontenttype", event.datacontenttype);
  add_core("dataschema", event.dataschema);
  for (const auto& [name, value] : event.extensions) {
    if (name == kHopsAttribute && hops_of(event) == 1)
      continue;  // every generated event has this attribute
    if (const auto* words = std::get_if<std::string>(&value)) {
      add(name, looks_typed(*words) ? quoted(*words) : shown_word(*words));
    } else {
      add(name, *attribute(event, name));
    }
  }
  if (event.data) {
    if (is_line(*event.data)) {
      add("data", *event.data);
    } else {
      add("base64", base64_encode(*event.data));
    }
  }
  return text;
}

}  // namespace millrace
