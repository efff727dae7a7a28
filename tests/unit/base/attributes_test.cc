#include "base/attributes.h"

#include <limits>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Attributes, KeepEveryContextAttributeOfAnEvent) {
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

}  // namespace
}  // namespace millrace
