// Messages that are not valid events, each with its error code. The unit tests decode these
// messages, and an integration test publishes them to a broker and waits for the dead letters. So a
// NATS client must be able to send every message: its header names and values are valid in NATS.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudevents/headers.h"

namespace millrace {

struct MalformedEvent {
  const char* name;
  Headers headers;
  std::string body;
  const char* code;
  const char* http_code = nullptr;  ///< of the HTTP server, if it refuses the request itself
};

/// An event in the JSON format: the required attributes and `members`, which start with a comma.
inline std::string structured(std::string_view members) {
  return R"({"specversion": "1.0", "id": "1", "source": "/s", "type": "t")" + std::string(members) +
         "}";
}

/// The required headers of the binary mode, and `more` after them.
inline Headers binary(const Headers& more) {
  Headers headers = {
      {"ce-specversion", "1.0"}, {"ce-id", "1"}, {"ce-source", "/s"}, {"ce-type", "t"}};
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

/// That many extension attributes, for structured().
inline std::string extensions(size_t count, std::string_view value = "1") {
  std::string members;
  for (size_t i = 0; i < count; ++i) {
    members += ", \"x" + std::to_string(i) + "\": " + std::string(value);
  }
  return members;
}

inline std::string nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

/// Bytes that are not valid UTF-8 (RFC 3629), each for a different reason.
inline std::vector<std::pair<const char*, std::string>> invalid_utf8() {
  return {
      {"UTF-8: the first continuation byte alone", "\x80"},
      {"UTF-8: the last continuation byte alone", "\xbf"},
      {"UTF-8: two continuation bytes", "\x80\xbf"},
      {"UTF-8: two bytes cut after one", "\xc3"},
      {"UTF-8: three bytes cut after one", "\xe2"},
      {"UTF-8: three bytes cut after two", "\xe2\x82"},
      {"UTF-8: four bytes cut after three", "\xf0\x9f\x98"},
      {"UTF-8: a lead byte before a letter", "\xc3("},
      {"UTF-8: a letter in the middle", "\xe2(\xa1"},
      {"UTF-8: a lead byte before a lead byte", "\xc3\xc3\xa4"},
      {"UTF-8: one continuation byte too many", "\xc3\xa4\xa4"},
      {"UTF-8: NUL in two bytes", "\xc0\x80"},
      {"UTF-8: a letter in two bytes", "\xc1\xa1"},
      {"UTF-8: a slash in three bytes", "\xe0\x80\xaf"},
      {"UTF-8: the longest overlong form of three bytes", "\xe0\x9f\xbf"},
      {"UTF-8: the longest overlong form of four bytes", "\xf0\x8f\xbf\xbf"},
      {"UTF-8: a high surrogate", "\xed\xa0\x80"},
      {"UTF-8: a low surrogate", "\xed\xbf\xbf"},
      {"UTF-8: a pair of surrogates", "\xed\xa0\xbd\xed\xb8\x80"},
      {"UTF-8: the first number beyond the code points", "\xf4\x90\x80\x80"},
      {"UTF-8: five bytes", "\xf8\x88\x80\x80\x80"},
      {"UTF-8: six bytes", "\xfc\x84\x80\x80\x80\x80"},
      {"UTF-8: the byte FE", "\xfe"},
      {"UTF-8: the byte FF", "\xff"},
  };
}

inline std::vector<MalformedEvent> malformed_events() {
  const Headers none;
  const auto type = [](const char* value) { return Headers{{"content-type", value}}; };
  std::vector<MalformedEvent> rows = {
      // The JSON text.
      {"an empty message", none, "", "event.malformed_json"},
      {"blanks only", none, "  \n", "event.malformed_json"},
      {"plain text", none, "hello", "event.malformed_json"},
      {"an object that does not end", none, R"({"specversion": "1.0")", "event.malformed_json"},
      {"a string that does not end", none, R"({"specversion": "1.0)", "event.malformed_json"},
      {"more after the object", none, structured("") + " x", "event.malformed_json"},
      {"two objects", none, structured("") + structured(""), "event.malformed_json"},
      {"a comma at the end", none, structured(","), "event.malformed_json"},
      {"a member without a value", none, structured(R"(, "x":)"), "event.malformed_json"},
      {"a member without a colon", none, structured(R"(, "x" 1)"), "event.malformed_json"},
      {"a name without quotes", none, structured(R"(, x: 1)"), "event.malformed_json"},
      {"a name in single quotes", none, structured(R"(, 'x': 1)"), "event.malformed_json"},
      {"a value that is not JSON", none, structured(R"(, "x": tru)"), "event.malformed_json"},
      {"a number with a leading zero", none, structured(R"(, "x": 01)"), "event.malformed_json"},
      {"the value NaN", none, structured(R"(, "x": NaN)"), "event.malformed_json"},
      {"a bad escape", none, structured(R"(, "x": "\q")"), "event.malformed_json"},
      {"a lone surrogate", none, structured(R"(, "x": "\ud800")"), "event.malformed_json"},
      {"a line break in a string", none, structured(", \"x\": \"a\nb\""), "event.malformed_json"},
      {"brackets that do not match", none, structured(R"(, "data": [1})"), "event.malformed_json"},
      {"data that is not JSON", none, structured(R"(, "data": {"a" 1})"), "event.malformed_json"},
      {"data that ends with a NUL", none, structured(std::string_view(", \"data\": 1\0x", 13)),
       "event.malformed_json"},
      {"a byte order mark", none, "\xef\xbb\xbf" + structured(""), "event.malformed_json"},
      {"bytes that are not UTF-8", none, structured(", \"x\": \"\xff\""), "event.not_utf8"},
      {"an overlong form", none, structured(", \"x\": \"\xc0\xaf\""), "event.not_utf8"},
      {"UTF-16", none, std::string("\xff\xfe{\0}\0", 6), "event.not_utf8"},
      {"data that nests too deep", none, structured(R"(, "data": )" + nested(128)), "event.depth"},
      {"data that nests far too deep", none, structured(R"(, "data": )" + nested(100'000)),
       "event.depth"},
      {"an array that nests far too deep", none, nested(500'000), "event.depth"},
      {"brackets that never close", none, std::string(500'000, '['), "event.depth"},
      {"data with a high surrogate alone", none, structured(R"(, "data": "\ud800")"),
       "event.malformed_json"},
      {"data with a low surrogate alone", none, structured(R"(, "data": {"a": "\udfff"})"),
       "event.malformed_json"},
      {"data with surrogates the wrong way round", none, structured(R"(, "data": "\ude00\ud83d")"),
       "event.malformed_json"},
      {"data with a surrogate in a name", none, structured(R"(, "data": {"\ud800x": 1})"),
       "event.malformed_json"},
      {"data with a number beyond a double", none, structured(R"(, "data": 1e400)"),
       "event.malformed_json"},
      {"data with a negative number beyond a double", none, structured(R"(, "data": [-1e400])"),
       "event.malformed_json"},
      {"an attribute with a number beyond a double", none, structured(R"(, "x": 1e400)"),
       "event.malformed_json"},
      {"a NUL before the object", none, std::string("\0", 1) + structured(""),
       "event.malformed_json"},
      {"a NUL after the object", none, structured("") + std::string("\0", 1),
       "event.malformed_json"},
      {"a NUL in a string", none, structured(std::string_view(", \"x\": \"a\0b\"", 12)),
       "event.malformed_json"},
      {"a NUL in the data", none, structured(std::string_view(", \"data\": \"a\0b\"", 15)),
       "event.malformed_json"},
      {"an array without the batch's content type", none, "[" + structured("") + "]",
       "event.not_object"},
      {"a string instead of an object", none, R"("event")", "event.not_object"},
      {"a number instead of an object", none, "7", "event.not_object"},
      {"null instead of an object", none, "null", "event.not_object"},

      // Required attributes.
      {"an empty object", none, "{}", "event.missing_attribute"},
      {"no specversion", none, R"({"id": "1", "source": "/s", "type": "t"})",
       "event.missing_attribute"},
      {"no id", none, R"({"specversion": "1.0", "source": "/s", "type": "t"})",
       "event.missing_attribute"},
      {"no source", none, R"({"specversion": "1.0", "id": "1", "type": "t"})",
       "event.missing_attribute"},
      {"no type", none, R"({"specversion": "1.0", "id": "1", "source": "/s"})",
       "event.missing_attribute"},
      {"an id that is null", none,
       R"({"specversion": "1.0", "id": null, "source": "/s", "type": "t"})",
       "event.missing_attribute"},
      {"an empty specversion", none,
       R"({"specversion": "", "id": "1", "source": "/s", "type": "t"})", "event.empty_attribute"},
      {"an empty id", none, R"({"specversion": "1.0", "id": "", "source": "/s", "type": "t"})",
       "event.empty_attribute"},
      {"an empty source", none, R"({"specversion": "1.0", "id": "1", "source": "", "type": "t"})",
       "event.empty_attribute"},
      {"an empty type", none, R"({"specversion": "1.0", "id": "1", "source": "/s", "type": ""})",
       "event.empty_attribute"},
      {"specversion 0.3", none, R"({"specversion": "0.3", "id": "1", "source": "/s", "type": "t"})",
       "event.specversion"},
      {"specversion 1", none, R"({"specversion": "1", "id": "1", "source": "/s", "type": "t"})",
       "event.specversion"},
      {"specversion as a number", none,
       R"({"specversion": 1.0, "id": "1", "source": "/s", "type": "t"})", "event.attribute_type"},
      {"an id that is a number", none,
       R"({"specversion": "1.0", "id": 25, "source": "/s", "type": "t"})", "event.attribute_type"},
      {"an id that is an object", none,
       R"({"specversion": "1.0", "id": {"x": 1}, "source": "/s", "type": "t"})",
       "event.attribute_type"},
      {"a source with a blank", none,
       R"({"specversion": "1.0", "id": "1", "source": "/a b", "type": "t"})",
       "event.attribute_value"},
      {"a source with an incomplete percent-encoding", none,
       R"({"specversion": "1.0", "id": "1", "source": "/a%2", "type": "t"})",
       "event.attribute_value"},
      {"a type with a line break", none,
       R"({"specversion": "1.0", "id": "1", "source": "/s", "type": "a\nb"})",
       "event.attribute_value"},

      // Optional attributes.
      {"an empty subject", none, structured(R"(, "subject": "")"), "event.empty_attribute"},
      {"an empty time", none, structured(R"(, "time": "")"), "event.empty_attribute"},
      {"an empty dataschema", none, structured(R"(, "dataschema": "")"), "event.empty_attribute"},
      {"an empty datacontenttype", none, structured(R"(, "datacontenttype": "")"),
       "event.empty_attribute"},
      {"a time in words", none, structured(R"(, "time": "lunchtime")"), "event.time"},
      {"a time to the minute", none, structured(R"(, "time": "2018-04-05T18:31Z")"), "event.time"},
      {"a time without offset", none, structured(R"(, "time": "2018-04-05T18:31:00")"),
       "event.time"},
      {"a time with an offset of 25 hours", none,
       structured(R"(, "time": "2018-04-05T18:31:00+25:00")"), "event.time"},
      {"a day that does not exist", none, structured(R"(, "time": "2021-02-29T00:00:00Z")"),
       "event.time"},
      {"a time that is a number", none, structured(R"(, "time": 1630497600)"),
       "event.attribute_type"},
      {"a dataschema without scheme", none, structured(R"(, "dataschema": "/schema")"),
       "event.attribute_value"},
      {"a datacontenttype without subtype", none, structured(R"(, "datacontenttype": "xyz")"),
       "event.content_type"},
      {"a datacontenttype with a broken parameter", none,
       structured(R"(, "datacontenttype": "text/plain; charset")"), "event.content_type"},
      {"a subject that is a boolean", none, structured(R"(, "subject": true)"),
       "event.attribute_type"},
      {"a subject with a control character", none, structured(R"(, "subject": "a\u0085b")"),
       "event.attribute_value"},

      // Extensions.
      {"a name with a capital", none, structured(R"(, "myExtension": "x")"),
       "event.attribute_name"},
      {"a name with a period", none, structured(R"(, "my.extension": "x")"),
       "event.attribute_name"},
      {"a name with an underscore", none, structured(R"(, "my_extension": "x")"),
       "event.attribute_name"},
      {"a name with an umlaut", none, structured(R"(, "größe": "x")"), "event.attribute_name"},
      {"a name that is empty", none, structured(R"(, "": "x")"), "event.attribute_name"},
      {"a bad name that is null", none, structured(R"(, "My": null)"), "event.attribute_name"},
      {"an object as an extension attribute", none, structured(R"(, "x": {"a": 1})"),
       "event.attribute_type"},
      {"an array as an extension attribute", none, structured(R"(, "x": [])"),
       "event.attribute_type"},
      {"a fraction as an extension attribute", none, structured(R"(, "x": 1.5)"),
       "event.attribute_type"},
      {"a whole number with a fraction part", none, structured(R"(, "x": 1.0)"),
       "event.attribute_type"},
      {"a number with an exponent", none, structured(R"(, "x": 1e3)"), "event.attribute_type"},
      {"an integer of 33 bits", none, structured(R"(, "x": 2147483648)"), "event.attribute_value"},
      {"a negative integer of 33 bits", none, structured(R"(, "x": -2147483649)"),
       "event.attribute_value"},
      {"an integer with many digits", none, structured(R"(, "x": 99999999999999999999999)"),
       "event.attribute_value"},
      {"a NUL in an extension", none, structured(R"(, "x": "a\u0000b")"), "event.attribute_value"},
      {"a noncharacter", none, structured(R"(, "x": "\ufdd0")"), "event.attribute_value"},
      {"a noncharacter of another plane", none, structured(R"(, "x": "\ud83f\udffe")"),
       "event.attribute_value"},

      // Duplicates, and the data.
      {"a duplicate attribute", none, structured(R"(, "id": "2")"), "event.duplicate_attribute"},
      {"a duplicate extension attribute with the same value", none,
       structured(R"(, "x": 1, "x": 1)"), "event.duplicate_attribute"},
      {"a duplicate name, once escaped", none, structured(R"(, "x": 1, "\u0078": 1)"),
       "event.duplicate_attribute"},
      {"an attribute that is null, then has a value", none, structured(R"(, "x": null, "x": 1)"),
       "event.duplicate_attribute"},
      {"an attribute that has a value, then is null", none, structured(R"(, "x": 1, "x": null)"),
       "event.duplicate_attribute"},
      {"an attribute that is null twice", none, structured(R"(, "x": null, "x": null)"),
       "event.duplicate_attribute"},
      {"more extension attributes than the limit", none, structured(extensions(257)),
       "event.too_many_attributes"},
      {"more extension attributes than the limit, all null", none,
       structured(extensions(257, "null")), "event.too_many_attributes"},
      {"duplicate data", none, structured(R"(, "data": 1, "data": 2)"),
       "event.duplicate_attribute"},
      {"data and data_base64", none, structured(R"(, "data": "a", "data_base64": "YQ==")"),
       "event.data_conflict"},
      {"Base64 without padding", none, structured(R"(, "data_base64": "YQ")"), "event.data_base64"},
      {"Base64 with a line break", none, structured(R"(, "data_base64": "YQ==\n")"),
       "event.data_base64"},
      {"Base64 of the alphabet for URLs", none, structured(R"(, "data_base64": "-_8=")"),
       "event.data_base64"},
      {"data_base64 that is a number", none, structured(R"(, "data_base64": 7)"),
       "event.data_base64"},

      // Content types.
      {"a content type that is not valid", type("cloudevents"), structured(""),
       "event.content_type"},
      {"an empty content type", type(""), structured(""), "event.content_type"},
      {"a structured event in UTF-16", type("application/cloudevents+json; charset=utf-16"),
       structured(""), "event.content_type"},
      {"the Avro format", type("application/cloudevents+avro"), "Obj", "event.unsupported_format"},
      {"the XML format", type("application/cloudevents+xml"), "<event/>",
       "event.unsupported_format"},
      {"a content type without a format", type("application/cloudevents"), structured(""),
       "event.unsupported_format"},
      {"plain JSON as content type", type("application/json"), structured(""),
       "event.missing_attribute"},
      {"two content types",
       {{"content-type", "application/cloudevents+json"}, {"Content-Type", "text/plain"}},
       structured(""),
       "event.duplicate_attribute",
       "request.malformed"},

      // Binary mode.
      {"no ce-specversion", {{"ce-id", "1"}}, "", "event.missing_attribute"},
      {"no ce-type",
       {{"ce-specversion", "1.0"}, {"ce-id", "1"}, {"ce-source", "/s"}},
       "",
       "event.missing_attribute"},
      {"an empty ce-subject", binary({{"ce-subject", ""}}), "", "event.empty_attribute"},
      {"ce-specversion 2.0",
       {{"ce-specversion", "2.0"}, {"ce-id", "1"}, {"ce-source", "/s"}, {"ce-type", "t"}},
       "",
       "event.specversion"},
      {"a duplicate ce- header", binary({{"Ce-Id", "2"}}), "", "event.duplicate_attribute"},
      {"a ce- header with an underscore", binary({{"ce-my_ext", "x"}}), "", "event.attribute_name"},
      {"a ce- header without a name", binary({{"ce-", "x"}}), "", "event.attribute_name"},
      {"ce-data", binary({{"ce-data", "x"}}), "", "event.attribute_name"},
      {"a percent sign alone", binary({{"ce-x", "100%"}}), "", "event.header_encoding"},
      {"a percent sign with one digit", binary({{"ce-x", "%4"}}), "", "event.header_encoding"},
      {"a percent sign with letters", binary({{"ce-x", "%zz"}}), "", "event.header_encoding"},
      {"an overlong form percent-encoded", binary({{"ce-x", "%C0%A0"}}), "",
       "event.header_encoding"},
      {"a quoted value that does not end", binary({{"ce-x", "\"abc"}}), "",
       "event.header_encoding"},
      {"more text after a quoted value", binary({{"ce-x", "\"abc\" d"}}), "",
       "event.header_encoding"},
      {"a line break percent-encoded", binary({{"ce-x", "a%0D%0Ab"}}), "", "event.attribute_value"},
      {"a body that is not the JSON that it is declared to be",
       binary({{"content-type", "application/json"}}), R"({"a": )", "event.malformed_data"},
      {"a body that is not JSON under a type that ends in +json",
       binary({{"Content-Type", "application/vnd.x+JSON; charset=utf-8"}}), "{a: 1}",
       "event.malformed_data"},
      {"a JSON body that nests too deep", binary({{"content-type", "application/json"}}),
       nested(129), "event.malformed_data"},
      {"a body with a number beyond a double", binary({{"content-type", "application/json"}}),
       "1e400", "event.malformed_data"},
      {"a ce-time in words", binary({{"ce-time", "lunchtime"}}), "", "event.time"},
      {"a content type that is not valid, beside ce- headers", binary({{"content-type", "xyz"}}),
       "", "event.content_type"},
      {"two content types in one header", binary({{"content-type", "text/plain, text/html"}}), "",
       "event.content_type"},
      {"a content type with a wildcard", binary({{"content-type", "text/plain;*"}}), "",
       "event.content_type"},
      {"a line feed percent-encoded", binary({{"ce-x", "a%0Ab"}}), "", "event.attribute_value"},
      {"a NUL percent-encoded", binary({{"ce-x", "a%00b"}}), "", "event.attribute_value"},
      {"a line break and another header percent-encoded",
       binary({{"ce-x", "a%0D%0ANats-Msg-Id: 1"}}), "", "event.attribute_value"},
      {"a surrogate percent-encoded", binary({{"ce-x", "%ED%A0%80"}}), "", "event.header_encoding"},
      {"a header value that is not UTF-8", binary({{"ce-x", "\xff"}}), "", "event.header_encoding"},
      {"a ce- header with an umlaut", binary({{"ce-x%C3%A4", "x"}}), "", "event.attribute_name"},
      {"a ce- header with two hyphens", binary({{"ce-a-b", "x"}}), "", "event.attribute_name"},
  };
  for (const auto& [name, bytes] : invalid_utf8()) {
    rows.push_back({name, none, structured(", \"data\": \"" + bytes + "\""), "event.not_utf8"});
  }
  return rows;
}

}  // namespace millrace
