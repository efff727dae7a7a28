// The settings of a mapping: what is read, and the error for each wrong value.
#include "orchestrator/definition/event_mapping.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(EventMapping, ReadsEachSetting) {
  const auto mapping = parse_mapping(
      "mapping", *parse_json(
                     R"j({"type": "order.jq(.tokens[1])", "source": "/shop", "id": "jq(.data.id)",
              "time": "jq(.data.at)", "subject": "jq(.tokens[2])",
              "attributes": {"orderid": "jq(.data.order)", "test": true, "level": -3},
              "data": {"order": "jq(.data)"}})j"));
  ASSERT_TRUE(mapping) << mapping.error().message;
  EXPECT_THAT(
      mapping->programs(),
      ElementsAre(MappingProgram{"type", ".tokens[1]"}, MappingProgram{"id", ".data.id"},
                  MappingProgram{"time", ".data.at"}, MappingProgram{"subject", ".tokens[2]"},
                  MappingProgram{"attributes.orderid", ".data.order"},
                  MappingProgram{"data", ".data"}));
  EXPECT_EQ(mapping->source->assemble({}).value(), "/shop");
  EXPECT_EQ(mapping->attributes.at("test").assemble({}).value(), true);
  EXPECT_EQ(mapping->attributes.at("level").assemble({}).value(), -3);
}

TEST(EventMapping, IsEqualIfItsSettingsAre) {
  const auto read = [](const char* text) { return *parse_mapping("m", *parse_json(text)); };
  EXPECT_EQ(read(R"({"type": "a", "source": "/b"})"), read(R"({"source": "/b", "type": "a"})"));
  EXPECT_NE(read(R"({"type": "a"})"), read(R"({"type": "b"})"));
}

TEST(EventMapping, NamesThePlaceOfAWrongValueAndWhatToWrite) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"[]", R"(mapping: write an object, such as {"type": "order.placed"})"},
      {"{}", "mapping.type: write the type of the events"},
      {R"({"type": 1})", "mapping.type: write a text"},
      {R"({"type": null})", "mapping.type: write a text"},
      {R"({"type": ""})", "mapping.type: "},
      {R"({"type": "a\u0007"})", "mapping.type: "},
      {R"j({"type": "jq(.a"})j", "mapping.type: "},
      {R"j({"type": "jq((.a)"})j", "mapping.type: "},
      {R"({"type": "a", "source": "not a uri"})", "mapping.source: "},
      {R"({"type": "a", "source": {}})", "mapping.source: write a text"},
      {R"({"type": "a", "id": "1"})", "mapping.id: with a constant id"},
      {R"({"type": "a", "id": 1})", "mapping.id: write a text"},
      {R"({"type": "a", "time": "yesterday"})", "mapping.time: "},
      {R"({"type": "a", "subject": ""})", "mapping.subject: "},
      {R"({"type": "a", "attributes": []})", "mapping.attributes: write an object"},
      {R"({"type": "a", "attributes": {"Order": "1"}})",
       "mapping.attributes.Order: the name of an attribute has only lower-case"},
      {R"({"type": "a", "attributes": {"": "1"}})", "mapping.attributes.: the name"},
      {R"({"type": "a", "attributes": {"id": "1"}})",
       "mapping.attributes.id: only extension attributes"},
      {R"({"type": "a", "attributes": {"data": "1"}})",
       "mapping.attributes.data: only extension attributes"},
      {R"({"type": "a", "attributes": {"millracehops": 1}})",
       "mapping.attributes.millracehops: millrace sets this attribute itself"},
      {R"({"type": "a", "attributes": {"replayof": "1"}})",
       "mapping.attributes.replayof: millrace sets this attribute itself"},
      {R"({"type": "a", "attributes": {"a": null}})", "mapping.attributes.a: write a text"},
      {R"({"type": "a", "attributes": {"a": 1.5}})", "mapping.attributes.a: write a text"},
      {R"({"type": "a", "attributes": {"a": 2147483648}})", "mapping.attributes.a: write a text"},
      {R"({"type": "a", "attributes": {"a": -2147483649}})", "mapping.attributes.a: write a text"},
      {R"({"type": "a", "attributes": {"a": ["x"]}})", "mapping.attributes.a: write a text"},
      {R"j({"type": "a", "data": {"a": "jq("}})j", "mapping.data: "},
      {R"j({"type": "a", "id": "jq($instance.id)"})j",
       "mapping.id: `$instance` is not available here"},
      {R"j({"type": "a", "data": {"by": "of jq($instance.id)"}})j",
       "mapping.data: `$instance` is not available here"},
      {R"({"type": "a", "sort": 1})",
       "mapping.sort: unknown setting; valid: type, source, id, time, subject, attributes, data"},
  };
  for (const auto& [text, message] : wrong) {
    const auto mapping = parse_mapping("mapping", *parse_json(text));
    ASSERT_FALSE(mapping) << text;
    EXPECT_EQ(mapping.error().code, "settings.invalid") << text;
    EXPECT_THAT(mapping.error().message, HasSubstr(message)) << text;
  }
}

TEST(EventMapping, HasABoundOnAttributesAndQueries) {
  Json many = {{"type", "a"}, {"attributes", Json::object()}};
  for (size_t i = 0; i <= kMostMappedAttributes; ++i) {
    many["attributes"]["a" + std::to_string(i)] = "x";
  }
  EXPECT_THAT(parse_mapping("mapping", many).error().message,
              HasSubstr("mapping.attributes: 33 attributes are given; at most 32 are possible"));
  Json queries = {{"type", "a"}, {"data", Json::array()}};
  for (size_t i = 0; i < kMostMappingPrograms; ++i) queries["data"].push_back("jq(.data)");
  EXPECT_TRUE(parse_mapping("mapping", queries));
  queries["data"].push_back("jq(.data)");
  EXPECT_THAT(parse_mapping("mapping", queries).error().message,
              HasSubstr("mapping: 65 jq queries are given; at most 64 are possible"));
}

}  // namespace
}  // namespace millrace
