// What a text names among events and dead letters, beside what the store has.
#include "orchestrator/service/found_items.h"

#include <gtest/gtest.h>

#include "cloudevents/subject.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

Json of_store(size_t items) {
  Json found{{"items", Json::array()}, {"complete", true}};
  for (size_t i = 0; i < items; ++i) found["items"].push_back({{"kind", "key"}});
  return found;
}

Json one_event(bool is_complete = true) {
  return {{"items", Json::parse(R"([{"sequence": 7, "type": "paid", "source": "bank",
                                     "time": "2021-09-01T12:00:00.000Z"}])")},
          {"complete", true},
          {"next", is_complete ? Json() : Json("7")}};
}

TEST(FoundItems, AreEventsBySequenceAndDeadLetters) {
  FoundLetters letters;
  letters.items.push_back({{"kind", "deadLetter"}});
  const Json found = join_found(of_store(1), one_event(), letters).value();
  EXPECT_EQ(found["items"], Json::parse(R"([{"kind": "key"},
      {"kind": "event", "id": "7", "label": "paid of bank, 2021-09-01T12:00:00.000Z"},
      {"kind": "deadLetter"}])"));
  EXPECT_EQ(found["complete"], true);
}

TEST(FoundItems, AreNotMoreThanTheBoundAndSayIfSomeAreMissing) {
  FoundLetters cut;
  cut.is_complete = false;
  const tl::unexpected<Error> lost = fail("broker.unreachable", "no connection");
  struct Row {
    std::string what;
    Result<Json> found;
    size_t items;
    bool is_complete;
  };
  const Row rows[] = {
      {"room for one", join_found(of_store(19), one_event(), FoundLetters()), 20, true},
      {"no room", join_found(of_store(20), one_event(), FoundLetters()), 20, false},
      {"further events", join_found(of_store(1), one_event(false), FoundLetters()), 2, false},
      {"further letters", join_found(of_store(1), one_event(), cut), 2, false},
      {"no events", join_found(of_store(1), lost, FoundLetters()), 1, false},
      {"no letters", join_found(of_store(1), one_event(), lost), 2, false},
  };
  for (const Row& row : rows) {
    ASSERT_TRUE(row.found) << row.what;
    EXPECT_EQ(row.found->at("items").size(), row.items) << row.what;
    EXPECT_EQ(row.found->at("complete"), row.is_complete) << row.what;
  }
  EXPECT_EQ(join_found(of_store(1), lost, FoundLetters()).value()["notRead"],
            (Json{{"code", "broker.unreachable"}, {"msg", "no connection"}}));
  EXPECT_FALSE(join_found(of_store(1), one_event(), cut).value().contains("notRead"));
  EXPECT_FALSE(join_found(of_store(1), fail("store.corrupt", "a row"), FoundLetters()));
  EXPECT_FALSE(join_found(of_store(1), one_event(), fail("store.corrupt", "a row")));
}

TEST_F(LocalServiceTest, FindsAnEventByItsId) {
  world.broker.inject({event_subject("default", "paid"),
                       {},
                       R"({"specversion":"1.0","id":"pay-1","source":"bank","type":"paid"})"});
  const Json found = service->find("default", "pay-1").value();
  ASSERT_EQ(found["items"].size(), 1U) << found;
  EXPECT_EQ(found["items"][0]["kind"], "event");
  EXPECT_EQ(found["items"][0]["id"], "1");
  EXPECT_EQ(found["complete"], true);
  EXPECT_EQ(service->find("default", "pay-2").value()["items"], Json::array());
}

TEST_F(LocalServiceTest, FindsAnEventByItsSequenceInItsNamespace) {
  world.broker.inject({event_subject("default", "paid"),
                       {},
                       R"({"specversion":"1.0","id":"pay-1","source":"bank","type":"paid"})"});
  world.broker.inject({event_subject("shop", "paid"),
                       {},
                       R"({"specversion":"1.0","id":"1","source":"bank","type":"paid"})"});
  const Json found = service->find("default", "1").value();
  ASSERT_EQ(found["items"].size(), 1U) << found;
  EXPECT_EQ(found["items"][0]["id"], "1");
  EXPECT_TRUE(found["items"][0]["label"].get<std::string>().starts_with("paid of bank, ")) << found;
  for (const char* const other : {"2", "3", "0", "-1", "1x", "99999999999999999999"}) {
    EXPECT_EQ(service->find("default", other).value()["items"], Json::array()) << other;
  }
}

}  // namespace
}  // namespace millrace
