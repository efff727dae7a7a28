// Asking workers: the requests that the broker has for the services of a list.
#include "orchestrator/service/asking_workers.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class AskingWorkers : public testing::Test {
 protected:
  static Json services(size_t count) {
    Json items = Json::array();
    for (size_t i = 0; i < count; ++i) {
      items.push_back({{"service", fmt::format("s{}", i)},
                       {"target", {{"kind", "workers"}, {"at", fmt::format("tasks.{}", i)}}}});
    }
    return {{"items", std::move(items)}};
  }
  void add(Json& all) {
    add_asking(all, clock_, [this](const std::string& subject, Duration at_most) {
      given_.push_back(at_most);
      asked_.push_back(subject);
      clock_.advance(takes_);
      return answer_;
    });
  }
  /// How many of the services have the number.
  static size_t known(const Json& all) {
    size_t count = 0;
    for (const Json& item : all["items"]) count += item.contains("asking") ? 1 : 0;
    return count;
  }

  VirtualClock clock_;
  Duration takes_{0};
  Result<uint64_t> answer_ = uint64_t{3};
  std::vector<std::string> asked_;
  std::vector<Duration> given_;
};

TEST_F(AskingWorkers, AreThoseOfServicesWhoseTasksWorkersPull) {
  Json all = services(2);
  all["items"][0]["target"]["kind"] = "http";
  add(all);
  EXPECT_FALSE(all["items"][0].contains("asking"));
  EXPECT_EQ(all["items"][1]["asking"], 3);
  EXPECT_THAT(asked_, ElementsAre("tasks.1"));
}

TEST_F(AskingWorkers, AreUnknownAfterAnError) {
  answer_ = fail("broker.unreachable", "no connection to NATS");
  Json all = services(3);
  add(all);
  EXPECT_EQ(known(all), 0U);
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(AskingWorkers, AreUnknownBehindTheBounds) {
  Json many = services(101);
  add(many);
  EXPECT_EQ(known(many), 100U);
  takes_ = Duration(200);
  given_.clear();
  Json slow = services(9);
  add(slow);
  EXPECT_EQ(known(slow), 3U);
  EXPECT_THAT(given_, ElementsAre(Duration(500), Duration(300), Duration(100)));
}

}  // namespace
}  // namespace millrace
