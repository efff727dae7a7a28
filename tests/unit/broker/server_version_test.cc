#include "broker/server_version.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ServerVersion, IsInTheGreeting) {
  const struct {
    const char* line;
    std::optional<std::string> version;
  } cases[] = {
      {R"(INFO {"server_id":"N","version":"2.10.27","proto":1} )", "2.10.27"},
      {"INFO {\"version\":\"2.9.10\"}\r", "2.9.10"},
      {R"(INFO {"version":7})", std::nullopt},
      {R"(INFO {"version":""})", std::nullopt},
      {R"(INFO {"version":"2.10.2)", std::nullopt},
      {R"(+OK {"version":"2.10.27"})", std::nullopt},
      {"INFO", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& one : cases) EXPECT_EQ(version_in_greeting(one.line), one.version) << one.line;
}

TEST(ServerVersion, MustBeNewEnoughForACluster) {
  const struct {
    const char* version;
    const char* judgement;  ///< the code of the error, or "warns"
  } cases[] = {
      {"1.99.99", "cluster.broker"},
      {"2.9.25", "cluster.broker"},
      {"2.10.0", "warns"},
      {"2.10.22-RC.1", "warns"},
      {"2.10.23", ""},
      {"2.10.23+build", ""},
      {"2.11.0-RC.1", ""},
      {"3.0.0", ""},
      // Nothing is said about what is not known.
      {"", ""},
      {"2.9", ""},
      {"2.9.1.1", ""},
      {"dev", ""},
  };
  for (const auto& one : cases) {
    const Result<std::string> judged = judge_server_version(one.version);
    const std::string judgement = !judged ? judged.error().code : judged->empty() ? "" : "warns";
    EXPECT_EQ(judgement, one.judgement) << one.version;
    const std::string text = judged ? *judged : judged.error().message;
    if (judgement.empty()) continue;
    EXPECT_NE(text.find(one.version), std::string::npos) << text;
    EXPECT_NE(text.find("2.10"), std::string::npos) << text;
  }
}

TEST(ServerVersion, IsWarnedOfIfItIsOld) {
  for (const char* const version : {"1.99.99", "2.9.10", "2.10.0", "2.10.22", "2.10.22-RC.1"}) {
    const std::string warning = warning_of_server_version(version);
    EXPECT_NE(warning.find(version), std::string::npos) << warning;
    EXPECT_NE(warning.find("2.10.23 or newer"), std::string::npos) << warning;
  }
  for (const char* const version : {"2.10.23", "2.10.27", "2.15.1", "3.0.0", "", "2.9", "dev"}) {
    EXPECT_EQ(warning_of_server_version(version), "") << version;
  }
}

}  // namespace
}  // namespace millrace
