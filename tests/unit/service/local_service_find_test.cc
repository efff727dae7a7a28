// LocalService: a search for a text in the store and among the dead letters.
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

TEST_F(LocalServiceTest, FindsDeadLettersBesideWhatTheStoreHas) {
  world.apply(kWaits);
  stored_letters.add("default", "{", "waits");
  Json found = service->find("default", "waits").value();
  ASSERT_EQ(found["items"].size(), 2U) << found;
  EXPECT_EQ(found["items"][0]["kind"], "workflow");
  EXPECT_EQ(found["items"][1]["kind"], "deadLetter");
  EXPECT_EQ(found["items"][1]["id"], "1");
  EXPECT_EQ(found["complete"], true);
  for (int i = 0; i < 3; ++i) stored_letters.add("default", "{", "waits");
  found = service->find("default", "waits").value();
  EXPECT_EQ(found["items"].size(), 4U) << found;
  EXPECT_EQ(found["complete"], false) << "one dead letter is not listed";
  stored_letters.failing = Error{"broker.unreachable", "not connected"};
  found = service->find("default", "waits").value();
  EXPECT_EQ(found["items"].size(), 1U) << "what the store has is found without the broker";
  EXPECT_EQ(found["complete"], false);
}

}  // namespace
}  // namespace millrace
