// Settings of a source: which ones are accepted, and which error names a wrong one.
#include "orchestrator/definition/source_settings.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::StartsWith;

SourceSettings parsed_source(const std::string& text) {
  const auto settings = parse_source(parse_json(text).value());
  EXPECT_TRUE(settings) << text << ": " << settings.error().message;
  return settings.value_or(SourceSettings());
}

TEST(SourceSettings, NeedAStreamOnly) {
  const SourceSettings settings = parsed_source(R"({"stream": "ORDERS"})");
  EXPECT_EQ(settings.stream, "ORDERS");
  EXPECT_TRUE(settings.subjects.empty());
  EXPECT_EQ(settings.begin.kind, SourceBegin::Kind::kNew);
  EXPECT_EQ(settings.rate, kSourceRate);
  EXPECT_FALSE(settings.paused);
  EXPECT_FALSE(settings.mapping);
}

TEST(SourceSettings, HaveTheSameMappingAsInboundWebhooks) {
  constexpr const char* kMapping = R"j({"type": "order.jq(.tokens[2])", "id": "jq(.data.id)"})j";
  const SourceSettings settings =
      parsed_source(std::string(R"({"stream": "ORDERS", "mapping": )") + kMapping + "}");
  ASSERT_TRUE(settings.mapping);
  EXPECT_EQ(*settings.mapping, parse_mapping("mapping", parse_json(kMapping).value()).value());
  EXPECT_NE(settings, parsed_source(R"({"stream": "ORDERS"})"));
}

TEST(SourceSettings, AreReadWithAllMembers) {
  const SourceSettings settings = parsed_source(
      R"({"stream": "ORDERS", "subjects": ["shop.orders.*", "shop.returns.>"],
          "begin": {"sequence": 7}, "rate": 20, "paused": true, "consume": false})");
  EXPECT_EQ(settings.subjects, (std::vector<std::string>{"shop.orders.*", "shop.returns.>"}));
  EXPECT_EQ(settings.begin.kind, SourceBegin::Kind::kSequence);
  EXPECT_EQ(settings.begin.sequence, 7U);
  EXPECT_EQ(settings.rate, 20U);
  EXPECT_EQ(settings.paused, true);
  EXPECT_FALSE(settings.consume);
  EXPECT_TRUE(parsed_source(R"({"stream": "W", "begin": "all", "consume": true})").consume);
}

TEST(SourceSettings, NeedSubjectsOnlyIfMillraceMakesTheStream) {
  const SourceSettings settings = parsed_source(R"({"subjects": ["shop.>"]})");
  EXPECT_TRUE(settings.has_source_stream());
  EXPECT_EQ(settings.max_bytes, kSourceStreamBytes);
  EXPECT_EQ(settings.max_age, kSourceStreamAge);
  const SourceSettings limited =
      parsed_source(R"({"subjects": ["shop.>"], "maxBytes": "1GiB", "maxAge": "1h"})");
  EXPECT_EQ(limited.max_bytes, uint64_t{1} << 30);
  EXPECT_EQ(limited.max_age, std::chrono::hours(1));
  EXPECT_EQ(parsed_source(R"({"subjects": ["a"], "maxBytes": 1048576})").max_bytes, 1'048'576U);
  EXPECT_FALSE(parsed_source(R"({"stream": "ORDERS"})").has_source_stream());
}

TEST(SourceSettings, BeginInFourWays) {
  EXPECT_EQ(parsed_source(R"({"stream": "S", "begin": "new"})").begin.kind,
            SourceBegin::Kind::kNew);
  EXPECT_EQ(parsed_source(R"({"stream": "S", "begin": "all"})").begin.kind,
            SourceBegin::Kind::kAll);
  const SourceBegin at =
      parsed_source(R"({"stream": "S", "begin": {"time": "2026-01-01T00:00:00Z"}})").begin;
  EXPECT_EQ(at.kind, SourceBegin::Kind::kTime);
  EXPECT_EQ(format_rfc3339(at.time), "2026-01-01T00:00:00.000Z");
}

TEST(SourceSettings, SayWhereTheyBeginAsAText) {
  EXPECT_EQ(begin_text({{"stream", "S"}}), R"("new")");
  EXPECT_EQ(begin_text({{"stream", "S"}, {"begin", "new"}}), R"("new")");
  EXPECT_EQ(begin_text({{"stream", "S"}, {"begin", {{"sequence", 7}}}}), R"({"sequence":7})");
}

