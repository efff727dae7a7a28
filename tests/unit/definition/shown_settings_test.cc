#include "orchestrator/definition/shown_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::StartsWith;

/// Settings with webhooks of these URLs.
Json with_webhooks(std::initializer_list<const char*> urls) {
  Json webhooks = Json::array();
  for (const char* const url : urls) webhooks.push_back({{"url", url}});
  return {{"webhooks", std::move(webhooks)}};
}

/// The settings after restore_urls(), or the message of its error.
std::string restored(Json settings, const Json& stored) {
  const Status done = restore_urls(settings, stored);
  return done ? dump_json(settings) : done.error().message;
}

TEST(ShownSettings, HaveMasksInTheirURLsOnly) {
  const Json settings = Json::parse(R"({"lifecycle": true,
      "services": {"pay": {"url": "http://ann:p@pay/x"}, "print": {"queue": "millrace.tasks.a.b"}},
      "webhooks": [{"url": "http://in?t=1", "types": ["*"]}]})");
  EXPECT_EQ(shown_settings(settings), Json::parse(R"({"lifecycle": true,
      "services": {"pay": {"url": "http://***@pay/x"}, "print": {"queue": "millrace.tasks.a.b"}},
      "webhooks": [{"url": "http://in?***", "types": ["*"]}]})"));
  EXPECT_EQ(restored(shown_settings(settings), settings), dump_json(settings));
}

TEST(ShownSettings, AreRestoredWhateverElseTheyHave) {
  for (const char* const text :
       {"null", "[]", "5", R"({"services": 5, "webhooks": 5})",
        R"({"services": {"a": 5, "b": {"url": 5}}, "webhooks": [5, {}]})"}) {
    const Json settings = Json::parse(text);
    EXPECT_EQ(restored(settings, settings), dump_json(settings));
    EXPECT_EQ(shown_settings(settings), settings);
  }
}

TEST(ShownSettings, TakeTheURLOfAServiceFromTheServiceOfTheSameName) {
  const Json stored =
      Json::parse(R"({"services": {"a": {"url": "http://u:1@h"}, "b": {"url": "http://u:2@h"}}})");
  EXPECT_EQ(restored(shown_settings(stored), stored), dump_json(stored));
  EXPECT_THAT(restored(Json::parse(R"({"services": {"c": {"url": "http://***@h"}}})"), stored),
              StartsWith("services.c.url: *** stands in place of a part of the URL"));
  EXPECT_THAT(restored(Json::parse(R"({"services": {"a": {"url": "http://***@h/x"}}})"), stored),
              StartsWith("services.a.url: "));
}

TEST(ShownSettings, TakeTheURLsOfWebhooksInTheirOrder) {
  const Json stored = with_webhooks({"http://h?a", "http://h?b", "http://i?c"});
  EXPECT_EQ(restored(with_webhooks({"http://i?***", "http://h?***", "http://h?***"}), stored),
            dump_json(with_webhooks({"http://i?c", "http://h?a", "http://h?b"})));
  EXPECT_EQ(restored(with_webhooks({"http://i?***", "http://i?***"}), stored),
            dump_json(with_webhooks({"http://i?c", "http://i?c"})));
  EXPECT_THAT(restored(with_webhooks({"http://h?***"}), stored), StartsWith("webhooks[0].url: "))
      << "it is not clear which of the two was removed";
  EXPECT_THAT(restored(with_webhooks({"http://h?a", "http://j?***"}), stored),
              StartsWith("webhooks[1].url: "));
}

}  // namespace
}  // namespace millrace
