#include "broker/refused_subject.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(RefusedSubject, IsInTheReportOfTheNatsServer) {
  const struct {
    const char* complaint;
    std::optional<std::string> subject;
  } cases[] = {
      {R"(Permissions Violation for Publish to "svc.pay")", "svc.pay"},
      {R"(Permissions Violation for Publish to "svc.\"a\\b\"")", R"(svc."a\b")"},
      {"Permissions Violation for Publish to \"svc.\xC3\xA9\"", "svc.\xC3\xA9"},
      {R"(Permissions Violation for Publish to "svc.\u00ad")", std::nullopt},
      {R"(Permissions Violation for Publish to "svc.pa)", std::nullopt},  // its end is missing
      {R"(Permissions Violation for Publish to "svc.pay\)", std::nullopt},
      {R"(Permissions Violation for Publish to "svc.pay\")", std::nullopt},
      {R"(Permissions Violation for Publish to "svc.pay" and more)", std::nullopt},
      {R"(Permissions Violation for Publish to "")", std::nullopt},
      {R"(Permissions Violation for Publish to )", std::nullopt},
      {R"(Permissions Violation for Publish to svc.pay)", std::nullopt},
      {R"(Permissions Violation for Publish with Reply of "a.b")", std::nullopt},
      {R"(Permissions Violation for Subscription to "svc.pay")", std::nullopt},
      {"Stale Connection", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(refused_subject(one.complaint), one.subject) << one.complaint;
  }
}

}  // namespace
}  // namespace millrace