TEST(SourceSettings, NameTheWrongSettingInTheError) {
  const struct {
    const char* settings;
    const char* code;
    const char* message;
  } rows[] = {
      {"[]", "settings.invalid", "source: "},
      {"{}", "settings.invalid", "stream: "},
      {R"({"stream": ""})", "settings.invalid", "stream: "},
      {R"({"stream": "A.B"})", "settings.invalid", "stream: "},
      {R"({"stream": "A B"})", "settings.invalid", "stream: "},
      {R"({"stream": 7})", "settings.invalid", "stream: "},
      {R"({"stream": "S", "subjects": "a"})", "settings.invalid", "subjects: "},
      {R"({"stream": "S", "subjects": ["a..b"]})", "settings.invalid", "subjects[0]: "},
      {R"({"stream": "S", "subjects": ["a.b", "a.*"]})", "settings.invalid", "subjects[1]: "},
      {R"({"stream": "S", "subjects": ["a.*.c", "a.b.*"]})", "settings.invalid", "subjects[1]: "},
      {R"({"stream": "S", "maxBytes": "1GiB"})", "settings.invalid", "maxBytes: this limit"},
      {R"({"stream": "S", "maxAge": "1h"})", "settings.invalid", "maxAge: this limit"},
      {R"({"subjects": []})", "settings.invalid", "stream: "},
      {R"({"subjects": ["a"], "maxBytes": 1048575})", "settings.invalid", "maxBytes: "},
      {R"({"subjects": ["a"], "maxBytes": -1})", "settings.invalid", "maxBytes: "},
      {R"({"subjects": ["a"], "maxBytes": "2TiB"})", "settings.invalid", "maxBytes: "},
      {R"({"subjects": ["a"], "maxAge": "59s"})", "settings.invalid", "maxAge: "},
      {R"({"subjects": ["a"], "maxAge": "367d"})", "settings.invalid", "maxAge: "},
      {R"({"subjects": ["a"], "maxAge": 60})", "settings.invalid", "maxAge: "},
      {R"({"subjects": [">"]})", "settings.invalid", "subjects[0]: "},
      {R"({"subjects": ["a", "*.b"]})", "settings.invalid", "subjects[1]: "},
      {R"({"subjects": ["$SYS.>"]})", "settings.invalid", "subjects[0]: "},
      {R"({"subjects": ["_INBOX.x"]})", "settings.invalid", "subjects[0]: "},
      {R"({"stream": "S", "begin": "old"})", "settings.invalid", "begin: "},
      {R"({"stream": "S", "begin": {"sequence": 0}})", "settings.invalid", "begin.sequence: "},
      {R"({"stream": "S", "begin": {"sequence": -1}})", "settings.invalid", "begin.sequence: "},
      {R"({"stream": "S", "begin": {"time": "x"}})", "settings.invalid", "begin.time: "},
      {R"({"stream": "S", "begin": {"time": 7}})", "settings.invalid", "begin.time: "},
      {R"({"stream": "S", "begin": {"day": 7}})", "settings.invalid", "begin: "},
      {R"({"stream": "S", "rate": 0})", "settings.invalid", "rate: "},
      {R"({"stream": "S", "rate": 100001})", "settings.invalid", "rate: "},
      {R"({"stream": "S", "paused": "yes"})", "settings.invalid", "paused: "},
      {R"({"stream": "S", "consume": 1})", "settings.invalid", "consume: "},
      {R"({"stream": "S", "consume": true})", "settings.invalid", "begin: with `consume`"},
      {R"({"stream": "S", "consume": true, "begin": {"sequence": 1}})", "settings.invalid",
       "begin: "},
      {R"({"subjects": ["a"], "consume": true, "begin": "all"})", "settings.invalid", "consume: "},
      {R"({"stream": "S", "mapping": null})", "settings.invalid", "mapping: write an object"},
      {R"({"stream": "S", "mapping": {}})", "settings.invalid", "mapping.type: "},
      {R"({"stream": "S", "mapping": {"type": "a", "id": "1"}})", "settings.invalid",
       "mapping.id: with a constant id"},
      {R"({"stream": "S", "other": 1})", "settings.invalid", "other: unknown setting"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.settings);
    const auto settings = parse_source(parse_json(row.settings).value());
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code, row.code);
    EXPECT_THAT(settings.error().message, StartsWith(row.message));
  }
}

TEST(SourceSettings, HaveABoundOfSubjects) {
  Json settings = {{"stream", "S"}, {"subjects", Json::array()}};
  for (size_t i = 0; i < kMostSourceSubjects; ++i) {
    settings["subjects"].push_back("a." + std::to_string(i));
  }
  EXPECT_TRUE(parse_source(settings));
  settings["subjects"].push_back("b");
  EXPECT_FALSE(parse_source(settings));
}

}  // namespace
}  // namespace millrace
