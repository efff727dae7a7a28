#include <gtest/gtest.h>

#include "base/attributes.h"
#include "base/big_integer.h"
#include "base/bytes.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/lazy_json.h"
#include "base/time.h"

namespace millrace {
namespace {

TEST(Time, IsWrittenWithMilliseconds) {
  EXPECT_EQ(format_rfc3339(from_millis(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(from_millis(1630497600123)), "2021-09-01T12:00:00.123Z");
}

TEST(Time, ReadsEveryFormOfRfc3339) {
  EXPECT_EQ(parse_rfc3339("2021-09-01T12:00:00Z"), from_millis(1630497600000));
  EXPECT_EQ(parse_rfc3339("2021-09-01t14:30:00.1239+02:30"), from_millis(1630497600123));
  EXPECT_EQ(parse_rfc3339("2021-09-01 09:30:00-02:30"), from_millis(1630497600000));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2017-01-01T00:00:00Z"));
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2021", "2021-09-01", "2021-09-01T12:00:00", "2021-02-30T00:00:00Z",
        "2021-13-01T00:00:00Z", "2021-09-01T24:00:00Z", "2021-09-01T12:00:00.Z",
        "2021-09-01T12:00:00Zx", "21-09-01T12:00:00Z", "2021-09-01T12:00:00+2"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(InstanceIds, SortByTheTimeOfTheirMaking) {
  const InstanceId early = make_instance_id(from_millis(1000), {0xff, 0xff, 0xff});
  const InstanceId late = make_instance_id(from_millis(1001), {});
  EXPECT_LT(early, late);
  EXPECT_LT(to_string(early), to_string(late));
}

TEST(InstanceIds, AreReadAsTheyAreWritten) {
  const InstanceId id =
      make_instance_id(from_millis(1630497600123), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(to_string(id)[14], '7') << "version";
  EXPECT_EQ(parse_instance_id(to_string(id)), id);
  for (const char* text : {"", "0190b5a4", "0190b5a4-7c1e-7f2a-8000-0123456789ax",
                           "0190b5a47-c1e-7f2a-8000-0123456789ab"}) {
    EXPECT_FALSE(parse_instance_id(text)) << text;
  }
}

TEST(Identifiers, AreLettersDigitsPeriodsDashesAndUnderscores) {
  EXPECT_TRUE(is_identifier("Wait-for_booking.2"));
  EXPECT_FALSE(is_identifier(""));
  EXPECT_FALSE(is_identifier("a b"));
  EXPECT_FALSE(is_identifier("ä"));
  EXPECT_FALSE(is_identifier(std::string(129, 'a')));
}

TEST(Base64, IsStandardAndStrict) {
  EXPECT_EQ(base64_encode(std::string_view("\0\xff\x10z", 4)), "AP8Qeg==");
  EXPECT_EQ(base64_decode("AP8Qeg=="), std::string("\0\xff\x10z", 4));
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text : {"AP8Qeg", "AP8Q\n", "AP8-", "A===", "AP8Qeg==x"}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
}

TEST(Fingerprint, DependsOnItsKey) {
  EXPECT_EQ(keyed_fingerprint("k", {"a", "b"}), keyed_fingerprint("k", {"a", "b"}));
  EXPECT_NE(keyed_fingerprint("k", {"a", "b"}), keyed_fingerprint("l", {"a", "b"}));
  EXPECT_EQ(keyed_fingerprint("", {"a", "b"}), fingerprint({"a", "b"}));
}

TEST(Fingerprint, KeepsItsPartsApart) {
  EXPECT_NE(fingerprint({"ab", "c"}), fingerprint({"a", "bc"}));
  EXPECT_EQ(fingerprint({"ab", "c"}), fingerprint({"ab", "c"}));
}

TEST(Utf8, KnowsTheIllFormedKinds) {
  EXPECT_TRUE(is_utf8("plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80"));
  for (const char* bytes :
       {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe"}) {
    EXPECT_FALSE(is_utf8(bytes));
  }
}

TEST(JsonText, KeepsTheDigitsOfIntegers) {
  EXPECT_EQ(dump_json(*parse_json("[9007199254740993,-9223372036854775808,18446744073709551615]")),
            "[9007199254740993,-9223372036854775808,18446744073709551615]");
}

TEST(JsonText, IsRefusedWhenItIsNoJson) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "\"\\ud800\"", "\"\xff\"",
                           "{\"a\":1} x", "'a'", "NaN", "\"\x01\""}) {
    const Result<Json> json = parse_json(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, "json.malformed") << text;
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonText, HasNoNumberBeyondADouble) {
  for (const std::string& text :
       {std::string("1e400"), std::string("[-1e400]"), "{\"a\":1" + std::string(309, '0') + "}"}) {
    const Result<Json> json = parse_json(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, "json.number") << text;
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonText, KeepsTheDigitsOfIntegersBeyond64Bits) {
  for (
      const std::string& text : {
          std::string("18446744073709551616"),
          std::string("-9223372036854775809"),
          "9" + std::string(307, '1'),
          std::string(
              R"({"a":[-123456789012345678901234567890,{"b":340282366920938463463374607431768211456}]})"),
          std::string("[18446744073709551615,18446744073709551616,-9223372036854775808]"),
      }) {
    const Result<Json> json = parse_json(text);
    ASSERT_TRUE(json) << text;
    EXPECT_EQ(dump_json(*json), text);
    EXPECT_EQ(*json, *parse_own_json(dump_json(*json)));
  }
  const Json big = *parse_json("18446744073709551616");
  EXPECT_TRUE(is_big_integer(big));
  EXPECT_TRUE(is_any_number(big));
  EXPECT_EQ(double_of(big), 18446744073709551616.0);
  EXPECT_EQ(std::string(type_name_of(big)), "number");
  EXPECT_NE(big, *parse_json("18446744073709551617"));
  for (const char* text :
       {"18446744073709551615", "-9223372036854775808", "1e20", "0.5", "\"1\""}) {
    EXPECT_FALSE(is_big_integer(*parse_json(text))) << text;
  }
}

TEST(JsonText, HasNumbersThatADoubleHolds) {
  // More digits than a double has are rounded to it, as RFC 8259, section 6, expects of readers.
  EXPECT_EQ(dump_json(*parse_json("[0.1234567890123456789,1e-400,-0,-0.0,1.50]")),
            "[0.12345678901234568,0.0,0,-0.0,1.5]");
}

TEST(JsonText, TakesTheLastOfTwoMembersOfOneName) {
  EXPECT_EQ(dump_json(*parse_json(R"({"a":1,"b":0,"a":18446744073709551616})")),
            R"({"a":18446744073709551616,"b":0})");
}

TEST(JsonText, HasNoByteOrderMarkAndNoNul) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text : {"\xef\xbb\xbf{}"sv, "1\0garbage"sv, "{}\0"sv}) {
    EXPECT_FALSE(parse_json(text));
    EXPECT_FALSE(is_json(text));
  }
}

TEST(JsonText, NestsTo128AndNoDeeper) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(128)));
  ASSERT_FALSE(parse_json(nested(129)));
  EXPECT_EQ(parse_json(nested(129)).error().code, "json.depth");
  EXPECT_TRUE(parse_json("\"" + std::string(500, '[') + "\""))
      << "brackets in strings do not count";
}

TEST(LazyJson, IsParsedAndWrittenOnlyWhenAsked) {
  const LazyJson lazy = LazyJson::of_text(R"({"b":1,"a":[2]})");
  EXPECT_EQ(lazy.text(), R"({"b":1,"a":[2]})") << "the text as it was";
  EXPECT_EQ(lazy.value(), Json({{"a", {2}}, {"b", 1}}));
}

TEST(LazyJson, LeavesItsCopiesAsTheyAreWhenItIsEdited) {
  LazyJson one{Json{{"a", 1}}};
  const LazyJson other = one;
  one.edit()["a"] = 2;
  EXPECT_EQ(one.text(), R"({"a":2})");
  EXPECT_EQ(other.text(), R"({"a":1})");
}

TEST(LazyJson, TakesWhatGrewDeeperThanJsonFromOutsideMayBe) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(nests_deeper(LazyJson::of_text(deep).value(), 199));
  EXPECT_FALSE(nests_deeper(LazyJson::of_text(deep).value(), 200));
}

