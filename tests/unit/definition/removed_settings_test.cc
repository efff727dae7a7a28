#include "orchestrator/definition/removed_settings.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(RemovedSettings, AreThoseThatTheNewSettingsDoNotName) {
  const struct {
    const char* former;
    const char* next;
    const char* removed;
  } rows[] = {
      {"{}", "{}", "[]"},
      {R"({"lifecycle": true, "sealed": false, "paused": []})", "{}", R"([{"path": "lifecycle"}])"},
      {R"({"quotas": {"instances": 5}})", R"({"quotas": {"instances": 6}})", "[]"},
      {R"({"quotas": {"instances": 5}})", "{}", R"([{"path": "quotas"}])"},
      {R"({"hooks": {"git": {}, "pay": {}}})", R"({"hooks": {"pay": {"paused": true}}})",
       R"([{"path": "hooks.git"}])"},
      {R"({"hooks": {"git": {}, "pay": {}}})", "{}",
       R"([{"path": "hooks.git"}, {"path": "hooks.pay"}])"},
      {R"({"services": {"a": {"url": "http://u:p@a/x?k=v"}, "b": {"queue": "q.b"}}})", "{}",
       R"([{"path": "services.a", "url": "http://***@a/x?***"}, {"path": "services.b"}])"},
      {R"({"services": {"a": {"url": "http://a"}}})", R"({"services": {"a": {"retries": 2}}})",
       R"([{"path": "services.a.url", "url": "http://a"}])"},
      {R"({"services": {"a": {"url": "http://a"}}})", R"({"services": {"a": {"queue": "q.a"}}})",
       "[]"},
      {R"({"services": {"a": {"url": "http://a"}}})", R"({"services": {"a": {"url": "http://b"}}})",
       "[]"},
      {R"({"webhooks": [{"url": "http://a"}, {"url": "http://b"}]})",
       R"({"webhooks": [{"url": "http://b", "types": ["*"]}]})",
       R"([{"path": "webhooks[0]", "url": "http://a"}])"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(removed_settings(Json::parse(row.former), Json::parse(row.next)),
              Json::parse(row.removed))
        << row.former << " becomes " << row.next;
  }
}

TEST(RemovedSettings, AreListedForSettingsOfAnyForm) {
  for (const char* const text :
       {"null", "[]", "5", R"({"services": 5, "webhooks": 5, "hooks": []})",
        R"({"services": {"a": 5, "b": {"url": 5}}, "webhooks": [5, {}], "hooks": {"a": 5}})"}) {
    const Json settings = Json::parse(text);
    EXPECT_EQ(removed_settings(settings, settings), Json::array()) << text;
    EXPECT_EQ(removed_settings(Json(), settings), Json::array()) << text;
    EXPECT_TRUE(removed_settings(settings, Json()).is_array()) << text;
  }
}

}  // namespace
}  // namespace millrace
