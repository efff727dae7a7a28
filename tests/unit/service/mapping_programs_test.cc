// The check of the jq programs of mappings: which programs a jq worker gets, and the error of a
// wrong one.
#include "orchestrator/service/mapping_programs.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MappingProgramsTest : public testing::Test {
 protected:
  /// A check that finds the error for the program `.bad | x`, and notes what it gets.
  TimedCheck check() {
    return [this](std::span<const std::string> programs, Duration at_most) {
      given.assign(programs.begin(), programs.end());
      EXPECT_EQ(at_most, std::chrono::seconds(5));
      std::vector<std::optional<Error>> errors;
      for (const std::string& one : programs) {
        errors.push_back(one == ".bad | x" ? std::optional(error) : std::nullopt);
      }
      return errors;
    };
  }
  static EventMapping mapping(const char* text) {
    return parse_mapping("mapping", *parse_json(text)).value();
  }

  std::vector<std::string> given;
  Error error{"jq.syntax", "it is wrong"};
};

TEST_F(MappingProgramsTest, NamesThePlaceOfTheFirstWrongProgram) {
  const EventMapping good = mapping(R"j({"type": "jq(.a)"})j");
  const EventMapping bad = mapping(
      R"j({"type": "a", "attributes": {"order": "jq(.bad | x)"}, "data": "jq(.bad | x)"})j");
  const std::vector<PlacedMapping> all = {{.where = "one", .mapping = good},
                                          {.where = "two", .mapping = bad}};
  const Status status = check_mapping_programs(all, check());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error(),
            (Error{"settings.invalid", "two.attributes.order: jq(.bad | x): it is wrong"}));
  EXPECT_THAT(given, ElementsAre(".a", ".bad | x", ".bad | x"));
  EXPECT_TRUE(check_mapping_programs(all, nullptr)) << "without jq workers nothing is checked";
}

TEST_F(MappingProgramsTest, SaysThatThereIsNoJqWorkerInsteadOfBlamingTheProgram) {
  error = {"jq.unavailable", "no jq worker can be started"};
  const EventMapping bad = mapping(R"j({"type": "jq(.bad | x)"})j");
  const std::vector<PlacedMapping> all = {{.where = "one", .mapping = bad}};
  const Status status = check_mapping_programs(all, check());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "jq.unavailable");
}

TEST_F(MappingProgramsTest, ChecksTheInboundWebhooksOfNewSettingsOnly) {
  const auto settings = [](const char* type) {
    return Json{{"hooks",
                 {{"git",
                   {{"verify", {{"form", "github"}, {"secrets", Json::array({"key"})}}},
                    {"mapping", {{"type", type}}}}}}}};
  };
  const auto outcome = [&](Command command) {
    given.clear();
    const Status status = check_command_programs(command, check());
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(outcome(CreateNamespace{.name = "n", .settings = settings("jq(.bad | x)")}),
            "hooks.git.mapping.type: jq(.bad | x): it is wrong");
  EXPECT_EQ(outcome(CreateNamespace{.name = "n", .settings = settings("jq(.good)")}), "");
  EXPECT_THAT(given, ElementsAre(".good"));
  EXPECT_EQ(outcome(CreateNamespace{.name = "n", .settings = settings("")}), "")
      << "the engine reports it";
  EXPECT_EQ(outcome(CreateNamespace{.name = "n", .settings = Json::array()}), "");
  EXPECT_EQ(outcome(CreateNamespace{.name = "n"}), "");
  EXPECT_EQ(outcome(DeleteNamespace{.name = "n"}), "");
  EXPECT_THAT(given, IsEmpty());
}

}  // namespace
}  // namespace millrace