TEST(EventAttributes, HaveOneStringForm) {
  Event event{.id = "1", .source = "s", .type = "t", .subject = "x"};
  event.extensions = {{"flag", true}, {"count", -7}, {"name", std::string("n")}};
  EXPECT_EQ(attribute(event, "subject"), "x");
  EXPECT_EQ(attribute(event, "flag"), "true");
  EXPECT_EQ(attribute(event, "count"), "-7");
  EXPECT_EQ(attribute(event, "name"), "n");
  EXPECT_EQ(attribute(event, "specversion"), "1.0");
  EXPECT_EQ(attribute(event, "time"), std::nullopt);
  EXPECT_EQ(attribute(event, "missing"), std::nullopt);
}

TEST(Attributes, ArePackedWithoutLosingAnything) {
  Event event{.id = "1", .source = "s", .type = "t", .subject = "", .time = "now"};
  event.extensions = {{"flag", true},
                      {"never", false},
                      {"least", std::numeric_limits<int32_t>::min()},
                      {"name", std::string("\0n", 2)},
                      {"none", std::string()}};
  const Attributes attributes(event);
  EXPECT_EQ(attributes.type(), "t");
  for (const char* name :
       {"id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "specversion",
        "flag", "never", "least", "name", "none", "missing", "nam", "names", "data", ""}) {
    const std::optional<std::string_view> text = attributes.find(name);
    EXPECT_EQ(text ? std::optional<std::string>(*text) : std::nullopt, attribute(event, name))
        << name;
  }
  EXPECT_EQ(attributes.event(), event);
  event.datacontenttype = "text/plain";
  event.dataschema = "urn:x";
  EXPECT_EQ(Attributes(event).event(), event);
  EXPECT_EQ(Attributes().find("type"), std::nullopt);
}

