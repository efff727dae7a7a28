#include "orchestrator/check/finding.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::MatchesRegex;

TEST(FindingTest, HasACodeAnExpectationAndARemedyForEachKindOfFault) {
  std::set<std::string_view> codes;
  std::set<StoreFault> faults;
  for (const StoreFaultKind& kind : fault_kinds()) {
    EXPECT_TRUE(codes.insert(kind.code).second) << kind.code;
    EXPECT_TRUE(faults.insert(kind.fault).second) << kind.code;
    EXPECT_THAT(std::string(kind.code), MatchesRegex("[a-z]+\\.[a-z_]+"));
    EXPECT_FALSE(kind.expected.empty()) << kind.code;
    EXPECT_FALSE(kind.action.empty()) << kind.code;
    EXPECT_EQ(&kind_of(kind.fault), &kind);
  }
  EXPECT_EQ(faults.size(), static_cast<size_t>(StoreFault::kIndexUsage) + 1);
}

TEST(FindingTest, PrintsThePlaceTheCodeAndTheExpectation) {
  const StoreFinding finding{
      .fault = StoreFault::kRowJson, .table = "live", .key = "default/x input", .found = "not so"};
  EXPECT_EQ(to_string(finding), "live/default/x input: not so [row.json]; expected: JSON");
  const StoreFinding of_a_file{
      .fault = StoreFault::kRowJson, .table = "in-hand", .found = "not so"};
  EXPECT_EQ(to_string(of_a_file),
            "in-hand"
            ": not so [row.json]; expected: JSON");
}

TEST(FindingTest, MakesAReportUnsoundAndIsCountedEvenIfItIsOmitted) {
  StoreReport report;
  EXPECT_TRUE(report.sound());
  EXPECT_EQ(report.count(), 0U);
  report.rows["live"] = 3;
  report.unreadable = 1;
  EXPECT_TRUE(report.sound());
  report.codes = {{"row.json", 2}, {"row.key", 5}};
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(report.count(), 7U) << "omitted findings are counted";
}

TEST(FindingTest, IsWrittenAsJsonWithItsNamespaceAndInstance) {
  StoreReport report;
  report.codes = {{"row.json", 2}};
  report.rows = {{"live", 3}};
  report.unreadable = 1;
  report.findings.push_back(
      {.fault = StoreFault::kRowJson, .table = "live", .key = "k", .found = "f"});
  InstanceId id;
  id.bytes.back() = 7;
  report.findings.push_back({.fault = StoreFault::kRowKey,
                             .table = "live",
                             .key = "k",
                             .found = "f",
                             .ns = "shop",
                             .instance = id});
  const Json json = to_json(report);
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["codes"], (Json{{"row.json", 2}}));
  EXPECT_EQ(json["rows"], (Json{{"live", 3}}));
  EXPECT_EQ(json["unreadable"], 1);
  ASSERT_EQ(json["items"].size(), 2U);
  EXPECT_EQ(json["items"][0], (Json{{"code", "row.json"},
                                    {"table", "live"},
                                    {"key", "k"},
                                    {"found", "f"},
                                    {"expected", "JSON"},
                                    {"action", kind_of(StoreFault::kRowJson).action}}));
  EXPECT_EQ(json["items"][1]["namespace"], "shop");
  EXPECT_EQ(json["items"][1]["instance"], to_string(id));
  EXPECT_EQ(to_json(StoreReport()), (Json{{"sound", true},
                                          {"items", Json::array()},
                                          {"codes", Json::object()},
                                          {"rows", Json::object()},
                                          {"unreadable", 0},
                                          {"indexCompared", true}}));
}

}  // namespace
}  // namespace millrace
