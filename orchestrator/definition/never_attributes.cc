#include "orchestrator/definition/never_attributes.h"

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "matchers/never_matches.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

/// An event that is valid except, possibly, for this attribute.
Event event_with(const std::string& name, const std::string& text) {
  Event event{.id = "1", .source = "/", .type = "t"};
  if (name == "id") {
    event.id = text;
  } else if (name == "source") {
    event.source = text;
  } else if (name == "subject") {
    event.subject = text;
  } else if (name == "time") {
    event.time = text;
  } else if (name == "datacontenttype") {
    event.datacontenttype = text;
  } else if (name == "dataschema") {
    event.dataschema = text;
  } else {
    event.extensions[name] = text;
  }
  return event;
}

}  // namespace

std::string why_never_equal(const std::string& name, const std::string& text) {
  if (name == "specversion") return text == "1.0" ? "" : "the specversion of every event is 1.0";
  const Status valid = check_event(event_with(name, text));
  return valid ? "" : valid.error().message;
}

std::string why_never_matches(const std::string& name, const std::string& text) {
  const auto pattern = Pattern::compile(text);
  const auto regex = parse_ecmascript(text);
  if (!pattern || !regex) return "";  // the pattern contains jq
  if (never_matches(regex->root)) return "the pattern matches no text at all";
  if (name == "specversion" && !(*pattern)->matches("1.0")) {
    return "the specversion of every event is 1.0";
  }
  const std::string& literal = (*pattern)->literal();
  switch ((*pattern)->kind()) {
    case Pattern::Kind::kEquals:
      return why_never_equal(name, literal);
    case Pattern::Kind::kPrefix:
    case Pattern::Kind::kSuffix:
    case Pattern::Kind::kContains:
      if (!is_attribute_string(literal)) return "no attribute has a control character";
      if (name == "time" && literal.find_first_not_of("0123456789TtZz:.+- ") != std::string::npos) {
        return "a time is written as 2021-09-01T12:00:00Z";
      }
      return "";
    default:
      return "";
  }
}

}  // namespace millrace