TEST(Bytes, ThatArePrintableAsciiAreToldApart) {
  for (size_t size = 0; size < 20; ++size) {
    const std::string text(size, '~');
    EXPECT_TRUE(is_printable_ascii(text));
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = text;
        changed[at] = static_cast<char>(byte);
        ASSERT_EQ(is_printable_ascii(changed), byte >= ' ' && byte <= '~') << size << " " << byte;
      }
    }
  }
}

TEST(EventPayload, IsDecidedOnItsBytes) {
  Event event;
  EXPECT_EQ(payload(event), nullptr);
  event.data = R"({"a":1})";
  EXPECT_EQ(payload(event), Json({{"a", 1}}));
  event.data = "hello";
  EXPECT_EQ(payload(event), "aGVsbG8=");
  event.data = "\"hello\"";
  EXPECT_EQ(payload(event), "hello");
}

TEST(ContentTypes, ThatMeanJson) {
  EXPECT_TRUE(is_json_content_type(std::nullopt));
  EXPECT_TRUE(is_json_content_type("application/json"));
  EXPECT_TRUE(is_json_content_type("Application/JSON ; charset=utf-8"));
  EXPECT_TRUE(is_json_content_type("application/vnd.x+json"));
  EXPECT_FALSE(is_json_content_type("text/plain"));
  EXPECT_FALSE(is_json_content_type("application/jsonp"));
}

}  // namespace
}  // namespace millrace
