// AttemptUrls: where a service reaches the server about an attempt.
#include "functions/attempt_urls.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(AttemptUrls, BeginWithThePublicUrlOfTheServer) {
  std::string base = "http://millrace:8780";
  const AttemptUrls urls{.keys = AttemptKeys("secret"), .public_url = [&base] { return base; }};
  const InstanceId task = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000000");
  EXPECT_EQ(urls.files_of(task),
            "http://millrace:8780/v1/tasks/0190b5a4-7c1e-7f2a-8000-000000000000/files");
  const std::string callbacks =
      "http://millrace:8780/v1/ns/shop/callbacks/0190b5a4-7c1e-7f2a-8000-000000000000.";
  const std::string key = urls.keys.key_of(task);
  Task called{.id = task, .ns = "shop"};
  EXPECT_EQ(urls.callback_of(called), (TaskCallback{.url = callbacks + key, .key = key}));
  called.folder = {.url = "http://m/files", .key = "0f-p1-3"};
  EXPECT_EQ(urls.callback_of(called),
            (TaskCallback{.url = callbacks + "0f-p1-3", .key = "0f-p1-3"}));
  base = "https://m.example";
  EXPECT_TRUE(urls.files_of(task).starts_with("https://m.example/v1/"));
}

}  // namespace
}  // namespace millrace
